"""Minimise or maximise what models predict, with a proven bound on the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lambdak._checks import check_positive
from lambdak.eigen.blas import single_threaded_blas
from lambdak.optimize.axes import cells_of
from lambdak.optimize.convex.solver import minimize_convex
from lambdak.optimize.frontier import Clock, Moment, Solution, Status
from lambdak.optimize.linear import conflict
from lambdak.optimize.minimum.branch import BranchAndBound, branch_and_bound
from lambdak.optimize.minimum.build import build, read_row
from lambdak.optimize.minimum.descent import Incumbent, descend_by_majorants, polish, straight_score
from lambdak.optimize.minimum.expression import Expression, as_expression, evaluate, predicted, read_constraints
from lambdak.optimize.minimum.problem import Minimization
from lambdak.optimize.minimum.result import Optimum
from lambdak.optimize.scores import is_pencil
from lambdak.table.whole_columns import Wholes

_SMALL = 1e-3  # of the objective's spread: values closer to zero than this count as this far from it
METHOD = "convex-concave"
_METHODS = ("auto", METHOD)
_STARTS, _SWEEPS = 4, 4  # of the convex–concave procedure
_MOST_BOXES = 2048  # for its bound
_TINY = 1e-290  # the same where all values are zero


def minimize(
    model: Any,
    free: Sequence[str] | str | None = None,
    bounds: Any = None,
    constraints: Any = None,
    fixed: Any = None,
    *,
    maximize: bool = False,
    gap: float = 1e-4,
    time_limit: float | None = None,
    whole: Wholes = None,
    models: Mapping[str, Any] | None = None,
    output: Any = None,
    progress: Callable[[Moment], None] | None = None,
    random_state: int = 0,
    method: str = "auto",
) -> Optimum:
    """The free columns at which a prediction is lowest, with a proven bound on the lowest one.

    Parameters
    ----------
    model : fitted estimator, Model, Pencil, neuron or Expression
        What is minimised: a prediction, or an expression of :func:`predicted` and :func:`column`, such as
        ``column("price") * predicted(demand)``. A :class:`lambdak.Pencil`, or a module with ``to_pencil`` such as
        :class:`lambdak.torch.SpectralNeuron`, is a model of the columns z0, z1, …
    free : names of columns
        What you choose. Of a pencil all columns that are not fixed, by default.
    bounds : mapping, scipy.optimize.Bounds, or pairs, optional
        Column → (low, high), where None is the end of the training range, or a list of levels; or pairs (low, high),
        one for each free column in order. The training range and all levels seen in it by default; a pencil has none.
    constraints : str, Limit, scipy.optimize.LinearConstraint, or a list of them
        ``"2*tv + radio <= 100"``, ``"10 <= dose <= 20"``, or with a name of ``models`` ``"risk <= 0.05"``; names that
        are no words are written in backticks. A LinearConstraint is about the free columns, in their order.
    fixed : mapping, table of one row, or array
        The cells of all other columns: the customer you have. Cells of free columns are ignored.
    maximize : bool
        Whether to maximise instead.
    gap : float
        When to end: |value − bound| ≤ gap · |value|.
    time_limit : float, optional
        Seconds, after which the best row so far is returned with its bound. An interrupt (Ctrl-C) does the same.
    whole : names of columns, optional
        Free columns that hold whole numbers only; None are those that did in training.
    models : mapping, optional
        Name → fitted estimator, for names in ``constraints``.
    output : class label, quantile level, or position of one, optional
        Which prediction of ``model``, see :func:`predicted`.
    progress : callable, optional
        Told a :class:`Moment` (seconds, value, bound, work) as the search goes on.
    random_state : int
        Of the points to begin from.
    method : {"auto", "convex-concave"}
        "auto" closes the gap: an interior-point method where the model is convex, otherwise branch and bound.
        "convex-concave" is for many straight columns (a pencil, or ``n_knots=0``): semidefinite programs lead downhill
        from several points, and a short branch and bound says what they may have missed.

    Examples
    --------
    >>> import numpy as np
    >>> from lambdak import Pencil
    >>> f = Pencil(np.random.default_rng(0).standard_normal((3, 15)))  # λ_3 of 5 × 5 matrices over two inputs
    >>> best = minimize(f, bounds=[(-1, 1), (-1, 1)])
    >>> best.status, list(best.row), bool(best.value - best.bound < 1e-3 * abs(best.value))
    ('optimal', ['z0', 'z1'], True)

    >>> from lambdak import SpectralRegressor
    >>> X = [[a, b] for a in range(-5, 6) for b in range(-5, 6)]
    >>> y = [(a - 1) ** 2 + (b + 2) ** 2 for a, b in X]
    >>> model = SpectralRegressor(shape="convex", random_state=0).fit(X, y)
    >>> best = minimize(model, ["x0", "x1"])
    >>> best.status, best.value - best.bound < 0.01 * abs(best.value) + 0.1
    ('optimal', True)
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}")
    objective = as_expression(model) if output is None else predicted(model, output)
    names = _free_names(model, objective, free, fixed)
    limits = read_constraints(constraints, names, models or {})
    problem = build(objective, limits, names, {} if bounds is None else bounds, fixed, whole, maximize)
    clock = _clock(problem, check_positive(gap, "gap"), time_limit, progress)
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):  # what overflows proves nothing
        solution = solve(problem, clock, random_state, method)
    return _optimum(objective, problem, solution, maximize, clock)


def _free_names(model: Any, objective: Expression, free: Sequence[str] | str | None, fixed: Any) -> list[str]:
    """The columns to choose: of a pencil all that are not fixed, if nothing is named."""
    if free is not None:
        return [free] if isinstance(free, str) else list(free)
    if not is_pencil(model):
        raise TypeError("free must name the columns to choose, such as ['price']; got None")
    names = objective.products[0].predicted.model.encoder.feature_names
    row = read_row(fixed, names)
    return [name for name in names if name not in row]


def solve(problem: Minimization, clock: Clock, random_state: int, method: str = "auto") -> Solution:
    """By the method that suits the problem."""
    low, high = problem.ends
    excluded = conflict(problem.linear, low, high, problem.whole)
    if excluded:
        return Solution(None, np.inf, np.inf, Status.INFEASIBLE, "linear programming", ())
    score = problem.convex_score()
    if score is not None:
        return minimize_convex(score, problem.linear, clock, problem.costs())
    pinned, charge = problem.pinned()
    search = convex_concave if method == METHOD else branch_and_bound
    found = search(pinned, clock, np.random.default_rng(random_state))
    return replace(found, bound=found.bound - charge)


def _clock(
    problem: Minimization, gap: float, time_limit: float | None, progress: Callable[[Moment], None] | None
) -> Clock:
    """Ends when value and bound are close in the user's units."""
    floor = _TINY + _SMALL * float(
        np.ptp(problem.seen(problem.objective.values(problem.anywhere(64, np.random.default_rng(0)))))
    )

    def is_close(value: float, bound: Any) -> Any:
        shown = problem.seen(value)
        return np.abs(shown - problem.seen(bound)) <= gap * max(abs(shown), floor)

    def report(moment: Moment) -> None:
        if progress is not None:
            progress(_seen_moment(problem, moment))

    limit = math.inf if time_limit is None else check_positive(time_limit, "time_limit")
    return Clock(is_close, limit, report, floor=floor)


def _seen_moment(problem: Minimization, moment: Moment) -> Moment:
    value, bound = (float(problem.seen(each)) if np.isfinite(each) else each for each in (moment.value, moment.bound))
    return Moment(moment.seconds, value, bound, moment.work)


def _optimum(objective: Expression, problem: Minimization, solution: Solution, maximize: bool, clock: Clock) -> Optimum:
    low, high = problem.ends
    excluded = conflict(problem.linear, low, high, problem.whole)
    found = solution.status.value
    trace = tuple(_seen_moment(problem, moment) for moment in solution.trace)
    bound = float(problem.seen(solution.bound)) if np.isfinite(solution.bound) else solution.bound
    if solution.x is None:
        texts = excluded or tuple(limit.text for limit in problem.requested)
        return Optimum(None, None, np.nan, bound, np.inf, found, texts, solution.method, maximize, clock.seconds, trace)
    chosen = dict(cells_of(problem.axes, solution.x))
    row = _in_order(objective, {**problem.row, **chosen})
    value = evaluate(objective, row)
    bound = max(bound, value) if maximize else min(bound, value)
    gap = abs(value - bound) / max(abs(value), clock.floor)
    return Optimum(row, chosen, value, bound, gap, found, (), solution.method, maximize, clock.seconds, trace)


def _in_order(objective: Expression, row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells in the order of the columns of the objective's models, then all others."""
    names = [name for product in objective.products for name in product.predicted.model.encoder.feature_names]
    return {name: row[name] for name in dict.fromkeys([*names, *row])}


def convex_concave(problem: Minimization, clock: Clock, rng: np.random.Generator) -> Solution:
    """The best point that the procedure finds, which none of its steps improves, and a proven bound."""
    score = straight_score(problem)
    if score is None:
        raise ValueError(
            f"method={METHOD!r} minimises one raw score over straight columns within linear constraints: a Pencil, or "
            "a regressor with n_knots=0, without whole numbers (whole=[]) or levels; leave method out for all others"
        )
    best = Incumbent(problem=problem)
    try:
        best.begin(rng)
        starts = problem.starts(_STARTS, rng)[:_STARTS]
        for start in starts if best.x is None else [best.x, *starts[1:]]:
            best.offer(*descend_by_majorants(problem, score, start, clock))
            clock.note(best.value, -np.inf, 0)
        if best.x is not None:  # interior points end just inside of a corner
            best.offer(*polish(problem, best.x, best.value, _SWEEPS))
    except KeyboardInterrupt:
        return Solution(best.x, best.value, -np.inf, Status.INTERRUPTED, METHOD, tuple(clock.trace))
    found = BranchAndBound(problem, clock, best, rng, most=_MOST_BOXES, went_down=best.value).run()
    return replace(found, method=METHOD)
