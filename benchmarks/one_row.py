"""Time of predict on one row and on many, from pandas, polars and NumPy, against LightGBM, in one run.

usage: python benchmarks/one_row.py [--rows 1 10 100 1000 20000] [--seconds 1.0]

A table of 12 columns (seven of floats, one of them with gaps, two of integers, one of strings, one category, one of
booleans) and a model of balanced effort; LightGBM with 1000 trees at most and early stopping. LightGBM reads no
strings: from pandas it gets categories, in the place of polars an Arrow table of codes; from NumPy both get codes. The
sides take turns round by round, with a pause in which OpenMP's threads fall asleep, and the fastest call counts, as
other programs' load spoils means. CPU is the least time of all threads together, which load spoils less.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
from rich.console import Console
from rich.table import Table

from lambdak import SpectralClassifier, SpectralRegressor

TRAIN = 20_000
CATEGORIES = [9, 10, 11]
ROUNDS = 3
LEAST_CALLS = 3  # of a round
PAUSE = 0.25  # seconds: OpenMP's threads spin for up to 0.2 after a parallel region

Call = Callable[[], object]


def frame(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"n{i}": rng.normal(size=rows) for i in range(7)}
    columns["n5"] = np.where(rng.random(rows) < 0.1, np.nan, columns["n5"])
    columns |= {"i0": rng.integers(0, 100, rows), "i1": rng.integers(0, 10, rows)}
    columns["region"] = rng.choice(["north", "south", "east", "west"], rows)
    columns["brand"] = pd.Categorical(rng.choice(list("abcdefgh"), rows))
    columns["flag"] = rng.random(rows) < 0.3
    X = pd.DataFrame(columns)
    north = (X.region == "north").to_numpy()
    y = X.n0 + X.n1**2 + north + 0.1 * np.sqrt(X.i0) * X.n2 + 0.3 * rng.normal(size=rows)
    return X, y.to_numpy()


def codes(X: pd.DataFrame) -> np.ndarray:
    return X.assign(region=X.region.astype("category").cat.codes, brand=X.brand.cat.codes).to_numpy(float)


def theirs(X: Any, y: np.ndarray, kind: type = lightgbm.LGBMRegressor, **settings: Any) -> Any:
    stop = lightgbm.early_stopping(50, verbose=False)
    model = kind(n_estimators=1000, n_jobs=2, verbose=-1)
    return model.fit(X[2000:], y[2000:], eval_X=X[:2000], eval_y=y[:2000], callbacks=[stop], **settings)


def sides() -> tuple[dict[str, list[Any]], dict[str, Callable[[int], list[Any]]]]:
    """Models, ours and theirs, and the tables that each gets, by where the rows come from."""
    X, y = frame(TRAIN, 0)
    typed = X.astype({"region": "category"})
    ours, labels = SpectralRegressor(random_state=0).fit(X, y), y > 1
    by_code = SpectralRegressor(random_state=0, categorical_features=CATEGORIES).fit(codes(X), y)
    their_codes = theirs(codes(X), y, categorical_feature=CATEGORIES)
    models = {
        "pandas": [ours.predict, theirs(typed, y).predict],
        "polars": [ours.predict, their_codes.predict],
        "NumPy": [by_code.predict, their_codes.predict],
        "pandas, probabilities": [
            SpectralClassifier(random_state=0).fit(X, labels).predict_proba,
            theirs(typed, labels, lightgbm.LGBMClassifier).predict_proba,
        ],
    }
    new = frame(max(TRAIN, 20_000), 1)[0]
    new_typed, new_codes, new_polars = new.astype({"region": typed.region.dtype}), codes(new), pl.from_pandas(new)
    polars_codes = pl.DataFrame(new_codes, schema=list(new.columns))
    tables: dict[str, Callable[[int], list[Any]]] = {
        "pandas": lambda n: [new[:n].copy(), new_typed[:n].copy()],
        "polars": lambda n: [new_polars[:n], polars_codes[:n].to_arrow()],
        "NumPy": lambda n: [new_codes[:n], new_codes[:n]],
    }
    tables["pandas, probabilities"] = tables["pandas"]
    print_sizes(ours)
    return models, tables


def print_sizes(model: SpectralRegressor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        print(f"pickle {len(pickle.dumps(model)) / 1024:.0f} kB, saved file {path.stat().st_size / 1024:.0f} kB")


def fastest(calls: list[Call], seconds: float) -> np.ndarray:
    """Wall and CPU time of the fastest call of each side (sides, 2), in milliseconds; they take turns."""
    best = np.full((len(calls), 2), np.inf)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            time.sleep(PAUSE)
            end, made = time.perf_counter() + seconds / ROUNDS, 0
            while time.perf_counter() < end or made < LEAST_CALLS:
                start, cpu = time.perf_counter(), time.process_time()
                call()
                taken = time.perf_counter() - start, time.process_time() - cpu
                best[i] = np.minimum(best[i], 1e3 * np.array(taken))
                made += 1
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 10, 100, 1000, 20_000])
    parser.add_argument("--seconds", type=float, default=1.0, help="per side and line")
    arguments = parser.parse_args()
    models, tables = sides()
    shown = Table(title="predict, milliseconds", title_justify="left")
    for title in ("from", "rows", "lambdak", "LightGBM", "times faster", "lambdak CPU", "LightGBM CPU"):
        shown.add_column(title, justify="left" if title == "from" else "right")
    for source, (our, their) in models.items():
        for rows in arguments.rows:
            own, other = tables[source](rows)
            (wall, cpu), (their_wall, their_cpu) = fastest([lambda: our(own), lambda: their(other)], arguments.seconds)  # noqa: B023
            numbers = (f"{wall:.3f}", f"{their_wall:.3f}", f"{their_wall / wall:.1f}", f"{cpu:.3f}", f"{their_cpu:.3f}")
            shown.add_row(source, f"{rows:,}", *numbers)
    Console().print(shown)


if __name__ == "__main__":
    main()
