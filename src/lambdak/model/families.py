"""Outputs by the matrices that they are eigenvalues of: what is computed once for several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from lambdak._types import Float64Array
from lambdak.model.model import Model
from lambdak.model.readout import Readout, readouts


@final
@dataclass(frozen=True, eq=False)
class Family:
    """Outputs that are eigenvalues of the same matrices.

    Attributes
    ----------
    coef : array of shape (members, P, D)
        Packed matrices of the design columns; that of design column 0 is zero, because ``constant`` holds it.
    constant : array of shape (members, D)
        Packed A_0.
    outputs, indices : tuples of int
        The outputs, counted over the whole model, and the position of the eigenvalue of each.
    """

    coef: Float64Array
    constant: Float64Array
    outputs: tuple[int, ...]
    indices: tuple[int, ...]


def families(model: Model) -> tuple[Family, ...]:
    """The families of all outputs of a model, in their order.

    Quantiles and cut-points share the coefficients but not the constant; in old files, cut-points share both.
    """
    outputs = readouts(model)
    shared = model.outputs.pencils == 1  # one array of coefficients for all outputs
    groups: list[list[int]] = []
    for i, output in enumerate(outputs):
        if i and shared and np.array_equal(output.constant, outputs[i - 1].constant):
            groups[-1].append(i)
        else:
            groups.append([i])
    return tuple(_family(outputs, group, outputs[0 if shared else group[0]].coef) for group in groups)


def _family(outputs: Sequence[Readout], group: Sequence[int], coef: Float64Array) -> Family:
    return Family(coef, outputs[group[0]].constant, tuple(group), tuple(outputs[i].index for i in group))
