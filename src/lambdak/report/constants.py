"""Numbers and words that the page shares with Python, each taken from the module that defines it."""

from __future__ import annotations

import numpy as np

from lambdak.certify.certificate import IN_RANGE
from lambdak.explain import MOST_BARS
from lambdak.explain.what_if import TEETH
from lambdak.export.javascript.engine import engine_constants
from lambdak.losses import Link
from lambdak.pencil.tolerances import rounding_tol
from lambdak.report.findings.behaviour import MOST_COLUMNS
from lambdak.table.number_scale import NEAR, TAIL

# Only JavaScript computes with these.
_LOOSER = 6.4  # its eigenvalues and sums in plain loops err more than the kernel's: 64 d ε in all
_SHARES = 4  # of the error of a raw score: those of two scores here, and of two in Python
_ROOM_TOL = 1e-9  # of a step: an end of the training range that rounding has missed by less is reached
_CURVE_NODES = 24  # at least, of a curve that is drawn
_SEARCH_NODES = 12  # at least, of a column that is searched for a change of the decision
_SHARE_TOL = 1e-6  # of the way between two matrices: what shares of columns may miss of the change
_SURFACE_NODES = 22  # along each of two columns
_SLIDER_STEPS = 200  # of a slider whose column has a far tail
_MOST_CONTROLS = 120  # and curves at a time; the page's search field finds the other columns


def constants(dim: int, link: Link, error: float) -> dict[str, float | str]:
    """What the page's scripts read as ``CONSTANTS``: for this size of matrices, link and error of a raw score."""
    return engine_constants() | {
        "rounding": _SHARES * error,
        "link_rounding": link.rounding,
        "rounding_tol": _LOOSER * rounding_tol(dim, np.float64),
        "room_tol": _ROOM_TOL,
        "what_if_nodes": 2 * TEETH,
        "curve_nodes": _CURVE_NODES,
        "search_nodes": _SEARCH_NODES,
        "share_tol": _SHARE_TOL,
        "surface_nodes": _SURFACE_NODES,
        "axis_tail": TAIL,
        "axis_near": NEAR,
        "slider_steps": _SLIDER_STEPS,
        "most_bars": MOST_BARS,
        "most_columns": MOST_COLUMNS,
        "most_controls": _MOST_CONTROLS,
        "in_range": IN_RANGE,
        "unit": link.short,
    }
