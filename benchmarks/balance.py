"""What balance=True does on unseen rows: mean deviance or log-loss, and actual over expected, in one run.

    python benchmarks/balance.py --data DIR --splits 3

One fit for each split, evaluated as it is and in balance: the start alone differs. Half of the rows are unseen.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, mean_tweedie_deviance
from sklearn.model_selection import train_test_split

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.training.balance import balanced
from lambdak.training.rows import GivenRows

# Name: file, target, column of the exposure, losses.
PROBLEMS = {
    "freMTPL2": ("fremtpl2_frequency.parquet", "ClaimNb", "Exposure", ("poisson",)),
    "bike sharing": ("bike_sharing.parquet", "cnt", None, ("poisson", "tweedie", "squared_error")),
    "California": ("california_housing.parquet", "median_house_value", None, ("gamma", "tweedie")),
    "adult": ("adult_train.parquet", "income", None, ("log_loss",)),
}
POWERS = {"squared_error": 0.0, "poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}


def problem(name, folder, rows):
    file, target, exposure, losses = PROBLEMS[name]
    table = pd.read_parquet(folder / file)
    table = table.sample(min(rows, len(table)), random_state=0)
    offset = None if exposure is None else np.log(table[exposure].to_numpy(float))
    drop = [
        target,
        *([exposure] if exposure else []),
        *(c for c in ("IDpol", "instant", "dteday", "casual", "registered") if c in table),
    ]
    return table.drop(columns=drop), table[target], offset, losses


def measured(loss, X, y, offset, seed):
    """Unseen loss and actual over expected, as fitted and in balance; that on training rows."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed)
    some = (lambda rows: None) if offset is None else (lambda rows: offset[rows])
    kind = SpectralClassifier if loss == "log_loss" else lambda **own: SpectralRegressor(loss, **own)
    model = kind(effort="fast", random_state=seed)
    beside = {} if offset is None else {"offset": some(train)}
    model.fit(X.iloc[train], y.iloc[train], **beside)
    codes = np.searchsorted(model.classes_, y) if loss == "log_loss" else y.to_numpy(float)
    own = model.model_
    shifted = balanced(own, GivenRows(X.iloc[train], codes[train], None, some(train)))

    def figures(each, rows):
        found = each.predict(X.iloc[rows], some(rows))
        if loss == "log_loss":
            return log_loss(codes[rows], found), codes[rows].sum() / found[:, 1].sum()
        deviance = mean_tweedie_deviance(codes[rows], found, power=POWERS[loss])
        return deviance, codes[rows].sum() / found.sum()

    return [*figures(own, test), *figures(shifted, test), figures(own, train)[1], figures(shifted, train)[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--only", nargs="+", default=list(PROBLEMS))
    given = parser.parse_args()
    print(
        "| table | loss | unseen loss | in balance | actual / expected, unseen | in balance | training | in balance |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in given.only:
        X, y, offset, losses = problem(name, given.data, given.rows)
        for loss in losses:
            found = np.mean([measured(loss, X, y, offset, seed) for seed in range(given.splits)], axis=0)
            own, own_total, other, other_total, seen, other_seen = found
            print(f"| {name} | {loss} | {own:.6g} | {other:.6g} | {own_total:.4f} | {other_total:.4f} | {seen:.4f} | "
                  f"{other_seen:.4f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
