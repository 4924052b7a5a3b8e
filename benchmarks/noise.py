"""The penalty `alpha` on tables with 100 columns of pure noise added: which columns become exactly zero, and the score.

usage: python benchmarks/noise.py [--data DIR] [--only california bike] [--noise 100] [--splits 3] [--alpha 0 0.5 1 2]

The splits are those of ranks.py: a fifth of the rows is the test, which nothing sees before the score.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from tables import DATA, Problem, load


def with_noise(problem: Problem, columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    noise = rng.standard_normal((len(problem.y), columns)).astype(np.float32)
    return pd.concat([problem.X, pd.DataFrame(noise, columns=[f"noise {i}" for i in range(columns)])], axis=1)


def compare(problem: Problem, columns: int, splits: int, alphas: list[float]) -> None:
    print(f"\n## {problem.name} with {columns} columns of noise, {splits} splits\n")
    print("| alpha | R² | noise columns exactly zero | real columns exactly zero | fit s |\n|---|---|---|---|---|")
    X, real = with_noise(problem, columns), problem.X.shape[1]
    for alpha in alphas:
        rows = []
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(problem.y))
            test, train = order[: len(order) // 5], order[len(order) // 5 :]
            began = time.perf_counter()
            model = SpectralRegressor(alpha=alpha, random_state=seed).fit(X.iloc[train], problem.y[train])
            seconds = time.perf_counter() - began
            zero = model.feature_strengths_ == 0
            rows.append((model.score(X.iloc[test], problem.y[test]), zero[real:].mean(), zero[:real].sum(), seconds))
        score, noise, lost, seconds = np.mean(rows, axis=0)
        print(f"| {alpha:g} | {score:.4f} | {100 * noise:.1f} % | {lost:.1f} of {real} | {seconds:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", default=["california", "bike"])
    parser.add_argument("--noise", type=int, default=100)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--alpha", type=float, nargs="+", default=[0.0, 0.5, 1.0, 2.0])
    arguments = parser.parse_args()
    for name in arguments.only:
        compare(load(name, arguments.data), arguments.noise, arguments.splits, arguments.alpha)


if __name__ == "__main__":
    main()
