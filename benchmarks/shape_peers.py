"""Peers of shapes.py: which of our shapes each library has, and how it is fitted with them."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OrdinalEncoder

from lambdak import shapes as s
from peers import PATIENCE, TREES, output, tenth
from tables import Problem, categories

Constraints = Sequence[s.Shape]
PENALTY = 1e-6  # of glum, per row
PIECES = 12  # splines of pyGAM, and knots of a calibrator
FITS_THERE = Path(__file__).with_name("lattice_fit.py")


@dataclass(frozen=True)
class Peer:
    """A library, what it can be asked, and how it is fitted."""

    fit: Callable[[Problem, np.ndarray, Constraints, int], Any]
    module: str
    shapes: tuple[str, ...]
    levels: bool = False  # whether directions are of the levels of categories, too
    tasks: tuple[str, ...] = ("regression", "classification", "poisson")

    def has(self, problem: Problem, constraints: Constraints) -> bool:
        """Whether it has all these constraints."""
        named = all(type(own).__name__ in self.shapes for own in constraints)
        levels = any(getattr(own, "order", None) for own in constraints)
        return named and problem.task in self.tasks and (self.levels or not levels)


def signs(problem: Problem, constraints: Constraints) -> list[int]:
    """Return the direction of each column."""
    found = {own.column: 1 if isinstance(own, s.Rising) else -1 for own in constraints}
    return [found.get(name, 0) for name in problem.X]


def boosted(problem: Problem, rows: np.ndarray, constraints: Constraints, seed: int) -> Any:
    """LightGBM."""
    import lightgbm

    X = categories(problem.X)
    train, held = tenth(rows)
    kind = lightgbm.LGBMClassifier if problem.task == "classification" else lightgbm.LGBMRegressor
    own: dict[str, Any] = {"objective": "poisson"} if problem.task == "poisson" else {}
    if constraints:
        own |= {"monotone_constraints": signs(problem, constraints), "monotone_constraints_method": "advanced"}
    model = kind(**TREES, verbose=-1, n_jobs=1, random_state=seed, **own)
    offsets = {}
    if problem.task == "poisson":
        shift = np.log(problem.exposure)
        offsets = {"init_score": shift[train], "eval_init_score": [shift[held]]}
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    pair = (X.iloc[held], problem.y[held])
    model.fit(X.iloc[train], problem.y[train], eval_set=[pair], callbacks=[stop], **offsets)
    if problem.task == "poisson":
        return lambda test: np.exp(model.predict(X.iloc[test], raw_score=True)) * problem.exposure[test]
    return lambda test: output(model, problem, X.iloc[test])


def additive(problem: Problem, rows: np.ndarray, constraints: Constraints, seed: int) -> Any:
    """EBM."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    X = categories(problem.X)
    own = {"monotone_constraints": signs(problem, constraints)} if constraints else {}
    own |= {"random_state": seed, "n_jobs": 1}
    if problem.task == "classification":
        model = ExplainableBoostingClassifier(**own).fit(X.iloc[rows], problem.y[rows])
        return lambda test: output(model, problem, X.iloc[test])
    if problem.task != "poisson":
        model = ExplainableBoostingRegressor(**own).fit(X.iloc[rows], problem.y[rows])
        return lambda test: model.predict(X.iloc[test])
    shift = np.log(problem.exposure)
    model = ExplainableBoostingRegressor(objective="poisson_deviance", **own)
    model.fit(X.iloc[rows], problem.y[rows], init_score=shift[rows])
    return lambda test: model.predict(X.iloc[test], init_score=shift[test])


def generalised(problem: Problem, rows: np.ndarray, constraints: Constraints, seed: int) -> Any:
    """glum: one slope for each column, one number for each level, and next to no penalty."""
    from glum import GeneralizedLinearRegressor

    X = problem.X.copy()
    for own in constraints:
        if getattr(own, "order", None):
            names = {level: f"{rank:02d} {level}" for rank, level in enumerate(own.order)}  # it sorts levels by name
            X[own.column] = pd.Categorical(X[own.column].astype(object).map(names), [*names.values()], ordered=True)
    numbers = X.select_dtypes("number")
    X[list(numbers)] = numbers.fillna(numbers.iloc[rows].mean()).astype(float)
    for name in X.columns.difference(numbers.columns):  # it refuses levels that it was not fitted to
        fitted = X[name].iloc[rows]
        X[name] = X[name].where(X[name].isin(fitted.dropna().unique()), fitted.mode()[0])
    bounds = {own.column: "increasing" if isinstance(own, s.Rising) else "decreasing" for own in constraints}
    model = GeneralizedLinearRegressor(
        family="normal", alpha=PENALTY, formula=f"y ~ {' + '.join(X)}", monotonic_constraints=bounds or None,
        drop_first=True, max_iter=1000,
    )  # fmt: skip
    model.fit(X.iloc[rows].assign(y=problem.y[rows]))
    return lambda test: model.predict(X.iloc[test])


BENT = {"Convex": "convex", "Concave": "concave", "Rising": "monotonic_inc", "Falling": "monotonic_dec"}


def splines(problem: Problem, rows: np.ndarray, constraints: Constraints, seed: int) -> Any:
    """pyGAM: a spline for each column, a number for each level, the penalty by its grid search."""
    from pygam import GAM, f
    from pygam import s as spline

    table = coded(problem, rows)
    asked: dict[str, list[str]] = {}
    for own in constraints:
        for key in own.keys:
            asked.setdefault(str(key), []).append(BENT[type(own).__name__])
    terms = None
    for i, name in enumerate(problem.X):
        word = not pd.api.types.is_numeric_dtype(problem.X[name])
        term = f(i) if word else spline(i, n_splines=PIECES, constraints=asked.get(name))
        terms = term if terms is None else terms + term
    model = GAM(terms, distribution="normal", link="identity")
    model.gridsearch(table[rows], problem.y[rows], progress=False)
    return lambda test: model.predict(table[test])


def coded(problem: Problem, rows: np.ndarray) -> np.ndarray:
    """Numbers with the mean for what is missing, and levels as numbers of their own."""
    words = [c for c in problem.X if not pd.api.types.is_numeric_dtype(problem.X[c])]
    X = problem.X.copy()
    if words:
        X[words] = OrdinalEncoder().fit_transform(X[words].astype(str))
    return np.asarray(SimpleImputer().fit(X.iloc[rows]).transform(X), float)


def lattice(interpreter: str) -> Callable[[Problem, np.ndarray, Constraints, int], Any]:
    """TensorFlow Lattice, fitted by another interpreter; seconds are those that it says the fit took."""

    def fit(problem: Problem, rows: np.ndarray, constraints: Constraints, seed: int) -> Any:
        asked = [(type(own).__name__, [list(problem.X).index(key) for key in own.keys]) for own in constraints]
        with tempfile.TemporaryDirectory() as folder:
            data, found = Path(folder) / "in.npz", Path(folder) / "out.npz"
            np.savez(data, X=coded(problem, rows), y=problem.y, rows=rows, seed=seed, asked=np.array(repr(asked)))
            subprocess.run([interpreter, str(FITS_THERE), str(data), str(found)], check=True, capture_output=True)
            out = np.load(found)
            values = out["predicted"]
        return Predictions(values, float(out["seconds"]))

    return fit


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of all rows, made by another process, and the CPU seconds of its fit."""

    values: np.ndarray
    seconds: float

    def __call__(self, test: np.ndarray) -> np.ndarray:
        """Return those of some rows."""
        return self.values[test]


_MONOTONE = ("Rising", "Falling")
PEERS = {
    "LightGBM": Peer(boosted, "lightgbm", _MONOTONE),
    "EBM": Peer(additive, "interpret", _MONOTONE),
    "glum": Peer(generalised, "glum", _MONOTONE, levels=True, tasks=("regression",)),
    "pyGAM": Peer(splines, "pygam", tuple(BENT), tasks=("regression",)),
    "TF-Lattice": Peer(
        lattice("python"), "", (*_MONOTONE, "Convex", "Concave", "Valley", "Peak", "Dominates"), tasks=("regression",)
    ),
}


def installed(name: str) -> bool:
    """Whether a peer can be imported here."""
    return bool(PEERS[name].module) and importlib.util.find_spec(PEERS[name].module) is not None
