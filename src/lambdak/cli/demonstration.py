"""The first look at the estimators: a real table, scored beside its peers, and what is proven about the fit.

Everything here is data; :mod:`lambdak.explain.plots` draws it and the command line shows it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, train_test_split

from lambdak._checks import FloatArray
from lambdak.estimators import SpectralQuantileRegressor, SpectralRegressor

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
class Table:
    """Rows (n, columns), targets (n,), and the sign, +1 or 0, that the prediction's slope in a column shall have."""

    X: FloatArray
    y: FloatArray
    names: tuple[str, ...]
    signs: tuple[int, ...]
    target: str


def patients() -> Table:
    """scikit-learn's diabetes table: 442 patients, ten columns in their own units, the disease one year later.

    A heavier patient, or one of higher blood pressure, shall never be predicted to be better off.

    >>> patients().X.shape
    (442, 10)
    """
    bunch = load_diabetes(scaled=False)
    names = bunch.feature_names
    shown = tuple(_NAMES.get(name, name) for name in names)
    signs = tuple(int(name in _RISING) for name in names)
    return Table(bunch.data, bunch.target, shown, signs, "progression")


@dataclass(frozen=True)
class Score:
    """R² of one model on one fold that it has not seen, and the seconds its fit took."""

    model: str
    r2: float
    seconds: float


def contestants(table: Table, effort: str) -> dict[str, Any]:
    """Our regressor, boosted trees and a linear model, not yet fitted."""
    return {"lambdak": spectral(table, effort), "boosted trees": boosted(), "linear model": LinearRegression()}


def scores(table: Table, models: Mapping[str, Any], folds: int) -> Iterator[Score]:
    """Cross-validate the models, one fit after the other."""
    for train, test in KFold(folds, shuffle=True, random_state=0).split(table.X):
        for name, model in models.items():
            began = time.perf_counter()
            model.fit(table.X[train], table.y[train])
            seconds = time.perf_counter() - began
            yield Score(name, float(model.score(table.X[test], table.y[test])), seconds)


def spectral(table: Table, effort: str) -> SpectralRegressor:
    """The regressor that the table asks for, not yet fitted."""
    return SpectralRegressor(monotonic_cst=table.signs, effort=effort, random_state=0)


def fitted(table: Table, effort: str) -> SpectralRegressor:
    """The regressor, fitted to the whole table, with the names of its columns: no library for tables is needed."""
    model = spectral(table, effort).fit(table.X, table.y)
    model.encoder_ = model.encoder_.renamed(table.names)
    model.feature_names_in_ = np.array(table.names, dtype=object)
    return model


def boosted(**settings: Any) -> Any:
    """scikit-learn's boosted trees, not yet fitted."""
    return HistGradientBoostingRegressor(random_state=0, **settings)


def falls(model: SpectralRegressor, peer: Any, table: Table, *, pairs: int) -> dict[str, tuple[int, int]]:
    """Column of which a sign was asked → how many predictions fell although it alone rose, of ours and of the peer.

    Each column rises at random in ``pairs`` rows.
    """
    rng = np.random.default_rng(0)
    found = {}
    for i in np.flatnonzero(table.signs):
        low = table.X[rng.integers(0, len(table.X), pairs)]
        high = low.copy()
        ends = np.sort(rng.uniform(table.X[:, i].min(), table.X[:, i].max(), (pairs, 2)), axis=1)
        low[:, i], high[:, i] = ends.T
        changes = (each.predict(high) - each.predict(low) for each in (model, peer))
        ours, theirs = (int((change < -_ROUNDING).sum()) for change in changes)
        found[table.names[i]] = (ours, theirs)
    return found


@dataclass(frozen=True)
class Fan:
    """Quantiles of rows that were held out, in the order of their medians, and how often quantiles cross anywhere.

    ``crossings`` counts the random rows on which some quantile lies above a higher one, of our model and of boosted
    trees that were fitted quantile by quantile.
    """

    target: str
    levels: tuple[float, ...]
    quantiles: FloatArray  # (rows, levels)
    y: FloatArray
    crossings: tuple[int, int]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which of the held-out rows came out between the lowest and the highest quantile."""
        return np.asarray((self.quantiles[:, 0] <= self.y) & (self.y <= self.quantiles[:, -1]))


def fan(table: Table, *, rows: int, effort: str, levels: Sequence[float] = LEVELS) -> Fan:
    """Fit quantiles to two thirds of the table; predict the last third, and ``rows`` random ones."""
    train_X, test_X, train_y, test_y = train_test_split(table.X, table.y, test_size=1 / 3, random_state=0)
    model = SpectralQuantileRegressor(levels, monotonic_cst=table.signs, effort=effort, random_state=0)
    model.fit(train_X, train_y)
    peers = [boosted(loss="quantile", quantile=q) for q in levels]
    anywhere = np.random.default_rng(0).uniform(table.X.min(axis=0), table.X.max(axis=0), (rows, table.X.shape[1]))
    apart = np.column_stack([peer.fit(train_X, train_y).predict(anywhere) for peer in peers])
    quantiles = model.predict_quantiles(test_X)
    order = np.argsort(quantiles[:, len(levels) // 2])
    crossings = (_crossings(model.predict_quantiles(anywhere)), _crossings(apart))
    return Fan(table.target, tuple(levels), quantiles[order], test_y[order], crossings)


def _crossings(quantiles: FloatArray) -> int:
    return int((np.diff(quantiles, axis=1) < 0).any(axis=1).sum())
