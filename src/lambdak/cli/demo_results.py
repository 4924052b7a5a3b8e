"""What ``lambdak demo`` computes: a real table, our model next to its peers, and what is proven about it.

Everything here is data; :mod:`lambdak.explain.plots` draws it and the command line shows it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, train_test_split

from lambdak._checks import FloatArray
from lambdak.estimators import SpectralQuantileRegressor, SpectralRegressor
from lambdak.explain.quantile_fan import Fan
from lambdak.table.read import named_array

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

_RISING = ("bmi", "bp")
_NAMES = {
    "bp": "pressure",
    "s1": "cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "chol_hdl",
    "s5": "log_triglycerides",
    "s6": "sugar",
}
_ROUNDING = 1e-9  # of predictions in float64, far below any effect


@dataclass(frozen=True)
class Patients:
    """Rows (n, columns), targets (n,), and the sign, +1 or 0, that the prediction's slope in a column must have."""

    X: FloatArray
    y: FloatArray
    names: tuple[str, ...]
    signs: tuple[int, ...]
    target: str


def load_patients() -> Patients:
    """scikit-learn's diabetes table: 442 patients, ten columns in their own units, the disease one year later.

    A heavier patient, or one of higher blood pressure, must never be predicted to be better off.

    >>> load_patients().X.shape
    (442, 10)
    """
    bunch = load_diabetes(scaled=False)
    names = bunch.feature_names
    shown = tuple(_NAMES.get(name, name) for name in names)
    signs = tuple(int(name in _RISING) for name in names)
    return Patients(bunch.data, bunch.target, shown, signs, "progression")


@dataclass(frozen=True)
class FoldResult:
    """R² of one model on one fold that it has not seen, and the seconds its fit took."""

    model: str
    r2: float
    seconds: float


def candidates(patients: Patients, effort: str) -> dict[str, Any]:
    """Our regressor, boosted trees and a linear model, not yet fitted."""
    return {"lambdak": spectral(patients, effort), "boosted trees": boosted(), "linear model": LinearRegression()}


def cross_validate(patients: Patients, models: Mapping[str, Any], folds: int) -> Iterator[FoldResult]:
    """Cross-validate the models, one fit after the other."""
    for train, test in KFold(folds, shuffle=True, random_state=0).split(patients.X):
        for name, model in models.items():
            began = time.perf_counter()
            model.fit(patients.X[train], patients.y[train])
            seconds = time.perf_counter() - began
            yield FoldResult(name, float(model.score(patients.X[test], patients.y[test])), seconds)


def spectral(patients: Patients, effort: str) -> SpectralRegressor:
    """The regressor with the signs of the columns, not yet fitted."""
    return SpectralRegressor(monotonic_cst=patients.signs, effort=effort, random_state=0)


def fitted(patients: Patients, effort: str) -> SpectralRegressor:
    """The regressor, fitted to the whole table, with the names of its columns: no library for tables is needed."""
    return spectral(patients, effort).fit(named_array(patients.X, patients.names), patients.y)


def boosted(**settings: Any) -> Any:
    """scikit-learn's boosted trees, not yet fitted."""
    return HistGradientBoostingRegressor(random_state=0, **settings)


def falls(model: SpectralRegressor, peer: Any, patients: Patients, *, pairs: int) -> dict[str, tuple[int, int]]:
    """Column with a requested sign → how many predictions fell although it alone rose, of ours and of the peer.

    Each column rises at random in ``pairs`` rows.
    """
    rng = np.random.default_rng(0)
    found = {}
    for i in np.flatnonzero(patients.signs):
        low = patients.X[rng.integers(0, len(patients.X), pairs)]
        high = low.copy()
        ends = np.sort(rng.uniform(patients.X[:, i].min(), patients.X[:, i].max(), (pairs, 2)), axis=1)
        low[:, i], high[:, i] = ends.T
        changes = (each.predict(high) - each.predict(low) for each in (model, peer))
        ours, theirs = (int((change < -_ROUNDING).sum()) for change in changes)
        found[patients.names[i]] = (ours, theirs)
    return found


def fan(patients: Patients, *, rows: int, effort: str, levels: Sequence[float] = LEVELS) -> Fan:
    """Fit quantiles to two thirds of the table; predict the last third, and ``rows`` random ones."""
    train_X, test_X, train_y, test_y = train_test_split(patients.X, patients.y, test_size=1 / 3, random_state=0)
    model = SpectralQuantileRegressor(levels, monotonic_cst=patients.signs, effort=effort, random_state=0)
    model.fit(train_X, train_y)
    peers = [boosted(loss="quantile", quantile=q) for q in levels]
    anywhere = np.random.default_rng(0).uniform(
        patients.X.min(axis=0), patients.X.max(axis=0), (rows, patients.X.shape[1])
    )
    apart = np.column_stack([peer.fit(train_X, train_y).predict(anywhere) for peer in peers])
    quantiles = model.predict_quantiles(test_X)
    order = np.argsort(quantiles[:, len(levels) // 2])
    crossings = (_crossings(model.predict_quantiles(anywhere)), _crossings(apart))
    return Fan(patients.target, tuple(levels), quantiles[order], test_y[order], crossings)


def _crossings(quantiles: FloatArray) -> int:
    return int((np.diff(quantiles, axis=1) < 0).any(axis=1).sum())
