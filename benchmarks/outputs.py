"""Do final outputs keep what certificates say? Pairs of rows and what-if intervals, tried by the million.

    python benchmarks/outputs.py --tries 10000000

Final outputs are what users call: ``predict``, ``predict_proba``, ``predict_quantiles``, ``decision_function`` and
labels. Models of all losses are tried as they were fitted, after save and load, after JSON and after ``partial_fit``;
on every instruction set of this machine, with one thread and with two. Rows are random and adversarial: at knots and
the floats beside them, far outside, missing, of unseen levels.

A violation is what exceeds what the certificate allows: two computed raw scores that must be in order may be out of
order by twice the rounding that it states, through the link; bounds on influence, on responses and intervals allow
nothing more than their numbers. The exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.eigen.runtime import get_isa, native
from lambdak.model.readout import readouts
from lambdak.model.rounding import reach_of, score_error
from lambdak.table.column_types import OTHER, Category

Rng = np.random.Generator
Rows = dict[str, np.ndarray]  # column → cells

SMALL = {"effort": "fast", "max_iter": 3, "n_estimators": 3, "dim": 5, "random_state": 0}
BLOCK = 1 << 15  # pairs at a time
TRAINING_ROWS = 400
STATES = ("fitted", "loaded", "from JSON", "continued")
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")
FAR = (1e3, 1e9, 1e100, 1e300)


# ---- models ------------------------------------------------------------------------------------------------------


def training_table(rng: Rng) -> tuple[Rows, np.ndarray]:
    rows = TRAINING_ROWS
    table = {
        "income": rng.gamma(2.0, 3.0, rows),
        "age": np.where(rng.random(rows) < 0.15, np.nan, rng.uniform(18, 80, rows)),
        "steps": rng.integers(0, 5, rows).astype(float),
        "region": rng.choice(np.array(["north", "south", "rare", None], object), rows, p=[0.5, 0.29, 0.01, 0.2]),
    }
    y = np.sqrt(table["income"]) + 0.4 * (table["region"] == "north") * table["steps"] + rng.normal(0, 0.3, rows)
    return table, y


def frame(rows: Rows) -> Any:
    import pandas as pd

    return pd.DataFrame(rows)


def made(loss: str, **settings: Any) -> Callable[[], Any]:
    """How to fit a model of a loss, or of an estimator."""

    def fit() -> Any:
        X, y = training_table(np.random.default_rng(0))
        cuts = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
        kinds: dict[str, tuple[type, np.ndarray, dict[str, Any]]] = {
            "quantiles": (SpectralQuantileRegressor, y, {"quantiles": (0.1, 0.3, 0.3 + 1e-9, 0.9)}),
            "two classes": (SpectralClassifier, y > np.median(y), {}),
            "classes": (SpectralClassifier, cuts, {}),
            "ordinal": (SpectralOrdinalClassifier, cuts, {"dim": 9}),
        }
        kind, target, own = kinds.get(loss, (SpectralRegressor, np.maximum(y, 0.1), {"loss": loss}))
        return kind(**SMALL | own | settings).fit(frame(X), target)

    return fit


SIGNS = {"income": 1, "age": -1}
CAPS = {"income": 1.0, "region": 0.5}
EVERY = (*LOSSES, "quantiles", "two classes", "classes", "ordinal")
ONE_SCORE = (*LOSSES, "quantiles", "two classes", "ordinal")
MODELS: dict[str, dict[str, Callable[[], Any]]] = {  # kind of promise → models to try it on
    "monotone": {loss: made(loss, monotonic_cst=SIGNS) for loss in ONE_SCORE},
    "convex": {
        loss: made(loss, shape="convex") for loss in ("squared_error", "huber", "quantiles", "two classes", "classes")
    },
    "concave": {
        loss: made(loss, shape="concave") for loss in ("squared_error", "absolute_error", "quantiles", "two classes")
    },
    "influence": {loss: made(loss, max_influence=CAPS) for loss in EVERY},
    "response": {loss: made(loss, n_knots=6) for loss in EVERY},
    "quantile order": {"quantiles": made("quantiles"), "monotone": made("quantiles", monotonic_cst=SIGNS)},
    "cut-point order": {"ordinal": made("ordinal"), "linear": made("ordinal", n_knots=0)},
    "ordinal labels": {
        "ordinal": made("ordinal", monotonic_cst=SIGNS),
        "linear": made("ordinal", monotonic_cst=SIGNS, n_knots=0),
    },
    "what-if intervals": {
        loss: made(loss, monotonic_cst=None if loss == "classes" else {"income": 1}) for loss in EVERY
    },
}


def in_states(fit: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
    """A model as it was fitted, and after what may be done to it."""
    model = fit()
    yield "fitted", model
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.safetensors")
        yield "loaded", lambdak.load(Path(folder) / "model.safetensors")
    yield "from JSON", lambdak.from_json(model.to_json())
    yield "continued", _continued(model)


def _continued(model: Any) -> Any:
    X, y = training_table(np.random.default_rng(1))
    classes = getattr(model, "classes_", None)
    if classes is None:
        return model.partial_fit(frame(X), np.maximum(y, 0.1))
    return model.partial_fit(frame(X), classes[np.argsort(np.argsort(y)) * len(classes) // len(y)])


# ---- rows --------------------------------------------------------------------------------------------------------


def numbers(rng: Rng, column: Any, count: int, missing: bool = False) -> np.ndarray:
    """Cells of a column of numbers: anywhere in its range, at knots and beside them, outside, far outside, missing."""
    low, high = column.low, column.high
    wide = high - low
    cells = rng.uniform(low, high, count)
    nodes = column.nodes()
    way = rng.integers(10, size=count)
    at = nodes[rng.integers(len(nodes), size=count)]
    beside = np.nextafter(at, np.where(rng.random(count) < 0.5, -np.inf, np.inf))
    cells = np.where(way == 0, at, np.where(way == 1, beside, cells))
    cells = np.where(way == 2, rng.uniform(low - wide, high + wide, count), cells)
    if column.clamp:
        cells = np.where(way == 3, rng.choice([-1.0, 1.0], count) * rng.choice(FAR, count), cells)
    close = np.nextafter(cells, rng.choice([-np.inf, np.inf], count))
    cells = np.where(way == 4, np.roll(close, 1), cells)
    return np.where(way == 5, np.nan, cells) if missing else cells


def levels(rng: Rng, column: Any, count: int) -> np.ndarray:
    """Levels of a category, a missing and an unseen one."""
    known = [level for level in column.levels if level is not OTHER and level is not None]
    choices = np.empty(len(known) + 2, object)
    choices[:] = [*known, None, "never seen"]
    return np.asarray(choices[rng.integers(len(choices), size=count)])


def random_rows(rng: Rng, model: Any, count: int) -> Rows:
    return {
        column.name: levels(rng, column, count) if isinstance(column, Category) else numbers(rng, column, count, True)
        for column in model.model_.encoder.columns
    }


# ---- outputs, and what is allowed --------------------------------------------------------------------------------


@dataclass
class Tally:
    """Tries of one kind, how many exceed what is allowed, and the most of it that was used."""

    tries: int = 0
    violations: int = 0
    worst: float = 0.0

    def add(self, excess: np.ndarray, allowed: np.ndarray | float) -> None:
        """``excess`` must be at most ``allowed``; NaN is a violation."""
        self.tries += excess.size
        self.violations += int(np.count_nonzero(~(excess <= allowed)))
        used = np.divide(
            excess, allowed, out=np.zeros_like(excess), where=np.broadcast_to(np.asarray(allowed) > 0, excess.shape)
        )
        self.worst = max(self.worst, float(used.max(initial=0.0)))


def outputs(model: Any, rows: Rows) -> np.ndarray:
    """What users see that must be monotone, (rows, outputs): predictions, P(second class), quantiles, P(y > j)."""
    X = frame(rows)
    if hasattr(model, "predict_quantiles"):
        return model.predict_quantiles(X)
    if not hasattr(model, "classes_"):
        return model.predict(X)[:, None]
    shares = model.predict_proba(X)
    return np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1] if len(model.classes_) > 2 else shares[:, 1:]


def most(model: Any, higher: np.ndarray, raw: np.ndarray | float) -> np.ndarray:
    """The largest output whose raw score is at most ``raw`` above that of ``higher``, rounding of the link included."""
    link = model.model_.loss.link
    if not link.rounding:
        return higher + raw
    return link.outwards(higher, higher * np.exp(raw))[1] * (1 + link.rounding)


def margin(model: Any) -> float:
    return float(model.certify().claims[0].margin)


# ---- one kind of promise each ------------------------------------------------------------------------------------


def try_monotone(rng: Rng, model: Any, tally: Tally, count: int, labels: bool = False) -> None:
    """Pairs that differ in monotone columns only, all in their directions."""
    low = random_rows(rng, model, count)
    high = dict(low)
    for column, sign in zip(model.model_.encoder.columns, model.model_.promises.signs, strict=True):
        if sign:
            moved = rng.random(count) < 0.7
            pair = np.sort([numbers(rng, column, count), numbers(rng, column, count)], axis=0)[::sign]
            low[column.name] = np.where(moved, pair[0], low[column.name])
            high[column.name] = np.where(moved, pair[1], low[column.name])
    slack = 2 * margin(model)
    if labels:
        compare_labels(model, low, high, slack, tally)
        return
    below, above = outputs(model, low), outputs(model, high)
    tally.add((below - above).max(axis=1), (most(model, above, slack) - above).min(axis=1))


def compare_labels(model: Any, low: Rows, high: Rows, slack: float, tally: Tally) -> None:
    """A label may fall only where P(y > j) is one half to rounding."""
    first, last = (np.searchsorted(model.classes_, model.predict(frame(rows))) for rows in (low, high))
    falls = first > last
    excess = np.zeros(len(falls))
    if falls.any():
        some = {name: cells[falls] for name, cells in high.items()}
        tail = outputs(model, some)[np.arange(falls.sum()), last[falls]]  # of the label that it fell to
        excess[falls] = np.maximum(np.abs(np.log(tail / (1 - tail))), 1e-300)
    tally.add(excess, slack + 2 * model.model_.loss.link.rounding)


def scores(model: Any, rows: Rows) -> np.ndarray:
    """Outputs that are raw scores, (rows, outputs): decisions, quantiles, predictions without a link, or their log."""
    X = frame(rows)
    if hasattr(model, "decision_function"):
        values = model.decision_function(X)
        return values if values.ndim == 2 else values[:, None]
    return outputs(model, rows)


def row_margins(model: Any, rows: Rows) -> np.ndarray:
    """The rounding of each row's raw scores, also outside of the training range."""
    design = model.model_.encoder.transform(frame(rows), np.float64)
    reach = reach_of(design, model.model_.encoder.columns)
    return np.max([score_error(readout, reach) for readout in readouts(model.model_)], axis=0)


def try_shape(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Two ends and the middle between them, in all columns of numbers; categories and gaps stay."""
    sign = 1.0 if model.model_.promises.shape == "convex" else -1.0
    first = random_rows(rng, model, count)
    last, middle = dict(first), dict(first)
    close = rng.random(count) < 0.5
    for column in model.model_.encoder.columns:
        if not isinstance(column, Category):
            unit = 2.0 ** np.floor(np.log2(max(column.high - column.low, 1e-9)) - 20)  # so that the middle is a float
            a, b = (np.round(numbers(rng, column, count) / unit) * unit for _ in range(2))
            b = np.where(close, a + 2 * unit * rng.integers(-8, 9, count), b)  # where f is all but straight
            gaps = np.isnan(first[column.name])
            first[column.name] = np.where(gaps, np.nan, a)
            last[column.name] = np.where(gaps, np.nan, b)
            middle[column.name] = np.where(gaps, np.nan, 0.5 * (a + b))
    left, right, between = (scores(model, rows) for rows in (first, last, middle))
    chord = 0.5 * left + 0.5 * right
    rounding = sum(share * row_margins(model, rows) for share, rows in ((0.5, first), (0.5, last), (1.0, middle)))
    rounding = rounding + 2 * np.finfo(float).eps * (np.abs(left) + np.abs(right)).max(axis=1)  # of the chord
    tally.add((sign * (between - chord)).max(axis=1), rounding)


def moved_outputs(model: Any, one: Rows, other: Rows) -> tuple[np.ndarray, float]:
    """How far raw scores move, as outputs show it, and what reading them off outputs adds."""
    if hasattr(model, "decision_function") or not model.model_.loss.link.rounding:
        return np.abs(scores(model, one) - scores(model, other)).max(axis=1), 0.0
    a, b = outputs(model, one), outputs(model, other)
    rounding = 4 * model.model_.loss.link.rounding
    if model.model_.loss.link.name == "log":
        capped = (np.minimum(a, b) > 0) & (np.maximum(a, b) < np.exp(39.0))  # beyond, the link is constant
        return np.where(capped, np.abs(np.log(a) - np.log(b)), 0.0).max(axis=1), rounding
    clear = (np.minimum(a, b) > 1e-6) & (np.maximum(a, b) < 1 - 1e-6)  # or 1 − p has too few digits for log-odds
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.abs(np.log(a / (1 - a)) - np.log(b / (1 - b)))
    return np.where(clear, odds, 0.0).max(axis=1), 1e6 * rounding


def try_influence(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Pairs that differ in one column, by any change."""
    claims = [claim for claim in model.certify().claims if claim.kind == "influence"]
    share = -(-count // len(claims))
    for claim, column in zip(claims, model.model_.encoder.columns, strict=True):
        one = random_rows(rng, model, share)
        other = dict(one)
        other[column.name] = random_rows(rng, model, share)[column.name]
        moved, reading = moved_outputs(model, one, other)
        tally.add(moved, float(claim.value) + reading)


WITHIN = {"income": 0.5, "age": 3.0, "region": "any"}


def try_response(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Pairs that differ in three columns, within tolerances."""
    (claim,) = (claim for claim in model.certify(WITHIN).claims if claim.kind == "response")
    one = random_rows(rng, model, count)
    other = dict(one)
    for name, tolerance in WITHIN.items():
        if tolerance == "any":
            other[name] = random_rows(rng, model, count)[name]
            continue
        step = float(tolerance) * rng.choice([-1.0, 1.0, 0.3, -0.7], count)
        moved = one[name] + step
        other[name] = np.where(np.abs(moved - one[name]) <= tolerance, moved, one[name])
        gone = np.abs(one[name]) > 1e6  # where floats are too far apart for such a step
        other[name] = np.where(gone, one[name], other[name])
    moved, reading = moved_outputs(model, one, other)
    tally.add(moved, float(claim.value) + reading)


def try_order(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Quantiles of one row, or P(y > j) for all j: those in the wrong order."""
    values = outputs(model, random_rows(rng, model, count))
    if hasattr(model, "predict_quantiles"):
        tally.add(-np.diff(values, axis=1).min(axis=1), 2 * margin(model))
    else:
        tally.add(np.diff(values, axis=1).max(axis=1), 0.0)


def try_intervals(rng: Rng, model: Any, tally: Tally, count: int) -> None:
    """Intervals of some rows, and outputs of these rows with the column anywhere in its range."""
    starts, each = 32, 64
    columns = model.model_.encoder.columns
    for _ in range(max(1, count // (starts * each))):
        column = columns[rng.integers(len(columns))]
        rows = random_rows(rng, model, starts)
        local = model.explain_local(frame(rows))
        between = None
        if not isinstance(column, Category) and rng.random() < 0.5:
            between = tuple(np.sort(rng.uniform(column.low, column.high, 2)).tolist())
        interval = local.what_if(column.name, between)
        tried = {name: np.repeat(cells, each) for name, cells in rows.items()}
        if isinstance(column, Category):
            tried[column.name] = levels(rng, column, starts * each)
            if column.missing < 0:
                tried[column.name][[cell is None for cell in tried[column.name]]] = "never seen"
        else:
            low, high = interval.between
            tried[column.name] = np.clip(numbers(rng, column, starts * each), low, high)
        values = chosen_outputs(model, tried, np.repeat(local._source.chosen, each))
        lower, upper = np.repeat(interval.lower, each), np.repeat(interval.upper, each)
        width = np.maximum(upper - lower, 1e-300)
        tally.add(np.abs(values - 0.5 * (lower + upper)), 0.5 * width)
        outside = (values < lower) | (values > upper)
        tally.violations += int(outside.sum()) - int(
            np.count_nonzero(~(np.abs(values - 0.5 * (lower + upper)) <= 0.5 * width))
        )


def chosen_outputs(model: Any, rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """The output that an explanation is about: P(y ≤ j), the share of a class, a quantile, or the prediction."""
    X = frame(rows)
    at = np.arange(len(chosen))
    if hasattr(model, "predict_quantiles"):
        return model.predict_quantiles(X)[at, chosen]
    if not hasattr(model, "classes_"):
        return model.predict(X)
    shares = model.predict_proba(X)
    if isinstance(model, SpectralOrdinalClassifier):
        return shares.cumsum(axis=1)[at, chosen]
    return shares[:, 1] if len(model.classes_) == 2 else shares[at, chosen]


TRY: dict[str, Callable[[Rng, Any, Tally, int], None]] = {
    "monotone": try_monotone,
    "convex": try_shape,
    "concave": try_shape,
    "influence": try_influence,
    "response": try_response,
    "quantile order": try_order,
    "cut-point order": try_order,
    "ordinal labels": lambda rng, model, tally, count: try_monotone(rng, model, tally, count, labels=True),
    "what-if intervals": try_intervals,
}


# ---- all of them -------------------------------------------------------------------------------------------------


def run(kinds: list[str], tries: int, seed: int) -> dict[str, Tally]:
    """All kinds, in this process: on its instruction set and with its threads."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found = {}
    for kind in kinds:
        tally, began = Tally(), time.monotonic()
        share = -(-tries // (len(MODELS[kind]) * len(STATES)))
        for number, fit in enumerate(MODELS[kind].values()):
            for state, model in in_states(fit):
                rng = np.random.default_rng([seed, number, STATES.index(state)])
                before = Tally(tally.tries)
                while tally.tries - before.tries < share:
                    TRY[kind](rng, model, tally, min(BLOCK, share - (tally.tries - before.tries)))
        found[kind] = tally
        print(
            f"{get_isa()}, {lambdak.get_num_threads()} threads: {kind} {time.monotonic() - began:.0f} s",
            file=sys.stderr,
        )
    return found


@cache
def settings_of_processes() -> list[tuple[str, int]]:
    """Instruction set and threads of each child."""
    kernel = native()
    isas = ["none"] if kernel is None else list(kernel.available_isas())
    return [(isa, threads) for isa in isas for threads in (1, 2)]


def child(isa: str, threads: int, arguments: argparse.Namespace, number: int) -> dict[str, Tally]:
    """The same in a process of its own."""
    choices = {"LAMBDAK_ISA": isa, "LAMBDAK_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    share = -(-arguments.tries // len(settings_of_processes()))
    command = [sys.executable, __file__, "--inside", "--tries", str(share), "--seed", str(arguments.seed + number)]
    done = subprocess.run(
        [*command, "--only", *arguments.only], env={**os.environ, **choices}, stdout=subprocess.PIPE, check=True
    )
    return {kind: Tally(**parts) for kind, parts in json.loads(done.stdout).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=10_000_000, help="of each kind of promise")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=list(TRY), default=list(TRY))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(
            json.dumps(
                {kind: asdict(tally) for kind, tally in run(arguments.only, arguments.tries, arguments.seed).items()}
            )
        )
        return
    lambdak.show_config()
    total = {kind: Tally() for kind in arguments.only}
    for number, (isa, threads) in enumerate(settings_of_processes()):
        for kind, tally in child(isa, threads, arguments, number).items():
            own = total[kind]
            total[kind] = Tally(own.tries + tally.tries, own.violations + tally.violations, max(own.worst, tally.worst))
    print("\n| promise | tries | violations | most of what is allowed that was used |\n|---|---|---|---|")
    for kind, tally in total.items():
        print(f"| {kind} | {tally.tries:,} | {tally.violations:,} | {tally.worst:.3g} |")
    sys.exit(any(tally.violations for tally in total.values()))


if __name__ == "__main__":
    main()
