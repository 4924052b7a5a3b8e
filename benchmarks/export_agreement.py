"""Exports of random models against the models: whether they say the same, within the error that is stated.

    python benchmarks/export_agreement.py --target c --models 1000

Models of all estimators, losses and constraints, fitted or with random matrices, dims 1 to 31; hostile names of
columns and levels, levels that are text, numbers, booleans or mixed, units from 1e-120 to 1e120. Rows lie inside and
outside of the training range, at knots and beside them, with missing and unseen cells. What an error is relative to
is said by ``errors`` in tests/cases/export_cases.py. The last line fails if one is larger than stated.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from random_models import FITTED, random_subject

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from export_cases import disguised, errors, offsets_of, random_rows

# The function in tests/cases that runs a target, and the error that the guide states for it. It is
# ``opened(model, folder, explain) -> Scorer``: it exports the model into the folder, and reads what it finds there.
TARGETS = {
    "c": ("exported_c.opened", 1e-12),
    "java": ("exported_java.opened", 1e-12),
    "js": ("exported_javascript.opened", 1e-12),
    "onnx": ("exported_onnx.opened", 1e-12),
    "r": ("exported_r.opened", 1e-12),
    "sql-duckdb": ("exported_sql.opened_duckdb", 1e-12),
    "sql-sqlite": ("exported_sql.opened_sqlite", 1e-12),
    "sql-postgresql": ("exported_sql.opened_postgresql", 1e-12),
}


def agreement(seed, opened, rows, folder):
    """Kind, and the largest errors, of one random model."""
    rng = np.random.default_rng(seed)
    kind = list(FITTED)[seed % len(FITTED)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits of three epochs
        model = disguised(rng, random_subject(rng, kind).model)
    X, explain = random_rows(rng, model, rows), bool(rng.random() < 0.5)
    offset = offsets_of(rng, model, rows)
    with np.errstate(all="ignore"):
        return kind, errors(model, X, offset, opened(model, folder, explain)(X, offset), explain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=TARGETS, required=True)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=40, help="of each model")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which no further model begins")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    place, stated = TARGETS[given.target]
    module, name = place.split(".")
    opened, found = getattr(importlib.import_module(module), name), defaultdict(list)
    refused = 0
    for seed in range(given.first, given.first + given.models):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory() as folder:
            try:
                kind, own = agreement(seed, opened, given.rows, Path(folder))
            except ValueError as error:
                if "takes matrices of up to" not in str(error):  # a limit of the target, which the export names
                    raise
                refused += 1
                continue
        found[kind].append(own)
        if not max(own.raw, own.results, own.influence) <= stated:
            print(f"seed {seed}, {kind}: {own}")
    print(f"{refused} models refused, larger than the target takes")
    return table(found, stated)


def table(found, stated):
    """Print the worst errors of each kind; 1 if one is too large."""
    print(f"{'kind':34}{'models':>7}{'raw score':>12}{'prediction':>12}{'influence':>12}")
    worst = []
    for kind, own in sorted(found.items()):
        worst.append([max(getattr(each, name) for each in own) for name in ("raw", "results", "influence")])
        print(f"{kind:34}{len(own):7}" + "".join(f"{value:12.1e}" for value in worst[-1]))
    largest = np.max(worst, axis=0)
    print(f"{'all':34}{sum(map(len, found.values())):7}" + "".join(f"{value:12.1e}" for value in largest))
    print(f"stated: {stated:g}: {'all agree' if (largest <= stated).all() else 'DISAGREEMENT'}")
    return int(not (largest <= stated).all())


if __name__ == "__main__":
    sys.exit(main())
