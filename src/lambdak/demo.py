"""The first look at the estimators: a real table, scored beside its peers, and what is proven about the fit.

Everything here is data; :mod:`lambdak.plots` draws it and the command line shows it.
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
from lambdak.eigen import eigenvalue
from lambdak.estimators import SpectralQuantileRegressor, SpectralRegressor

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

_RISING = ("bmi", "bp")
_NAMES = {
    "bmi": "body mass index",
    "bp": "blood pressure",
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
    return Table(bunch.data, bunch.target, shown, signs, "disease progression after one year")


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


def boosted(**settings: Any) -> Any:
    """scikit-learn's boosted trees, not yet fitted."""
    return HistGradientBoostingRegressor(random_state=0, **settings)


@dataclass(frozen=True)
class Influence:
    """What a change of one column alone can do to a prediction, and what random changes of it did.

    ``falls`` counts the predictions that fell although the column rose, of our model and of a peer; it is None where
    nothing was asked of the column.
    """

    column: str
    sign: int
    proven: float
    seen: float
    falls: tuple[int, int] | None


def influences(model: SpectralRegressor, peer: Any, table: Table, *, pairs: int) -> Iterator[Influence]:
    """One column after the other: its proven bound, and ``pairs`` rows in which it alone rises at random."""
    rng = np.random.default_rng(0)
    for i, proven in enumerate(model.feature_strengths_):
        low = table.X[rng.integers(0, len(table.X), pairs)]
        high = low.copy()
        ends = np.sort(rng.uniform(table.X[:, i].min(), table.X[:, i].max(), (pairs, 2)), axis=1)
        low[:, i], high[:, i] = ends.T
        change = model.predict(high) - model.predict(low)
        falls = (_falls(change), _falls(peer.predict(high) - peer.predict(low))) if table.signs[i] else None
        yield Influence(table.names[i], table.signs[i], float(proven), float(np.abs(change).max()), falls)


def _falls(change: FloatArray) -> int:
    return int((change < -_ROUNDING).sum())


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
    values = table.X[:, column]
    x = np.sort([*np.linspace(values.min(), values.max(), points), np.median(values)])
    middle = int(np.searchsorted(x, np.median(values)))
    rows = np.repeat(table.X[:, None], len(x), axis=1)  # (rows, points, columns)
    rows[..., column] = x
    predicted = model.predict(rows.reshape(-1, table.X.shape[1])).reshape(rows.shape[:2])
    low, high = _moves(model, rows[0], middle)
    return Effect(table.names[column], table.signs[column], x, predicted - predicted[:, [middle]], low, high)


def _moves(model: SpectralRegressor, rows: FloatArray, reference: int) -> FloatArray:
    """(2, rows): how far down and up a prediction can go from one row's matrices to those of each row."""
    design = model.encoder_.transform(rows, np.float64).to_sparse(model.encoder_.n_design).toarray()
    delta = (design - design[reference])[:, 1:]
    ends = [eigenvalue(delta @ f.packed[1:].astype(np.float64), f.dim, [0, f.dim - 1]) for f in model.pencils_]
    return np.asarray(model.scale_ * np.tensordot(model.weights_, np.array(ends), 1).T)


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
