"""All contestants on all development tables: metrics and times, mean ranks, wins, and the picture of rank against time.

usage: python benchmarks/ranks.py [--data DIR] [--only california ...] [--splits 2] [--max-rows 100000] [--threads 2]
                                  [--methods lambdak-balanced LightGBM ...] [--optional] [--limit 600]
                                  [--results FILE] [--again] [--once] [--show] [--picture FILE]

Each split holds out a fifth of the rows for the test, which nothing sees before the metric; longer tables are cut to
the same random rows for all. All contestants have the same rows and as many threads; peers.py says how each is set.
Times are wall seconds, the median of up to five fits where these are short: let nothing else run. The load of the
machine before each fit is printed beside it.

Every result is printed and added to --results as a line of JSON; what is there in the same version of the library is
not measured again (--again does), and --show measures nothing. The contestants of --optional (EBM, RealMLP, TabM) run
in processes of their own, each for at most --limit seconds. Mind that these are development tables: lambdak's defaults
were chosen on other partitions of them (recipe.py), those of the peers were not.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import lambdak
from contest import MAX_ROWS, REPEATS, Entry, Result, limited, measured, read_results
from peers import METHODS, chosen_methods
from standings import print_standings
from tables import DATA, NAMES, Problem, load


def entries(problem: Problem, arguments: argparse.Namespace) -> list[Entry]:
    """Everything that is to be compared on a table, in the order in which it is measured."""
    return [
        Entry(problem.name, split, name, len(problem.y), arguments.threads, METHODS[name].version)
        for split in range(arguments.splits) for name in arguments.methods
    ]  # fmt: skip


def contest(problem: Problem, known: dict[Entry, Result], arguments: argparse.Namespace) -> list[Result]:
    """All results on a table; those of --show may be of any version and number of threads."""
    wanted = entries(problem, arguments)
    if arguments.show:
        newest = {replace(entry, version="", threads=0): result for entry, result in known.items()}
        found = (newest.get(replace(entry, version="", threads=0)) for entry in wanted)
        return [result for result in found if result is not None]
    rest = (arguments.data, arguments.limit, 1 if arguments.once else REPEATS, arguments.results)
    return [known.get(entry) or measured(problem, entry, *rest) for entry in wanted]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files")
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="TABLE")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--max-rows", type=int, default=MAX_ROWS, help="of longer tables, so many random rows")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="+", help="of peers.py; default: all that are not optional")
    parser.add_argument("--optional", action="store_true", help="also EBM, RealMLP and TabM, which take minutes")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one fit of these")
    parser.add_argument("--results", type=Path, help="file of results, one per line")
    parser.add_argument("--again", action="store_true", help="measure what the file has, too")
    parser.add_argument("--once", action="store_true", help="one fit each: for metrics, where times do not matter")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--picture", type=Path, help="file for the picture, .png or .svg")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    arguments.methods = chosen_methods(parser, arguments.methods, arguments.optional)
    return arguments


def main() -> None:
    arguments = parsed()
    lambdak.show_config()
    print(
        f"load average {os.getloadavg()}, {arguments.threads} threads, at most {arguments.max_rows:,} rows of a table"
    )
    known = {} if arguments.again else {result.entry: result for result in read_results(arguments.results)}
    results = []
    for name in arguments.only:
        results += contest(limited(load(name, arguments.data), arguments.max_rows), known, arguments)
    print_standings(results, arguments.picture)


if __name__ == "__main__":
    main()
