"""What ``lambdak demo`` computes: a real table, our model next to peers with the same constraint, and what is proven.

Everything here is data; :mod:`lambdak.explain.plots` draws it and the command line shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold, train_test_split

from lambdak._types import FloatArray
from lambdak.estimators import SpectralQuantileRegressor, SpectralRegressor
from lambdak.explain.column_effect import Fan
from lambdak.table.read import Table, named_array

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
OURS, TREES, LINEAR = "lambdak", "boosted trees", "linear model"
MONOTONE = ", monotone"  # after the name of a model with the signs of the columns
CAPPED = ", capped"  # after the name of a model that has the cap
CAP = ("sex", 5.0)

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

Predict = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Patients:
    """Rows (n, columns), targets (n,), and the sign, +1 or 0, that the prediction's slope in a column must have."""

    X: FloatArray
    y: FloatArray
    names: tuple[str, ...]
    signs: tuple[int, ...]
    target: str

    @property
    def table(self) -> Table:
        """The rows with the names of the columns, which needs no library for tables."""
        return named_array(self.X, self.names)


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
    """Not yet fitted: our regressor and boosted trees, each free and with the signs; ours capped; a linear model."""
    return {
        OURS: SpectralRegressor(effort=effort, random_state=0),
        OURS + MONOTONE: spectral(patients, effort),
        OURS + MONOTONE + CAPPED: spectral(patients, effort, max_influence=cap(patients)),
        TREES: boosted(),
        TREES + MONOTONE: boosted(monotonic_cst=patients.signs),
        LINEAR: LinearRegression(),
    }


def cap(patients: Patients) -> dict[int, float]:
    """Column position → how much the column may do at most."""
    return {patients.names.index(CAP[0]): CAP[1]}


def cross_validate(patients: Patients, models: Mapping[str, Any], folds: int) -> Iterator[FoldResult]:
    """Cross-validate the models, one fit after the other."""
    for train, test in KFold(folds, shuffle=True, random_state=0).split(patients.X):
        for name, model in models.items():
            began = time.perf_counter()
            model.fit(patients.X[train], patients.y[train])
            seconds = time.perf_counter() - began
            yield FoldResult(name, float(model.score(patients.X[test], patients.y[test])), seconds)


def spectral(patients: Patients, effort: str, **settings: Any) -> SpectralRegressor:
    """The regressor with the signs of the columns, not yet fitted."""
    return SpectralRegressor(monotonic_cst=patients.signs, effort=effort, random_state=0, **settings)


def fitted(patients: Patients, effort: str) -> SpectralRegressor:
    """The regressor with the signs, fitted to the whole table, with the names of its columns."""
    model: SpectralRegressor = _fit_all(spectral(patients, effort), patients)
    return model


def split(patients: Patients) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Two thirds of the rows to fit and a third to measure on, then the targets of both."""
    parts = train_test_split(patients.X, patients.y, test_size=1 / 3, random_state=0)
    return cast("tuple[FloatArray, FloatArray, FloatArray, FloatArray]", tuple(parts))


def write_report(patients: Patients, path: Path, effort: str) -> None:
    """Fit the regressor to two thirds of the table, and write its report, measured on the last third."""
    train, test, train_y, test_y = split(patients)
    rows = named_array(train, patients.names)
    model = spectral(patients, effort).fit(rows, train_y)
    model.report(path, rows, train_y, X_test=named_array(test, patients.names), y_test=test_y, target=patients.target)


def fit_all(patients: Patients, effort: str) -> dict[str, Any]:
    """The candidates, fitted to the whole table."""
    return {name: _fit_all(model, patients) for name, model in candidates(patients, effort).items()}


def _fit_all(model: Any, patients: Patients) -> Any:
    return model.fit(patients.table if isinstance(model, SpectralRegressor) else patients.X, patients.y)


def predictor(model: Any, patients: Patients) -> Predict:
    """Predictions for an array of a model that was fitted to the whole table: ours know the columns by name."""
    if not isinstance(model, SpectralRegressor):
        return cast("Predict", model.predict)
    return lambda X: model.predict(named_array(X, patients.names))


def boosted(**settings: Any) -> Any:
    """scikit-learn's boosted trees with their default settings, not yet fitted."""
    return HistGradientBoostingRegressor(random_state=0, **settings)


def falls(predict: Predict, patients: Patients, *, pairs: int) -> dict[str, int]:
    """Column with a sign → in how many pairs of patients who differ in it alone a prediction, or quantile, falls."""
    found = {}
    for name, (low, high) in _pairs(patients, pairs).items():
        change = (predict(high) - predict(low)).reshape(pairs, -1)
        found[name] = int((change < -_ROUNDING).any(axis=1).sum())
    return found


def _pairs(patients: Patients, pairs: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Column with a sign → random patients (pairs, columns) twice: with a low and with a high number in it."""
    rng = np.random.default_rng(0)
    found = {}
    for i in np.flatnonzero(patients.signs):
        low = patients.X[rng.integers(0, len(patients.X), pairs)]
        high = low.copy()
        ends = np.sort(rng.uniform(patients.X[:, i].min(), patients.X[:, i].max(), (pairs, 2)), axis=1)
        low[:, i], high[:, i] = ends.T
        found[patients.names[i]] = low, high
    return found


@dataclass(frozen=True)
class QuantileResult:
    """How the quantiles of a model do on test rows, and how often they break a promise on random patients.

    ``loss`` is the mean pinball loss, ``inside`` the share of test rows between the outer quantiles, ``crossings`` the
    number of patients for whom some quantile lies above a higher one, and ``falls`` as for one prediction.
    """

    loss: float
    inside: float
    crossings: int
    falls: dict[str, int]


def compare_quantiles(
    patients: Patients, *, pairs: int, effort: str, levels: Sequence[float] = LEVELS
) -> tuple[Fan, dict[str, QuantileResult]]:
    """Fit monotone quantiles to two thirds of the table; how the last third lies in ours, and all models' results."""
    train_X, test_X, train_y, test_y = split(patients)
    ours, trees = (model.fit(train_X, train_y) for model in quantile_models(patients, effort, levels))
    predict = {
        OURS: ours.predict_quantiles,
        TREES: trees.predict_quantiles,
        f"{TREES}, sorted": lambda X: np.sort(trees.predict_quantiles(X), axis=1),
    }
    found = {name: _quantile_result(each, patients, (test_X, test_y), levels, pairs) for name, each in predict.items()}
    quantiles = ours.predict_quantiles(test_X)
    order = np.argsort(quantiles[:, len(levels) // 2])
    return Fan(patients.target, tuple(levels), quantiles[order], test_y[order]), found


def quantile_models(patients: Patients, effort: str, levels: Sequence[float]) -> tuple[Any, Separate]:
    """Not yet fitted: our quantiles, and one boosted model per quantile; all of them with the signs."""
    ours = SpectralQuantileRegressor(levels, monotonic_cst=patients.signs, effort=effort, random_state=0)
    trees = [boosted(loss="quantile", quantile=q, monotonic_cst=patients.signs) for q in levels]
    return ours, Separate(trees)


@dataclass(frozen=True)
class Separate:
    """Quantile regression by one model per quantile level, which are fitted one by one."""

    models: Sequence[Any]

    def fit(self, X: FloatArray, y: FloatArray) -> Separate:
        """Fit the models one by one."""
        for model in self.models:
            model.fit(X, y)
        return self

    def predict_quantiles(self, X: FloatArray) -> FloatArray:
        """Predictions of all models, (rows, quantile levels)."""
        return np.column_stack([model.predict(X) for model in self.models])


def _quantile_result(
    predict: Predict, patients: Patients, test: tuple[FloatArray, FloatArray], levels: Sequence[float], pairs: int
) -> QuantileResult:
    quantiles, y = predict(test[0]), test[1]
    losses = [mean_pinball_loss(y, quantiles[:, i], alpha=level) for i, level in enumerate(levels)]
    inside = np.mean((quantiles[:, 0] <= y) & (y <= quantiles[:, -1]))
    crossed = (np.diff(predict(_changed(patients, pairs)), axis=1) < 0).any(axis=1)
    return QuantileResult(
        float(np.mean(losses)), float(inside), int(crossed.sum()), falls(predict, patients, pairs=pairs)
    )


def _changed(patients: Patients, pairs: int) -> FloatArray:
    """The lower patients of the pairs of the first column with a sign: rows near the table, but not in it."""
    return next(iter(_pairs(patients, pairs).values()))[0]
