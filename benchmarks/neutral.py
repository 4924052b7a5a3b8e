"""The figures measured outside of development: mean ranks, wins and times, as the pages quote them.

usage: python benchmarks/neutral.py [--file benchmarks/neutral.csv]

The file has 28 classification tables on which no default had been chosen when they were measured (version of 18
November 2026): one stratified split with a quarter of the rows for the test, one thread, log-loss and accuracy of the
test rows, CPU seconds of a fit on a busy machine. lambdak at its defaults; LightGBM 4.7 with 2,000 trees at rate 0.05
and early stopping (50 rounds) on 15 % of the training rows, CatBoost 1.2.10 with its defaults and the same early
stopping; ChimeraBoost 0.34 and scikit-learn 1.9's HistGradientBoosting with their defaults. Ten of the tables became
development tables afterwards: the figures speak of that version only, and nothing is to be chosen by them. Log-losses
have five digits, so that four methods share the first rank on T07, where all are right.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from standings import UNIT, print_rows

FILE = Path(__file__).with_name("neutral.csv")


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """A row for each method, the best first: its mean ranks, its best tables, and its time in LightGBM's."""
    loss, accuracy, seconds = (
        results.pivot(index="table", columns="method", values=name)
        for name in ("log_loss", "accuracy", "fit_cpu_seconds")
    )
    ranks = loss.rank(axis=1)
    ratio = np.log(seconds.div(seconds[UNIT], axis=0))
    columns = {
        "mean rank by log-loss": ranks.mean(),
        "best on": (ranks == 1).sum(),
        "last on": (ranks == ranks.shape[1]).sum(),
        "mean rank by accuracy": accuracy.rank(axis=1, ascending=False).mean(),
        "CPU time of a fit, geometric mean in LightGBM's": np.exp(ratio.mean()),
    }
    return pd.DataFrame(columns).sort_values("mean rank by log-loss")


def rows(results: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """The summary as a table of words."""
    table = summary(results)
    words = [
        [
            method,
            *(f"{value:.0f}" if name in ("best on", "last on") else f"{value:.2f}" for name, value in line.items()),
        ]
        for method, line in table.iterrows()
    ]
    return ["", *table.columns], words


def losses(results: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """The log-loss of each method on each table, the best one in bold, as a table of words."""
    loss = results.pivot(index="table", columns="method", values="log_loss")[list(summary(results).index)]
    sizes = results.drop_duplicates("table").set_index("table")[["rows", "columns", "classes"]]
    words = []
    for table, line in loss.iterrows():
        cells = [f"**{value:.3f}**" if value == line.min() else f"{value:.3f}" for value in line]
        words.append([f"{table}: {' × '.join(f'{size:,}' for size in sizes.loc[table])}", *cells])
    return ["rows × columns × classes", *loss.columns], words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, default=FILE)
    results = pd.read_csv(parser.parse_args().file)
    print_rows(*rows(results))
    print()
    print_rows(*losses(results))


if __name__ == "__main__":
    main()
