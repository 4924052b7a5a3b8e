"""Every weakness that users have measured, as a line: ours beside the named peers, re-run here.

usage: python benchmarks/weaknesses.py [--data DIR] [--only noise-90 levels-300 ...] [--splits 2] [--list]

Each line has the mean over the splits ± its standard error for `fast`, `balanced` and the peers, which are set as in
peers.py; "before" is what was found when the weakness was reported, on tables that were drawn differently in part.
Every split of a drawn table is another draw. Times are wall seconds with two threads: let nothing else run.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

import lambdak
from tables import DATA
from weakness.accuracy import ACCURACY
from weakness.line import Figures, Weakness
from weakness.times import TIMES

WEAKNESSES = ACCURACY | TIMES


def cell(values: list[float]) -> str:
    """Mean ± standard error with four significant digits of the mean."""
    mean = np.mean(values)
    digits = int(np.clip(3 - np.floor(np.log10(abs(mean) or 1)), 0, 4))
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{mean:.{digits}f}{error}"


def print_line(name: str, weakness: Weakness, found: list[Figures]) -> None:
    """One row per metric."""
    for metric, contestants in found[0].items():
        cells = [f"{who} {cell([figures[metric][who] for figures in found])}" for who in contestants]
        print(f"| {name} | {weakness.title} | {metric} | {'; '.join(cells)} | {weakness.before} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", default=WEAKNESSES, choices=WEAKNESSES, metavar="LINE")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the names of the lines and stop")
    arguments = parser.parse_args()
    if arguments.list:
        return print(*(f"{name}: {weakness.title}" for name, weakness in WEAKNESSES.items()), sep="\n")
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    print(f"load average {os.getloadavg()}\n\n| line | what | metric | now | before |\n|---|---|---|---|---|")
    for name in arguments.only:
        weakness = WEAKNESSES[name]
        print_line(name, weakness, [weakness.measure(arguments.data, split) for split in range(arguments.splits)])
    return None


if __name__ == "__main__":
    main()
