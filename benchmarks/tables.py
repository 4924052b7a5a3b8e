"""The nineteen tables of the benchmarks: how each is read, what is predicted from it, and how that is measured.

Five are well known (california, bike, adult, higgs, fremtpl2); fourteen more are small, noisy, wide, long, or have many
levels or classes. The defaults of the estimators were chosen on partitions of all of them (recipe.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score, roc_auc_score

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FREMTPL2_ROWS = 100_000

KNOWN = {
    "california": "california_housing",
    "bike": "bike_sharing",
    "adult": "adult_train",
    "higgs": "higgs_sample",
    "fremtpl2": "fremtpl2_frequency",
}
TASKS = {
    **dict.fromkeys(["concrete", "power", "kin8nm", "winered", "gss_wages", "birthdays", "flights"], "regression"),
    "ausauto": "poisson",
    **dict.fromkeys(["spambase", "magic", "cells"], "classification"),
    **dict.fromkeys(["contraceptive", "segment", "letter"], "classes"),
}
NAMES = (*KNOWN, *TASKS)
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


def load(name: str, folder: Path = DATA) -> Problem:
    """A table by its name."""
    if name in KNOWN:
        return _known(name, pd.read_parquet(folder / f"{KNOWN[name]}.parquet"))
    frame = pd.read_parquet(folder / "tables" / f"{name}.parquet")
    exposure = frame.pop("__exposure").to_numpy(float) if "__exposure" in frame else None
    y = frame.pop("__y").to_numpy()
    return Problem(name, TASKS[name], frame, y.astype(int if "class" in TASKS[name] else float), exposure)


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
