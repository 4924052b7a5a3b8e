"""Exact optimisation of the models that users would take instead: boosted trees with CP-SAT, a network with HiGHS.

``best_of_trees`` has one Boolean per leaf and one per threshold of each free column, in the order of the thresholds;
exactly one leaf of a tree, and below each split the leaves of one side only. The trees are cut by the fixed cells
first, so that only splits on free columns are left. CP-SAT counts in whole numbers: its bounds hold up to the rounding
of the leaves, some 1e-5 of the value. ``best_of_network`` is the big-M formulation with interval bounds: neurons that
cannot change sign have no Boolean. Needs ortools for the trees and highspy for the network.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

UNITS = 1e7  # of the largest sum of leaves: CP-SAT counts in whole numbers
SOLVED = 2  # the code of HiGHS for a feasible point


class Proof(NamedTuple):
    """A point over the free columns, a bound proven by the solver, and (seconds, value, bound) on the way."""

    x: np.ndarray | None
    bound: float
    seconds: float
    trace: list[tuple[float, float, float]]


class Stop(NamedTuple):
    """When a solver ends, and its threads."""

    seconds: float
    gap: float
    threads: int


class Split(NamedTuple):
    """A node of a tree: x[column] <= threshold goes left."""

    column: int
    threshold: float
    left: Any
    right: Any


# ---- boosted trees ---------------------------------------------------------------------------------------------------


def cut_trees(booster: Any, free: Sequence[int], row: np.ndarray, most: int | None = None) -> list[Split | float]:
    """LightGBM's trees where all columns but the free ones have the cells of a row; categories are codes."""
    trees = booster.dump_model(num_iteration=most)["tree_info"]
    return [_cut(tree["tree_structure"], {column: i for i, column in enumerate(free)}, row) for tree in trees]


def _cut(node: dict[str, Any], free: dict[int, int], row: np.ndarray) -> Split | float:
    if "leaf_value" in node:
        return float(node["leaf_value"])
    column = node["split_feature"]
    if column not in free:
        return _cut(node["left_child" if _goes_left(node, row[column]) else "right_child"], free, row)
    left, right = (_cut(node[side], free, row) for side in ("left_child", "right_child"))
    return left if left == right else Split(free[column], float(node["threshold"]), left, right)


def _goes_left(node: dict[str, Any], cell: float) -> bool:
    if node["decision_type"] == "==":
        return str(int(cell)) in str(node["threshold"]).split("||")
    return bool(cell <= node["threshold"])


def leaves(tree: Split | float) -> list[float]:
    return [tree] if isinstance(tree, float) else leaves(tree.left) + leaves(tree.right)


def _thresholds(tree: Split | float, found: list[set[float]]) -> None:
    if not isinstance(tree, float):
        found[tree.column].add(tree.threshold)
        _thresholds(tree.left, found)
        _thresholds(tree.right, found)


class _Leaves:
    """Trees as constraints of a CP-SAT model; objective = Σ coefficient · leaf."""

    def __init__(self, model: Any, trees: Sequence[Split | float], columns: int, units: float) -> None:
        found: list[set[float]] = [set() for _ in range(columns)]
        for tree in trees:
            _thresholds(tree, found)
        self.model, self.units, self.constant = model, units, 0.0
        self.coefficients: list[int] = []
        self.variables: list[Any] = []
        self.below = [{t: model.NewBoolVar("") for t in sorted(own)} for own in found]
        for own in self.below:
            ordered = list(own.values())
            for lower, upper in pairwise(ordered):
                model.AddImplication(lower, upper)
        for tree in trees:
            self._add(tree)

    def _add(self, tree: Split | float) -> None:
        if isinstance(tree, float):
            self.constant += tree
        else:
            self.model.AddExactlyOne(self._node(tree))

    def _node(self, tree: Split | float) -> list[Any]:
        if isinstance(tree, float):
            self.variables.append(self.model.NewBoolVar(""))
            self.coefficients.append(round(tree * self.units))
            return self.variables[-1:]
        below = self.below[tree.column][tree.threshold]
        left, right = self._node(tree.left), self._node(tree.right)
        self.model.AddAtMostOne([*left, below.Not()])
        self.model.AddAtMostOne([*right, below])
        return left + right


def best_of_trees(trees: Sequence[Split | float], high: np.ndarray, maximize: bool, stop: Stop) -> Proof:
    """The least or largest sum of trees, with its proof."""
    from ortools.sat.python import cp_model

    began = time.perf_counter()
    model = cp_model.CpModel()
    units = UNITS / max(sum(max(map(abs, leaves(tree))) for tree in trees), 1e-300)
    parts = _Leaves(model, trees, len(high), units)
    total = cp_model.LinearExpr.WeightedSum(parts.variables, parts.coefficients) + round(parts.constant * units)
    _ = model.Maximize(total) if maximize else model.Minimize(total)
    solver, trace = cp_model.CpSolver(), _Trace(began, lambda own: own / units)
    solver.parameters.num_workers = stop.threads
    solver.parameters.max_time_in_seconds = stop.seconds
    solver.parameters.relative_gap_limit = stop.gap

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            trace.note(value=self.ObjectiveValue(), bound=self.BestObjectiveBound())

    solver.best_bound_callback = lambda bound: trace.note(bound=bound)
    status = solver.Solve(model, Watch())
    took = time.perf_counter() - began
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Proof(None, trace.seen(solver.BestObjectiveBound()), took, trace.moments)
    trace.note(value=solver.ObjectiveValue(), bound=solver.BestObjectiveBound())
    x = [_coordinate(solver, own, top) for own, top in zip(parts.below, high, strict=True)]
    return Proof(np.array(x), trace.seen(solver.BestObjectiveBound()), took, trace.moments)


def _coordinate(solver: Any, own: dict[float, Any], top: float) -> float:
    """The lowest threshold that the chosen cell is not above."""
    return next((t for t, below in own.items() if solver.BooleanValue(below)), top)


class _Trace:
    """The moments at which a solver's value or bound changed, in the model's units."""

    def __init__(self, began: float, seen: Any) -> None:
        self.began, self.seen = began, seen
        self.moments: list[tuple[float, float, float]] = []

    def note(self, value: float | None = None, bound: float | None = None) -> None:
        _, last_value, last_bound = self.moments[-1] if self.moments else (0.0, np.nan, np.nan)
        value = last_value if value is None else self.seen(value)
        bound = last_bound if bound is None else self.seen(bound)
        self.moments.append((time.perf_counter() - self.began, value, bound))


# ---- a ReLU network --------------------------------------------------------------------------------------------------


class Layers(NamedTuple):
    """A network over the free columns: weights (in, out) and offsets of each layer."""

    weights: list[np.ndarray]
    offsets: list[np.ndarray]

    def values(self, x: np.ndarray) -> np.ndarray:
        """The output at points (n, columns)."""
        for W, b in zip(self.weights[:-1], self.offsets[:-1], strict=True):
            x = np.maximum(x @ W + b, 0.0)
        return (x @ self.weights[-1] + self.offsets[-1])[:, 0]


class Box(NamedTuple):
    """Bounds of the free columns."""

    low: np.ndarray
    high: np.ndarray


def best_of_network(net: Layers, box: Box, maximize: bool, stop: Stop) -> Proof:
    """The least or largest output over a box, with its proof.

    In a process of its own: ortools brings another version of HiGHS, and one process cannot have both.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        return alone.submit(_best_of_network, net, box, maximize, stop).result()


def _best_of_network(net: Layers, box: Box, maximize: bool, stop: Stop) -> Proof:
    import highspy

    began = time.perf_counter()
    solver, trace = highspy.Highs(), _Trace(began, float)
    options = {"output_flag": False, "threads": stop.threads, "time_limit": stop.seconds, "mip_rel_gap": stop.gap}
    for name, option in options.items():
        solver.setOptionValue(name, option)
    inputs = [solver.addVariable(lb=a, ub=b) for a, b in zip(*box, strict=True)]
    total = _output(solver, net, inputs, box)

    def watch(event: Any) -> None:
        own = event.data_out
        trace.note(value=_finite(own.mip_primal_bound), bound=_finite(own.mip_dual_bound))

    solver.cbMipInterrupt += watch
    _ = solver.maximize(total) if maximize else solver.minimize(total)
    info, took = solver.getInfo(), time.perf_counter() - began
    if info.primal_solution_status != SOLVED:
        return Proof(None, info.mip_dual_bound, took, trace.moments)
    trace.note(value=info.objective_function_value, bound=info.mip_dual_bound)
    return Proof(np.array([solver.val(one) for one in inputs]), info.mip_dual_bound, took, trace.moments)


def _output(solver: Any, net: Layers, units: list[Any], box: Box) -> Any:
    """The last layer's sum, after rows for all layers before."""
    for W, b in zip(net.weights[:-1], net.offsets[:-1], strict=True):
        box = _interval(W, b, box)
        before = [_sum(units, W[:, j]) + float(b[j]) for j in range(W.shape[1])]
        units = [_relu(solver, own, *ends) for own, *ends in zip(before, *box, strict=True)]
        box = Box(np.maximum(box.low, 0.0), np.maximum(box.high, 0.0))
    return _sum(units, net.weights[-1][:, 0]) + float(net.offsets[-1][0])


def _finite(own: float) -> float:
    return own if abs(own) < 1e29 else np.nan


def _interval(W: np.ndarray, b: np.ndarray, box: Box) -> Box:
    positive, negative = np.maximum(W, 0.0), np.minimum(W, 0.0)
    return Box(box.low @ positive + box.high @ negative + b, box.high @ positive + box.low @ negative + b)


def _sum(units: list[Any], weights: np.ndarray) -> Any:
    return sum((float(w) * unit for w, unit in zip(weights, units, strict=True)), start=0.0 * units[0])


def _relu(solver: Any, before: Any, low: float, high: float) -> Any:
    """A variable max(before, 0), where before lies in [low, high]."""
    after = solver.addVariable(lb=0.0, ub=max(high, 0.0))
    if low >= 0:
        solver.addConstr(after == before)
    elif high > 0:
        active = solver.addBinary()
        solver.addConstr(after >= before)
        solver.addConstr(after <= before - low * (1 - active))
        solver.addConstr(after <= high * active)
    return after
