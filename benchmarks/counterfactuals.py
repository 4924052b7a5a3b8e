"""The cheapest change that gets a declined row approved: ours beside DiCE and OCEAN, re-run here.

usage: python benchmarks/counterfactuals.py [--tables adult wages] [--rows 100] [--methods lambdak random genetic ocean]
                                            [--threads 2] [--effort balanced]

No lender's table is at hand, so an income check stands for its decision: adult (above 50,000 a year) and gss_wages (a
wage above the median). A model of the rows without gaps decides; --rows test rows that it declines are to be approved.
All sides may change the same columns, in the same directions, to whole numbers and levels within the training range.
The cost is Σ |change| / standard deviation in training, and 1 for another level.

Our own method and DiCE ("random" and "genetic", the cheapest of ten changes, else its defaults) search the same
SpectralClassifier: validity is whether its ``predict`` approves the row that was returned, its cells as they are, and
"allowed" whether that row only changes what may be changed. "cost" is the mean over valid and allowed rows, "extra" how
much dearer these are together than our proven bounds for them. "CPU ms" is the process's own time, in the median,
which a busy machine changes little. OCEAN only knows trees and no columns that stay: it explains a forest of its own
(50 trees of depth 5), with all columns free, so compare its time and validity alone.
Needs dice-ml and, with Python 3.12, oceanpy (--methods ocean runs it without lambdak); what is missing is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tables import load

ACTIONABLE = {
    "adult": ["workclass", "education_num", "occupation", "capital_gain", "hours_per_week"],
    "wages": ["occrecode", "prestg10", "wrkstat", "educcat"],
}
UP = {"adult": ["education_num"], "wages": []}
OCEAN_SECONDS = 10
OF = 10  # changes that DiCE is asked for, of which the cheapest counts


class Table:
    """Training and test rows without gaps, and what may change in them."""

    def __init__(self, name: str) -> None:
        X, y = _adult() if name == "adult" else _wages()
        order = np.random.default_rng(0).permutation(len(X))
        cut = len(X) * 4 // 5
        self.name, self.actionable, self.up = name, ACTIONABLE[name], UP[name]
        self.X, self.y = X.iloc[order[:cut]].reset_index(drop=True), y[order[:cut]]
        self.test, self.test_y = X.iloc[order[cut:]].reset_index(drop=True), y[order[cut:]]
        self.numbers = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
        self.scale = {c: float(self.X[c].std()) for c in self.numbers}

    def cost(self, before: dict[str, Any], after: dict[str, Any]) -> float:
        """Σ |change| / standard deviation, and 1 for another level."""
        numbers = sum(abs(float(after[c]) - float(before[c])) / self.scale[c] for c in self.numbers)
        return numbers + sum(after[c] != before[c] for c in self.X if c not in self.numbers)

    def is_allowed(self, before: dict[str, Any], after: dict[str, Any]) -> bool:
        """Whether only actionable columns change, in their direction and range."""
        same = all(after[c] == before[c] for c in self.X if c not in self.actionable)
        up = all(after[c] >= before[c] for c in self.up)
        numbers = [c for c in self.actionable if c in self.numbers]
        return same and up and all(self.X[c].min() <= float(after[c]) <= self.X[c].max() for c in numbers)


def _adult() -> tuple[pd.DataFrame, np.ndarray]:
    problem = load("adult")
    return _whole(problem.X.drop(columns=["education", "fnlwgt"]), problem.y)


def _wages() -> tuple[pd.DataFrame, np.ndarray]:
    problem = load("gss_wages")
    return _whole(problem.X.drop(columns="occ10"), (problem.y > np.median(problem.y)).astype(int))


def _whole(X: pd.DataFrame, y: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows without gaps, whole numbers and strings."""
    kept = X.notna().all(axis=1).to_numpy()
    X = X[kept].reset_index(drop=True)
    kinds = {c: int if pd.api.types.is_numeric_dtype(X[c]) else object for c in X}
    return X.astype(kinds), y[kept]


class Answer(NamedTuple):
    """The row after the change, None if there is none; seconds, in all and on the CPU; a bound on the cost."""

    after: dict[str, Any] | None
    seconds: float
    cpu: float
    bound: float = np.nan


# ---- ours and DiCE, on our model ------------------------------------------------------------------------------------


def ours(model: Any, table: Table, rows: pd.DataFrame) -> Iterator[Answer]:
    whole = [c for c in table.actionable if c in table.numbers]
    options = {"whole": whole, "scale": table.scale, "directions": dict.fromkeys(table.up, "up")}
    for i in range(len(rows)):
        began, cpu = time.perf_counter(), time.process_time()
        change = model.counterfactual(rows.iloc[[i]], 1, table.actionable, **options)[0]
        took = time.perf_counter() - began, time.process_time() - cpu
        yield Answer(None if change.changes is None else dict(change.point), *took, change.bound)


def dice(model: Any, table: Table, rows: pd.DataFrame, method: str) -> Iterator[Answer]:
    import dice_ml

    data = dice_ml.Data(
        dataframe=table.X.assign(approved=table.y), continuous_features=table.numbers, outcome_name="approved"
    )
    with _quiet():
        search = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method=method)
    for i in range(len(rows)):
        yield _one_of_dice(search, table, rows.iloc[[i]])


def _one_of_dice(search: Any, table: Table, row: pd.DataFrame) -> Answer:
    limits = {c: [int(row[c].iloc[0]), int(table.X[c].max())] for c in table.up}
    began, cpu = time.perf_counter(), time.process_time()
    try:
        with _quiet(), contextlib.redirect_stdout(io.StringIO()):
            found = search.generate_counterfactuals(
                row, total_CFs=OF, desired_class=1, features_to_vary=table.actionable, permitted_range=limits
            )
        frame = found.cf_examples_list[0].final_cfs_df
    except Exception as error:  # "No counterfactuals found": its way to say so
        frame = None
        if "No counterfactuals found" not in str(error):
            print(f"DiCE: {type(error).__name__}: {error}")
    took = time.perf_counter() - began, time.process_time() - cpu
    if frame is None or not len(frame):
        return Answer(None, *took)
    before = row.to_dict("records")[0]
    answers = [{c: _cell(frame[c].iloc[i], c in table.numbers) for c in table.X} for i in range(len(frame))]
    return Answer(min(answers, key=lambda after: table.cost(before, after)), *took)


def _cell(own: Any, number: bool) -> Any:
    return float(own) if number else str(own)


def _quiet() -> Any:
    return contextlib.redirect_stderr(io.StringIO())


# ---- OCEAN, on its own forest ---------------------------------------------------------------------------------------


def ocean(table: Table, count: int) -> list[tuple[bool, float]]:
    """Whether the forest approves what OCEAN returns, and its seconds, for rows that the forest declines."""
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features
    from sklearn.ensemble import RandomForestClassifier

    data, mapper = parse_features(pd.concat([table.X, table.test], ignore_index=True))
    train, test = data.iloc[: len(table.X)], data.iloc[len(table.X) :]
    forest = RandomForestClassifier(50, max_depth=5, random_state=0).fit(train, table.y)
    declined = test[forest.predict(test) == 0].iloc[:count]
    print(f"OCEAN: accuracy of the forest {forest.score(test, table.test_y):.3f}")
    explainer, found = ConstraintProgrammingExplainer(forest, mapper=mapper), []
    for i in range(len(declined)):
        began = time.perf_counter()
        own = explainer.explain(declined.iloc[i].to_numpy(float), y=1, norm=1, max_time=OCEAN_SECONDS)
        seconds = time.perf_counter() - began
        valid = own is not None and forest.predict(pd.DataFrame([own.to_numpy()], columns=data.columns))[0] == 1
        found.append((bool(valid), seconds))
        explainer.cleanup()
    return found


# ---- the table ------------------------------------------------------------------------------------------------------


def show(table: Table, method: str, rows: pd.DataFrame, judged: list[tuple[Answer, bool]], bounds: list[float]) -> None:
    before = rows.to_dict("records")
    valid = [approved for _, approved in judged]
    kept = [
        (table.cost(old, own.after), bound)
        for (own, approved), old, bound in zip(judged, before, bounds, strict=True)
        if approved and table.is_allowed(old, own.after)
    ]
    ms = 1e3 * np.array([own.seconds for own, _ in judged])
    cpu = 1e3 * np.median([own.cpu for own, _ in judged])
    costs = np.array([cost for cost, _ in kept])
    extra = costs.sum() / sum(bound for _, bound in kept) - 1
    cells = [table.name, method, f"{100 * np.mean(valid):.0f} %", f"{len(kept)}", f"{costs.mean():.3f}"]
    cells += [
        f"{np.median(costs):.3f}",
        f"{100 * extra:.1f} %",
        f"{np.median(ms):.0f}",
        f"{np.quantile(ms, 0.95):.0f}",
        f"{cpu:.0f}",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def judge(model: Any, table: Table, answers: Iterator[Answer]) -> list[tuple[Answer, bool]]:
    """Every answer with what ``predict`` says of it."""
    found = []
    for own in answers:
        approved = own.after is not None and model.predict(pd.DataFrame([own.after])[list(table.X)])[0] == 1
        found.append((own, bool(approved)))
    return found


def compare(table: Table, args: argparse.Namespace) -> None:
    """Ours first: its bounds are what the others' costs are compared with."""
    from lambdak import SpectralClassifier

    model = SpectralClassifier(effort=args.effort, random_state=0, n_jobs=args.threads).fit(table.X, table.y)
    rows = table.test[model.predict(table.test) == 0].iloc[: args.rows]
    print(f"{table.name}: accuracy of our model {model.score(table.test, table.test_y):.3f}", flush=True)
    judged = judge(model, table, ours(model, table, rows))
    bounds = [own.bound for own, _ in judged]
    show(table, "lambdak", rows, judged, bounds)
    reachable = np.isfinite(bounds)
    if not reachable.all():
        print(f"{(~reachable).sum()} rows are proven to have no such change")
    for method in [own for own in args.methods if own in ("random", "genetic")]:
        try:
            show(table, f"DiCE, {method}", rows, judge(model, table, dice(model, table, rows, method)), bounds)
        except ImportError as error:
            print(f"DiCE is left out: {error}; pip install dice-ml")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["adult", "wages"], choices=list(ACTIONABLE))
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--methods", nargs="+", default=["lambdak", "random", "genetic", "ocean"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--effort", default="balanced")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    tables = [Table(name) for name in args.tables]
    if "lambdak" in args.methods:
        print("| table | method | valid | and allowed | cost | median | extra | ms, median | ms, 95 % | CPU ms |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for table in tables:
            compare(table, args)
    if "ocean" in args.methods:
        for table in tables:
            show_ocean(table, args.rows)


def show_ocean(table: Table, count: int) -> None:
    try:
        found = ocean(table, count)
    except ImportError as error:
        print(f"OCEAN is left out: {error}; pip install oceanpy, with Python 3.12")
        return
    ms = 1e3 * np.array([seconds for _, seconds in found])
    valid = 100 * np.mean([valid for valid, _ in found])
    print(
        f"| {table.name} | OCEAN, CP | {valid:.0f} % | {np.median(ms):.0f} | {np.quantile(ms, 0.95):.0f} |", flush=True
    )


if __name__ == "__main__":
    main()
