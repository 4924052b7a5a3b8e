"""Factor tables of a motor insurance model: how much of its Gini they keep, and how far they can be from it.

usage: python benchmarks/tariff.py [--data DIR] [--rows N] [--two-way 0 1 3 6] [--time-limit SECONDS] [--out FOLDER]

Fits claim frequencies of freMTPL2 (Poisson, exposure as offset, two monotone columns) on 80 % of the policies, makes
tables of the same policies, and scores the others with the tables alone. Needs pandas; takes some minutes with all
678,013 policies.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

from lambdak import SpectralRegressor
from lambdak.governance.tables import Relativities

ROOT = Path(__file__).parent.parent
COLUMNS = ["VehPower", "VehAge", "DrivAge", "BonusMalus", "Density", "VehBrand", "VehGas", "Area", "Region"]
RISING = {"BonusMalus": 1, "Density": 1}
WHOLE = ["VehPower", "VehAge", "DrivAge", "BonusMalus", "Density"]
HEAD = ("tables", "cells", "Gini", "share", "deviance", "proven", "found", "observed", "mean", "rising", "seconds")


def gini(claims: np.ndarray, rate: np.ndarray, exposure: np.ndarray) -> float:
    """1 − 2 times the area under the Lorenz curve of claims over exposure, the lowest rate first; ties are one step."""
    _, at = np.unique(rate, return_inverse=True)
    weight, events = (np.append(0.0, np.bincount(at, own)).cumsum() for own in (exposure, claims))
    return float(1.0 - np.sum(np.diff(weight) * (events[1:] + events[:-1])) / (weight[-1] * events[-1]))


def falls(tables: Relativities, test: pd.DataFrame) -> int:
    """Policies of a sample whose rate falls somewhere as a rising column grows."""
    some, count = test[COLUMNS].sample(500, random_state=0), 0
    for name in RISING:
        grid = np.linspace(test[name].min(), test[name].max(), 200)
        rows = some.loc[some.index.repeat(len(grid))].assign(**{name: np.tile(grid, len(some))})
        count += int((np.diff(tables.predict(rows).reshape(len(some), -1)) < 0).any(axis=1).sum())
    return count


def line(name: str, tables: Relativities, test: pd.DataFrame, whole: float, seconds: float) -> tuple[str, ...]:
    rate, claims, exposure = tables.predict(test[COLUMNS]), test["ClaimNb"].to_numpy(), test["Exposure"].to_numpy()
    own, off = gini(claims, rate, exposure), tables.deviation
    deviance = mean_poisson_deviance(claims / exposure, rate, sample_weight=exposure)
    factors = [f"{math.exp(each):.2f}" for each in (off.proven, off.attained, off.observed)]
    kept = "yes" if not falls(tables, test) else "NO"
    cells = sum(table.value.size for table in tables)
    return (name, str(cells), f"{own:.4f}", f"{100 * own / whole:.1f} %", f"{deviance:.4f}", *factors,
            f"{100 * math.expm1(off.mean):.1f} %", kept, f"{seconds:.0f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, help="policies to use; all by default")
    parser.add_argument("--two-way", type=int, nargs="+", default=[0, 1, 3, 6])
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds for each proof")
    parser.add_argument("--out", type=Path, help="folder for the workbook and the picture of the last tables")
    chosen = parser.parse_args()
    policies = pd.read_parquet(chosen.data / "fremtpl2_frequency.parquet")
    policies = policies if chosen.rows is None else policies.sample(chosen.rows, random_state=0)
    train, test = train_test_split(policies, test_size=0.2, random_state=0)
    began = time.perf_counter()
    model = SpectralRegressor("poisson", monotonic_cst=RISING, random_state=0)
    model.fit(train[COLUMNS], train["ClaimNb"], offset=np.log(train["Exposure"]))
    seconds = time.perf_counter() - began
    claims, exposure, rate = (
        test["ClaimNb"].to_numpy(), test["Exposure"].to_numpy(), model.predict(test[COLUMNS]),
    )  # fmt: skip
    whole = gini(claims, rate, exposure)
    deviance = mean_poisson_deviance(claims / exposure, rate, sample_weight=exposure)
    lines = [HEAD, (f"the model, dim {model.model_.dim}", "", f"{whole:.4f}", "100 %", f"{deviance:.4f}", "", "", "",
                    "", "", f"{seconds:.0f}")]  # fmt: skip
    made = [("interpolated", {"form": "interpolated"}), *(_named(k) for k in chosen.two_way)]
    for name, options in made:
        began = time.perf_counter()
        tables = model.relativities(
            train[COLUMNS],
            train["ClaimNb"],
            exposure=train["Exposure"],
            whole=WHOLE,
            time_limit=chosen.time_limit,
            **options,
        )
        lines.append(line(name, tables, test, whole, time.perf_counter() - began))
        print(f"{name}: {tables.deviation.how}; {[table.columns for table in tables if len(table.columns) > 1]}")
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(
        f"\n{len(train):,} policies for fit and tables, {len(test):,} to score; proven, found, observed: largest factor"
    )
    for own in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(own, widths, strict=True)) + " |")
    if chosen.out is not None:
        _write(tables, chosen.out)


def _named(count: int) -> tuple[str, dict[str, int]]:
    return (f"bands + {count} two-way" if count else "bands"), {"two_way": count}


def _write(tables: Relativities, folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from lambdak.explain.plots import save

    folder.mkdir(parents=True, exist_ok=True)
    tables.to_excel(folder / "tariff.xlsx")
    tables.to_json(folder / "tariff.json")
    save(tables.plot()[0], folder / "tariff.png")


if __name__ == "__main__":
    main()
