"""The tables of the benchmarks: how each is read, what is predicted from it, and how that is measured.

Twenty-nine are for development: the defaults of the estimators were chosen on partitions of them (recipe.py). Five of
these are well known (california, bike, adult, higgs, fremtpl2); the others are small, noisy, wide, long, or have many
levels or classes. Any other folder will do, too: each Parquet or CSV file with a column ``__y`` is a table. Fractions
(floats) in ``__y`` are a regression, everything else is classes, and a column ``__exposure`` makes it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow.parquet import read_schema
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score, roc_auc_score

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FREMTPL2_ROWS = 100_000
TARGET, EXPOSURE = "__y", "__exposure"

KNOWN = {
    "california": "california_housing",
    "bike": "bike_sharing",
    "adult": "adult_train",
    "higgs": "higgs_sample",
    "fremtpl2": "fremtpl2_frequency",
}
FIRST = (  # nineteen, with the well-known: the defaults up to November 2026 were chosen on these
    *("concrete", "power", "kin8nm", "winered", "gss_wages", "birthdays", "flights"),
    *("ausauto", "spambase", "magic", "cells", "contraceptive", "segment", "letter"),
)
SECOND = (  # many classes, categories alone, and few rows
    *("pens", "digits", "vowels", "dna", "income_bands"),
    *("nine_cells", "phonemes", "two_normals", "radar", "printing"),
)
NAMES = (*KNOWN, *FIRST, *SECOND)
WHOLE_AMOUNTS = {"winered"}  # a regression although its targets, marks for wines, are whole numbers
MEASURE = {
    "regression": "R²",
    "classification": "AUC",
    "classes": "log-loss",
    "poisson": "deviance",
}
SMALLER_IS_BETTER = {"classes", "poisson"}


@dataclass(frozen=True)
class Problem:
    """A table, its target, and what is to be predicted from it."""

    name: str
    task: str  # regression, classification (two classes), classes (more), or poisson
    X: pd.DataFrame
    y: np.ndarray
    exposure: np.ndarray | None = None


def names_in(folder: Path) -> list[str]:
    """Names of all tables in a folder and in its ``tables``: those for development first, in their order."""
    known = {name for name, file in KNOWN.items() if (folder / f"{file}.parquet").is_file()}
    files = {file.stem for place in (folder, folder / "tables") for file in place.glob("*") if TARGET in _columns(file)}
    return sorted(known | files, key=lambda name: (NAMES.index(name) if name in NAMES else len(NAMES), name))


def load(name: str, folder: Path = DATA) -> Problem:
    """A table by its name."""
    if name in KNOWN:
        return _known(name, pd.read_parquet(folder / f"{KNOWN[name]}.parquet"))
    frame = _read(name, folder)
    exposure = frame.pop(EXPOSURE).to_numpy(float) if EXPOSURE in frame else None
    y = frame.pop(TARGET)
    if exposure is not None or pd.api.types.is_float_dtype(y) or name in WHOLE_AMOUNTS:
        return Problem(name, "regression" if exposure is None else "poisson", frame, y.to_numpy(float), exposure)
    classes, codes = np.unique(y.astype(str) if y.dtype == "category" else y, return_inverse=True)
    return Problem(name, "classification" if len(classes) == 2 else "classes", frame, codes)


def _columns(file: Path) -> list[str]:
    """The names of the columns of a file; none where it is not a table."""
    if file.suffix == ".parquet":
        return read_schema(file).names
    return list(pd.read_csv(file, nrows=0)) if file.suffix == ".csv" else []


def _read(name: str, folder: Path) -> pd.DataFrame:
    for place in (folder / "tables", folder):
        if (place / f"{name}.parquet").is_file():
            return pd.read_parquet(place / f"{name}.parquet")
        if (place / f"{name}.csv").is_file():
            return pd.read_csv(place / f"{name}.csv")
    raise FileNotFoundError(f"no table {name} in {folder}: there are {', '.join(names_in(folder)) or 'none'}")


def _known(name: str, frame: pd.DataFrame) -> Problem:
    if name == "california":
        return Problem(name, "regression", frame, frame.pop("median_house_value").to_numpy(float))
    if name == "bike":
        for column in ("season", "mnth", "hr", "weekday", "weathersit"):
            frame[column] = frame[column].astype("category")
        y = np.log1p(frame["cnt"].to_numpy(float))
        return Problem(name, "regression", frame.drop(columns=["instant", "dteday", "casual", "registered", "cnt"]), y)
    if name == "adult":
        y = frame.pop("income").astype(str).str.contains(">").to_numpy(int)
        return Problem(name, "classification", frame, y)
    if name == "higgs":
        return Problem(name, "classification", frame, frame.pop("label").to_numpy(int))
    frame = frame.sample(FREMTPL2_ROWS, random_state=0).reset_index(drop=True)
    y, exposure = frame.pop("ClaimNb").to_numpy(float), frame.pop("Exposure").to_numpy(float)
    return Problem(name, "poisson", frame.drop(columns="IDpol", errors="ignore"), y, exposure)


def categories(X: pd.DataFrame) -> pd.DataFrame:
    """Strings and booleans as the category dtype, as the boosting libraries want them."""
    return X.assign(**{c: X[c].astype("category") for c in X if not pd.api.types.is_numeric_dtype(X[c])})


def score(problem: Problem, test: np.ndarray, predicted: np.ndarray) -> float:
    """The metric of a table on some rows: R², AUC, or log-loss and Poisson deviance, which are better if smaller."""
    y = problem.y[test]
    if problem.task == "classification":
        return float(roc_auc_score(y, predicted))
    if problem.task == "classes":
        return float(log_loss(y, predicted, labels=np.unique(problem.y)))
    if problem.task == "poisson":
        exposure = problem.exposure[test]
        rate = np.maximum(predicted / exposure, 1e-9)
        return float(mean_poisson_deviance(y / exposure, rate, sample_weight=exposure))
    return float(r2_score(y, predicted))
