"""The first look at the estimators: a real table, scored beside its peers, and what is proven about the fit.

Everything here is data; :mod:`lambdak.plots` draws it and the command line shows it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, train_test_split

from lambdak._checks import FloatArray
from lambdak.eigen import eigenvalue
from lambdak.estimators import SpectralQuantileRegressor, SpectralRegressor

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

_RISING = ("bmi", "bp")
_MEANING = {
    "bmi": "body mass index (kg/m²)",
    "bp": "mean blood pressure (mmHg)",
    "s1": "total cholesterol",
    "s2": "LDL cholesterol",
    "s3": "HDL cholesterol",
    "s4": "cholesterol / HDL",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}
_ROUNDING = 1e-9  # of predictions in float64, far below any effect


@dataclass(frozen=True)
class Table:
    """Rows (n, columns), targets (n,), and the sign, +1 or 0, that the prediction's slope in a column shall have."""

    X: FloatArray
    y: FloatArray
    names: tuple[str, ...]
    signs: tuple[int, ...]


def patients() -> Table:
    """scikit-learn's diabetes table: 442 patients, ten columns in their own units, the disease one year later.

    A heavier patient, or one of higher blood pressure, shall never be predicted to be better off.

    >>> patients().X.shape
    (442, 10)
    """
    bunch = load_diabetes(scaled=False)
    names = bunch.feature_names
    shown = tuple(_MEANING.get(name, name) for name in names)
    return Table(bunch.data, bunch.target, shown, tuple(int(name in _RISING) for name in names))


@dataclass(frozen=True)
class Score:
    """R² of one model on one fold that it has not seen, and the seconds its fit took."""

    model: str
    r2: float
    seconds: float


def scores(table: Table, *, folds: int, effort: str) -> Iterator[Score]:
    """Cross-validate our regressor beside boosted trees and a linear model, one fit after the other."""
    models = {
        "lambdak, bmi and bp never lower it": spectral(table, effort),
        "boosted trees (HistGradientBoosting)": HistGradientBoostingRegressor(random_state=0),
        "linear model": LinearRegression(),
    }
    for train, test in KFold(folds, shuffle=True, random_state=0).split(table.X):
        for name, model in models.items():
            began = time.perf_counter()
            model.fit(table.X[train], table.y[train])
            seconds = time.perf_counter() - began
            yield Score(name, float(model.score(table.X[test], table.y[test])), seconds)


def spectral(table: Table, effort: str) -> SpectralRegressor:
    """The regressor that the table asks for, not yet fitted."""
    return SpectralRegressor(monotonic_cst=table.signs, effort=effort, random_state=0)


@dataclass(frozen=True)
class Influence:
    """What a change of one column alone can do to a prediction, and what random changes of it did.

    ``falls`` counts the predictions that fell although the column rose, of our model and of the boosted trees.
    """

    column: str
    sign: int
    proven: float
    seen: float
    falls: int
    peer_falls: int


def influences(model: SpectralRegressor, peer: Any, table: Table, *, pairs: int) -> Iterator[Influence]:
    """One column after the other: its proven bound, and ``pairs`` rows in which it alone rises at random."""
    rng = np.random.default_rng(0)
    for i, proven in enumerate(model.feature_strengths_):
        low = table.X[rng.integers(0, len(table.X), pairs)]
        high = low.copy()
        ends = np.sort(rng.uniform(table.X[:, i].min(), table.X[:, i].max(), (pairs, 2)), axis=1)
        low[:, i], high[:, i] = ends.T
        ours, theirs = (which.predict(high) - which.predict(low) for which in (model, peer))
        falls, peer_falls = (int((change < -_ROUNDING).sum()) for change in (ours, theirs))
        seen = float(np.abs(ours).max())
        yield Influence(table.names[i], table.signs[i], float(proven), seen, falls, peer_falls)


@dataclass(frozen=True)
class Effect:
    """How predictions change as one column leaves its median: of every row, and the bounds that no row can leave.

    Attributes
    ----------
    x : array of shape (points,)
        Values of the column.
    change : array of shape (rows, points)
        Prediction with the column at x, less that with the column at its median.
    low, high : arrays of shape (points,)
        Σ_m w_m λ_1(ΔA_m) ≤ change ≤ Σ_m w_m λ_d(ΔA_m), by Weyl's inequality, for rows seen or unseen.
    """

    column: str
    sign: int
    x: FloatArray
    change: FloatArray
    low: FloatArray
    high: FloatArray


def effect(model: SpectralRegressor, table: Table, column: int, *, points: int = 81) -> Effect:
    """The effect of one column on every row of the table, with its proven bounds."""
    middle = np.median(table.X[:, column])
    x = np.linspace(table.X[:, column].min(), table.X[:, column].max(), points)
    x = np.sort(np.append(x, middle))
    rows = np.repeat(table.X[:, None], len(x), axis=1)  # (rows, points, columns)
    rows[..., column] = x
    predicted = model.predict(rows.reshape(-1, table.X.shape[1])).reshape(rows.shape[:2])
    low, high = _moves(model, rows[0], int(np.searchsorted(x, middle)))
    start = predicted[:, [np.searchsorted(x, middle)]]
    return Effect(table.names[column], table.signs[column], x, predicted - start, low, high)


def _moves(model: SpectralRegressor, rows: FloatArray, reference: int) -> FloatArray:
    """(2, rows): how far down and up a prediction can go from one row's matrices to those of each row."""
    design = model.encoder_.transform(rows, np.float64).to_sparse(model.encoder_.n_design).toarray()
    delta = (design - design[reference])[:, 1:]
    ends = [eigenvalue(delta @ f.packed[1:].astype(np.float64), f.dim, [0, f.dim - 1]) for f in model.pencils_]
    return np.asarray(model.scale_ * np.tensordot(model.weights_, np.array(ends), 1).T)


@dataclass(frozen=True)
class Fan:
    """Quantiles of rows that were held out, in the order of their medians, and how often quantiles cross.

    ``crossings`` counts the random rows on which some quantile lies above a higher one, of our model and of boosted
    trees that were fitted quantile by quantile.
    """

    levels: tuple[float, ...]
    quantiles: FloatArray  # (rows, levels)
    y: FloatArray
    rows: int
    crossings: int
    peer_crossings: int

    @property
    def inside(self) -> float:
        """Share of the held-out rows between the lowest and the highest quantile."""
        return float(((self.quantiles[:, 0] <= self.y) & (self.y <= self.quantiles[:, -1])).mean())


def fan(table: Table, *, rows: int, effort: str, levels: Sequence[float] = LEVELS) -> Fan:
    """Fit quantiles to two thirds of the table; predict the last third, and ``rows`` random ones."""
    train_X, test_X, train_y, test_y = train_test_split(table.X, table.y, test_size=1 / 3, random_state=0)
    model = SpectralQuantileRegressor(levels, monotonic_cst=table.signs, effort=effort, random_state=0)
    model.fit(train_X, train_y)
    peers = [HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0) for q in levels]
    anywhere = np.random.default_rng(0).uniform(table.X.min(axis=0), table.X.max(axis=0), (rows, table.X.shape[1]))
    boosted = np.column_stack([peer.fit(train_X, train_y).predict(anywhere) for peer in peers])
    quantiles = model.predict_quantiles(test_X)
    order = np.argsort(quantiles[:, len(levels) // 2])
    ours, theirs = (_crossings(values) for values in (model.predict_quantiles(anywhere), boosted))
    return Fan(tuple(levels), quantiles[order], test_y[order], rows, ours, theirs)


def _crossings(quantiles: FloatArray) -> int:
    return int((np.diff(quantiles, axis=1) < 0).any(axis=1).sum())
