r"""A convex, concave or linear model inside a CVXPY problem.

A column of numbers is A(p_0) + (x − p_0) slope + Σ_j bend_j max(x − p_j, 0). Of a convex model the bends are positive
semidefinite, so that h_j ≥ x − p_j, h_j ≥ 0 take the place of the maxima where λ_max is minimised; −λ_max(−A) of a
concave one is maximised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.packing import sym
from lambdak.model import Model
from lambdak.model.output_choice import chosen_output
from lambdak.model.readout import Readout
from lambdak.optimize.axes import make_axis
from lambdak.optimize.convex.solver import is_convex
from lambdak.optimize.scores import Score, check_fixed_inputs, has_no_range, is_pencil, restrict, usable_model
from lambdak.table.close_names import asked, shown_names

_ANY = (0.0, 1.0)  # between which a line is looked at: it is the same line elsewhere
_NONE = 1e-12  # relative to the largest matrix: a smaller bend is rounding


def to_cvxpy(
    model: Any, x: Any, fixed: Mapping[str, Any] | None = None, *, output: Any = None, raw_score: bool = False
) -> Any:
    """A prediction as a CVXPY expression that follows the rules of disciplined convex programming.

    Parameters
    ----------
    model : fitted estimator, Model, Pencil, or a module with ``to_pencil``
        Fitted with ``shape="convex"`` or ``"concave"``, or with straight columns (``n_knots=0``) and the last or first
        eigenvalue. The columns of a pencil are z0, z1, …
    x : mapping or expression
        The columns to choose: name → scalar CVXPY expression that is affine, or a vector of all columns in order.
    fixed : mapping, optional
        Name → cell of every other column.
    output : class label, quantile level, position of one of them, or None
        Which output of a model with several; None is the first one of classes, and the middle one of others.
    raw_score : bool
        Whether the raw score is meant. A prediction is possible for losses without a link, and convex for a log link.

    Returns
    -------
    cvxpy.Expression
        Convex or concave. Outside of the training range straight columns go on straight, also where the model is
        constant there: add ``low <= x`` and ``x <= high`` to the constraints.
    """
    frozen, output = usable_model(model, output)
    readout, _ = chosen_output(frozen, output)
    chosen = _chosen(x, frozen.encoder.feature_names)
    score = _restricted(frozen, readout, chosen, fixed or {})
    expression, is_top = _expression(score, [chosen[axis.name] for axis in score.axes], model)
    return expression if raw_score else _through_link(readout, expression, is_top)


def _library() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError('to_cvxpy needs CVXPY: pip install "lambdak[optimize]"') from error
    return cvxpy


def _chosen(x: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    if isinstance(x, Mapping):
        return x
    if tuple(x.shape) != (len(names),):
        raise ValueError(f"x must have one entry for each of the {len(names)} columns, or be a mapping; got {x.shape}")
    return {name: x[i] for i, name in enumerate(names)}


def _restricted(model: Model, readout: Readout, chosen: Mapping[str, Any], fixed: Mapping[str, Any]) -> Score:
    columns = {column.name: column for column in readout.columns}
    if unknown := [name for name in chosen if name not in columns]:
        raise ValueError(
            f"x has columns that the model does not know: {shown_names(unknown)}{asked(unknown[0], columns)}"
        )
    if levels := [name for name in chosen if not columns[name].is_number]:
        raise ValueError(f"CVXPY chooses numbers only: give the cells of {shown_names(levels)} in fixed")
    if missing := [name for name in columns if name not in chosen and name not in fixed]:
        raise ValueError(f"x or fixed must give every column; {shown_names(missing)} missing")
    check_fixed_inputs({name: [column] for name, column in columns.items() if name not in chosen}, fixed)
    ends = {name: _ANY if has_no_range(columns[name]) else None for name in chosen}
    axes = [make_axis([columns[name]], ends[name], False) for name in chosen]
    return restrict(model, readout, axes, fixed)


def _expression(score: Score, chosen: list[Any], model: Any) -> tuple[Any, bool]:
    """The raw score, and whether it is the convex one."""
    if is_convex(score):
        return _largest(score, chosen), True
    if is_convex(score.negative()):
        return -_largest(score.negative(), chosen), False
    if is_pencil(model):
        raise ValueError(
            f"the pencil must read its last eigenvalue, {score.dim - 1}, which is convex, or its first, which is "
            f"concave; this one reads {score.index}: lambdak.optimize.minimize(pencil, bounds=...) minimises others"
        )
    raise ValueError(
        "the model must be convex, concave, or straight with its first or last eigenvalue: fit it with "
        'shape="convex" or "concave"; lambdak.optimize minimises others'
    )


def _largest(score: Score, chosen: list[Any]) -> Any:
    """Start + Σ_m w_m λ_max(A_m), with a variable for every hinge."""
    cp = _library()
    constant, parts, hinges, limits = score.constant, [], [], []
    for axis, curve, own in zip(score.axes, score.curves, chosen, strict=True):
        slopes = _slopes(axis.points, curve)
        constant = constant + curve[:, 0] - axis.low * slopes[:, 0]
        parts.append((slopes[:, 0], own))
        for point, bend in _bends(axis.points, slopes, score.size):
            hinges.append(cp.Variable(nonneg=True))
            limits.append(hinges[-1] >= own - point)
            parts.append((bend, hinges[-1]))
    total = score.start + sum(
        weight * cp.lambda_max(_matrix(cp, constant[m], [(own[m], factor) for own, factor in parts], score.dim))
        for m, weight in enumerate(score.weights)
    )
    least = cp.transforms.partial_optimize.partial_optimize
    return least(cp.Problem(cp.Minimize(total), limits), hinges) if hinges else total


def _slopes(points: Float64Array, curve: Float64Array) -> Float64Array:
    """(members, pieces, D): of a constant column zero."""
    return np.diff(curve, axis=1) / np.diff(points)[:, None] if len(points) > 1 else np.zeros_like(curve)


def _bends(points: Float64Array, slopes: Float64Array, size: Float64Array) -> list[tuple[float, Float64Array]]:
    """Where the slope changes, and by which matrices (members, D)."""
    bends = np.diff(slopes, axis=1)
    large = (np.abs(bends).max(axis=2) * np.ptp(points) > _NONE * size[:, None]).any(axis=0)
    return [(float(points[j + 1]), bends[:, j]) for j in np.flatnonzero(large)]


def _matrix(cp: Any, constant: Float64Array, parts: list[tuple[Float64Array, Any]], dim: int) -> Any:
    """Constant + Σ factor · matrix, one product for all of them."""
    matrices = np.array([sym(packed).ravel() for packed, _ in parts]).T
    factors = cp.hstack([factor for _, factor in parts])
    return cp.reshape(matrices @ factors + sym(constant).ravel(), (dim, dim), order="C")


def _through_link(readout: Readout, expression: Any, is_top: bool) -> Any:
    link = readout.link
    if np.isfinite(link.high if is_top else link.low):
        raise ValueError("a prediction that is bounded is neither convex nor concave: pass raw_score=True")
    if link.name == "log" and is_top:
        expression = _library().exp(expression)
    elif link.name != "identity":
        raise ValueError(
            f"a prediction through the {link.name} link is neither convex nor concave: pass raw_score=True"
        )
    if link.is_free:
        return expression
    return _library().maximum(expression, link.low) if is_top else _library().minimum(expression, link.high)
