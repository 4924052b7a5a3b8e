"""Which output a row is explained by, and a model whose eigenvalue is repeated."""

from __future__ import annotations

import numpy as np
from hand_made_models import by_hand

ROWS = 12


def position(local, row):
    return [output.name for output in local._source.outputs].index(local.output[row])


def repeated_at_zero():
    """λ_1 is repeated at x0 = 0, whatever x1 is: −|x0| √1.25 + 2 x1."""
    bend = np.zeros((3, 3))
    bend[:2, :2] = [[1.0, 0.5], [0.5, -1.0]]
    return by_hand(np.diag([0.0, 0.0, 5.0]), [bend, np.diag([2.0, 2.0, 0.0])])
