"""The least and largest prediction of default models: ours beside boosted trees and a network, each with its proof.

usage: python benchmarks/optimize_default.py [--columns 2 5 8] [--tables concrete california] [--seconds 60]
                                             [--gap 1e-3] [--threads 2] [--usual-trees]

A fifth of the rows are test rows. The first columns are free within their range in training, the others have the cells
of the first test row without gaps. Each model is optimised by the exact method that its users have: SpectralRegressor()
by lambdak.optimize.minimize; LightGBM as leaves in CP-SAT, with as few leaves as are within .005 R² of ours ("small";
the test rows choose, in its favour), and if --usual-trees also with its defaults; a ReLU network with two layers of 32,
the best of four, as big-M in HiGHS. A run ends at --gap or after --seconds, fitting not included.
differential_evolution and dual_annealing then search OUR model for as long as ours took (a second at least), with
restarts, and prove nothing.

"gap" is |value − bound| / |value|, "of range" is |value − bound| / (largest − least target). The models differ, so do
their optima: compare gaps and times, not values, except between ours and the two searches, where "better" is by how
much of |value| a search beat ours. Needs lightgbm, ortools and highspy; what is missing is left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.neural_network import MLPRegressor

import lambdak
from lambdak import SpectralRegressor
from lambdak.model.readout import readouts
from lambdak.optimize import minimize
from lambdak.optimize.axes import make_axis
from lambdak.optimize.scores import restrict
from optimize_peers import Box, Layers, Stop, best_of_network, best_of_trees, cut_trees, leaves
from optimize_searches import anneal, evolve
from tables import load

SIMILAR = 0.005  # R² that LightGBM may be behind, so that it is small
LARGE = 5000  # rows from which a network stops early
CLOSE = 0.01  # the proven gap to be timed
TRIALS = np.unique(np.geomspace(10, 600, 25).astype(int))  # numbers of trees to choose from


Fitted = tuple[Any, float, int]  # a model, its R², and how many of its trees are used


class Line(NamedTuple):
    """A row of the printed tables."""

    method: str
    r2: float
    value: float
    bound: float
    seconds: float
    close: float
    remark: str = ""


class Table:
    """Training and test rows, categories as codes for the peers, and the row whose cells are fixed."""

    def __init__(self, name: str) -> None:
        problem = load(name)
        order = np.random.default_rng(0).permutation(len(problem.y))
        self.name, self.X, self.y = name, problem.X, problem.y
        self.test, self.train = order[: len(order) // 5], order[len(order) // 5 :]
        self.numbers = [c for c in self.X if pd.api.types.is_numeric_dtype(self.X[c])]
        whole = self.X.iloc[self.test].dropna()
        self.row = whole.iloc[0].to_dict()
        self.low = self.X[self.numbers].iloc[self.train].min()
        self.high = self.X[self.numbers].iloc[self.train].max()
        self.range = float(np.ptp(self.y))

    @cached_property
    def codes(self) -> pd.DataFrame:
        """The columns with categories as codes."""
        return self.X.assign(**{c: self.X[c].astype("category").cat.codes for c in self.X if c not in self.numbers})

    def coded_row(self) -> np.ndarray:
        """The fixed row, with codes."""
        whole = self.X.iloc[self.test].dropna().index[0]
        return self.codes.loc[whole].to_numpy(float).copy()

    def r2(self, predicted: np.ndarray) -> float:
        """On the test rows."""
        return float(r2_score(self.y[self.test], predicted))


def stop_of(args: argparse.Namespace) -> Stop:
    return Stop(args.seconds, args.gap, args.threads)


def time_to_close(trace: Any) -> float:
    """Seconds until value and bound were within a hundredth; infinite if they never were."""
    return next((s for s, value, bound in trace if abs(value - bound) <= CLOSE * abs(value)), np.inf)


# ---- ours, and searches without proof -------------------------------------------------------------------------------


class Ours:
    """The default SpectralRegressor."""

    def __init__(self, table: Table, threads: int) -> None:
        self.table = table
        X, y = table.X.iloc[table.train], table.y[table.train]
        self.model = SpectralRegressor(random_state=0, n_jobs=threads).fit(X, y)
        self.r2 = table.r2(self.model.predict(table.X.iloc[table.test]))

    def lines(self, free: list[str], maximize: bool, args: argparse.Namespace) -> Iterator[Line]:
        """Ours, with its proof, and two searches."""
        began = time.perf_counter()
        found = minimize(
            self.model, free, fixed=self.table.row, maximize=maximize, gap=args.gap, time_limit=args.seconds
        )
        seconds = time.perf_counter() - began
        close = time_to_close([(m.seconds, m.value, m.bound) for m in found.trace])
        yield Line("lambdak", self.r2, found.value, found.bound, seconds, close)
        for name, search in {"differential_evolution": evolve, "dual_annealing": anneal}.items():
            value, took = self._searched(search, free, -1.0 if maximize else 1.0, max(seconds, 1.0))
            better = (found.value - value) * (-1 if maximize else 1) / abs(found.value)
            remark = f"better by {better:.1e}" if better > 0 else f"worse by {-better:.1e}"
            yield Line(f"{name}, on lambdak", self.r2, value, np.nan, took, np.inf, remark)

    def _searched(
        self, search: Callable[..., Any], free: list[str], sign: float, seconds: float
    ) -> tuple[float, float]:
        """The value that ``predict`` gives to the best point of a search."""
        axes = [make_axis([c], None, False) for c in self.model.model_.encoder.columns if c.name in free]
        score = restrict(self.model.model_, readouts(self.model.model_)[0], axes, self.table.row)
        began = time.perf_counter()
        x = search(lambda x: sign * score.values(x), [(a.low, a.high) for a in axes], seconds)
        took = time.perf_counter() - began
        row = {**self.table.row, **{axis.name: float(v) for axis, v in zip(axes, x, strict=True)}}
        return float(self.model.predict(pd.DataFrame([row])[list(self.table.X)])[0]), took


# ---- the peers ------------------------------------------------------------------------------------------------------


class Trees:
    """The LightGBM with the fewest leaves that is nearly as good as ours."""

    def __init__(self, table: Table, wanted: float) -> None:
        self.table, self.kind = table, "LightGBM, small"
        fitted = [self._fit(n, rate, wanted) for n in (8, 16, 31) for rate in (0.1, 0.2)]
        enough = [each for each in fitted if each[1] >= wanted] or [max(fitted, key=lambda each: each[1])]
        self.model, self.r2, self.most = min(enough, key=lambda each: each[2] * each[0].num_leaves)

    def usual(self) -> Trees:
        """LightGBM as it comes: 100 trees of 31 leaves."""
        other = copy(self)
        other.kind, other.most = "LightGBM, default", 100
        other.model, other.r2, _ = self._fit(31, 0.1, np.inf, np.array([100]))
        return other

    def _fit(self, size: int, rate: float, wanted: float, trials: np.ndarray = TRIALS) -> Fitted:
        """A model, its R², and the fewest trees that reach the wanted R², or else the best number of them."""
        import lightgbm

        table = self.table
        own = {"num_leaves": size, "learning_rate": rate, "n_estimators": int(trials.max()), "verbose": -1}
        kinds = [c for c in table.X if c not in table.numbers]
        model = lightgbm.LGBMRegressor(**own, random_state=0, n_jobs=1)
        model.fit(table.codes.iloc[table.train], table.y[table.train], categorical_feature=kinds)
        test = table.codes.iloc[table.test]
        r2 = np.array([table.r2(model.predict(test, num_iteration=most)) for most in trials])
        chosen = int(np.argmax(r2 >= wanted)) if (r2 >= wanted).any() else int(np.argmax(r2))
        return model, float(r2[chosen]), int(trials[chosen])

    def lines(self, free: list[str], maximize: bool, args: argparse.Namespace) -> Iterator[Line]:
        """With the proof of CP-SAT."""
        table, row = self.table, self.table.coded_row()
        positions = [list(table.X).index(c) for c in free]
        trees = cut_trees(self.model.booster_, positions, row, self.most)
        found = best_of_trees(trees, table.high[free].to_numpy(), maximize, stop_of(args))
        value = np.nan
        if found.x is not None:
            row[positions] = found.x
            value = self.model.predict(pd.DataFrame([row], columns=list(table.X)), num_iteration=self.most)[0]
        remark = f"{self.most} trees, {sum(len(leaves(t)) for t in trees)} leaves after fixing"
        yield Line(
            f"{self.kind}, CP-SAT", self.r2, value, found.bound, found.seconds, time_to_close(found.trace), remark
        )


class Network:
    """Two hidden layers of 32 rectified units, on standardised columns; the best of a few settings."""

    def __init__(self, table: Table) -> None:
        self.table = table
        own = pd.get_dummies(table.X, dtype=float)
        train = own.iloc[table.train]
        self.columns, self.middle, self.spread = list(own), train.mean(), train.std()
        self.Z = ((own - self.middle) / self.spread).fillna(0.0)
        self.center, self.unit = table.y[table.train].mean(), table.y[table.train].std()
        fits = [self._fit(alpha, seed) for alpha in (1e-4, 1e-1) for seed in (0, 1)]
        self.net, self.r2 = max(fits, key=lambda each: each[1])

    def _fit(self, alpha: float, seed: int) -> tuple[Any, float]:
        table = self.table
        large = len(table.y) > LARGE
        own = {"alpha": alpha, "max_iter": 200 if large else 2000, "early_stopping": large}
        net = MLPRegressor(hidden_layer_sizes=(32, 32), random_state=seed, **own)
        net.fit(self.Z.iloc[table.train].to_numpy(), (table.y[table.train] - self.center) / self.unit)
        predicted = self.center + self.unit * net.predict(self.Z.iloc[table.test].to_numpy())
        return net, table.r2(predicted)

    def lines(self, free: list[str], maximize: bool, args: argparse.Namespace) -> Iterator[Line]:
        """With the proof of HiGHS."""
        table = self.table
        net = self._restricted(free)
        low, high = ((end[free] - self.middle[free]) / self.spread[free] for end in (table.low, table.high))
        found = best_of_network(net, Box(low.to_numpy(), high.to_numpy()), maximize, stop_of(args))
        value = np.nan if found.x is None else float(net.values(found.x[None])[0])
        yield Line("ReLU network, HiGHS", self.r2, value, found.bound, found.seconds, time_to_close(found.trace))

    def _restricted(self, free: list[str]) -> Layers:
        """The network over the free columns, in the target's units."""
        z = self.Z.loc[self.table.X.iloc[self.table.test].dropna().index[0]].to_numpy()
        mask = np.array([c in free for c in self.columns])
        weights, offsets = [W.copy() for W in self.net.coefs_], [b.copy() for b in self.net.intercepts_]
        offsets[0] = offsets[0] + z[~mask] @ weights[0][~mask]
        weights[0] = weights[0][mask]
        weights[-1], offsets[-1] = weights[-1] * self.unit, offsets[-1] * self.unit + self.center
        return Layers(weights, offsets)


# ---- the tables -----------------------------------------------------------------------------------------------------


def contestants(table: Table, args: argparse.Namespace) -> list[Any]:
    ours = Ours(table, args.threads)
    found: list[Any] = [ours]
    try:
        small = Trees(table, ours.r2 - SIMILAR)
        found += [small, small.usual()] if args.usual_trees else [small]
    except ImportError as error:
        print(f"LightGBM is left out: {error}; pip install lightgbm")
    return [*found, Network(table)]


def show(table: Table, maximize: bool, line: Line) -> None:
    away = abs(line.value - line.bound)
    proven = np.isfinite(away)
    cells = [
        table.name, "max" if maximize else "min", line.method, f"{line.r2:.3f}", f"{line.value:.6g}",
        f"{line.bound:.6g}" if np.isfinite(line.bound) else "none",
        f"{100 * away / abs(line.value):.2f} %" if proven else "none",
        f"{100 * away / table.range:.2f} %" if proven else "none",
        f"{line.close:.2f} s" if np.isfinite(line.close) else "never" if np.isfinite(line.bound) else "",
        f"{line.seconds:.1f} s", line.remark,
    ]  # fmt: skip
    print("| " + " | ".join(cells) + " |", flush=True)


def compare(count: int, everyone: dict[str, tuple[Table, list[Any]]], args: argparse.Namespace) -> None:
    print(f"\n{count} free columns\n")
    print("| table | | method | R² | value | bound | gap | of range | 1 % after | seconds | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for table, models in everyone.values():
        for maximize in (False, True):
            for model in models:
                try:
                    for line in model.lines(table.numbers[:count], maximize, args):
                        show(table, maximize, line)
                except ImportError as error:
                    print(f"{type(model).__name__} is left out: {error}; pip install it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", nargs="+", type=int, default=[2, 5, 8])
    parser.add_argument("--tables", nargs="+", default=["concrete", "california"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--usual-trees", action="store_true")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    lambdak.set_num_threads(args.threads)
    lambdak.show_config()
    tables = [Table(name) for name in args.tables]
    everyone = {table.name: (table, contestants(table, args)) for table in tables}
    for count in args.columns:
        compare(count, everyone, args)


if __name__ == "__main__":
    main()
