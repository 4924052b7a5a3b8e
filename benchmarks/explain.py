"""How many rows per second are explained, and how far their attributions are from adding up.

usage: python benchmarks/explain.py [--rows 5000] [--effort balanced]

The table is synthetic (8 numbers, 2 categories, some cells missing), so that no data are needed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import lambdak
from lambdak import SpectralRegressor


def make_table(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(rows, 8)), columns=[f"x{i}" for i in range(8)])
    X["colour"], X["region"] = rng.choice(list("abc"), rows), rng.choice(list("pqrstu"), rows)
    y = np.sin(2 * X["x0"]) + X["x1"] * X["x2"] + np.abs(X["x3"]) + (X["colour"] == "a") * X["x4"]
    X.loc[rng.random(rows) < 0.1, "x5"] = np.nan
    return X, y.to_numpy()


def timed(work: Callable[[], object]) -> tuple[float, object]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--effort", default="balanced")
    arguments = parser.parse_args()
    lambdak.show_config()
    X, y = make_table(20_000)
    model = SpectralRegressor(effort=arguments.effort, random_state=0).fit(X, y)
    rows = X.head(arguments.rows)
    seconds, local = timed(lambda: model.explain_local(rows))
    off = np.abs(local.attribution.sum(axis=1) - (local.score - local.baseline_score)).max()
    print(
        f"\n{len(model.model_.weights)} members of dim {model.model_.dim}, {X.shape[1]} columns, {len(rows):,} rows\n"
    )
    print("| | seconds | rows per second |\n|---|---|---|")
    print(f"| explain_local | {seconds:.2f} | {len(rows) / seconds:,.0f} |")
    seconds, _ = timed(lambda: local.what_if("x0"))
    print(f"| what_if, one column | {seconds:.2f} | {len(rows) / seconds:,.0f} |")
    seconds, _ = timed(lambda: model.explain_global(rows))
    print(f"| explain_global | {seconds:.2f} | |")
    seconds, _ = timed(model.certify)
    print(f"| certify | {seconds:.2f} | |")
    seconds, _ = timed(lambda: model.verify(rows))
    print(f"| verify, 10,000 pairs per claim | {seconds:.2f} | |")
    print(f"\nattributions add up to {off:.1e} (the target's standard deviation is {y.std():.2f})")


if __name__ == "__main__":
    main()
