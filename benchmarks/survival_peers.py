"""The contestants of survival.py: SpectralSurvival, and what its users would take instead.

Each is a function ``fit(X, time, event, seed)`` that returns ``predict(X, times)``: a risk score (rows,), the larger
the earlier, and survival (rows, times). None is tuned. All that is not ours gets a table of numbers: medians for gaps,
and categories one-hot, levels of fewer than ten rows pooled. Cox is scikit-survival's on standardised columns with a
ridge of 1; forest and boosting have scikit-survival's defaults (100 trees each); XGBoost has 100 trees of depth 3 at
rate .1, as that boosting has, Breslow's estimator beside its Cox loss, and the scale of its AFT law from {.5, 1, 2} by
the likelihood of a fifth of the training rows; SurvivalBoost has its defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lambdak import SpectralSurvival
from survival_tables import structured

Predict = Callable[[pd.DataFrame, np.ndarray], tuple[np.ndarray, np.ndarray]]
Fit = Callable[[pd.DataFrame, np.ndarray, np.ndarray, int], Predict]

TREES = {"learning_rate": 0.1, "max_depth": 3, "nthread": 1, "verbosity": 0}
N_TREES = 100
SCALES = (0.5, 1.0, 2.0)  # of the logarithm of times in XGBoost's AFT


def numbers(X: pd.DataFrame) -> Any:
    """What turns a table into numbers."""
    is_number = make_column_selector(dtype_include=np.number)
    is_text = make_column_selector(dtype_exclude=np.number)
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10, sparse_output=False)
    text = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing", missing_values=None), levels)
    medians = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_column_transformer((medians, is_number), (text, is_text)).fit(X)


def _ours(effort: str) -> Fit:
    def fit(X: pd.DataFrame, time: np.ndarray, event: np.ndarray, seed: int) -> Predict:
        model = SpectralSurvival(effort=effort, random_state=seed, n_jobs=1).fit(X, (time, event))
        return lambda test, times: (model.predict(test), model.predict_survival_function(test, times))

    return fit


def _sksurv(make: Callable[[int], Any]) -> Fit:
    def fit(X: pd.DataFrame, time: np.ndarray, event: np.ndarray, seed: int) -> Predict:
        encoder = numbers(X)
        model = make(seed).fit(encoder.transform(X), structured(time, event))

        def predict(test: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            encoded = encoder.transform(test)
            return model.predict(encoded), _steps(model.predict_survival_function(encoded), times)

        return predict

    return fit


def _steps(functions: Any, times: np.ndarray) -> np.ndarray:
    """Step functions at times: 1 before the first step, and after the last one its value."""
    return np.stack([_at(own.x, own.y, times) for own in functions])


def _at(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    place = np.searchsorted(x, times, side="right") - 1
    return np.where(place < 0, 1.0, y[np.maximum(place, 0)])


def _cox(seed: int) -> Any:
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    return CoxPHSurvivalAnalysis(alpha=1.0)


def _forest(seed: int) -> Any:
    from sksurv.ensemble import RandomSurvivalForest

    return RandomSurvivalForest(n_jobs=1, random_state=seed)


def _boosting(seed: int) -> Any:
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis

    return GradientBoostingSurvivalAnalysis(random_state=seed)


def _xgboost_cox(X: pd.DataFrame, time: np.ndarray, event: np.ndarray, seed: int) -> Predict:
    import xgboost
    from sksurv.linear_model.coxph import BreslowEstimator

    encoder = numbers(X)
    encoded = encoder.transform(X)
    data = xgboost.DMatrix(encoded, np.where(event, time, -time))
    model = xgboost.train({**TREES, "objective": "survival:cox", "seed": seed}, data, N_TREES)
    margin = model.predict(data, output_margin=True)
    baseline = BreslowEstimator().fit(margin, event, time)

    def predict(test: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        risk = model.predict(xgboost.DMatrix(encoder.transform(test)), output_margin=True)
        return risk, _steps(baseline.get_survival_function(risk), times)

    return predict


def _xgboost_aft(X: pd.DataFrame, time: np.ndarray, event: np.ndarray, seed: int) -> Predict:
    import xgboost

    encoder = numbers(X)
    encoded, unit = encoder.transform(X), float(np.median(time))
    low, high = time / unit, np.where(event, time / unit, np.inf)

    def train(rows: np.ndarray, scale: float) -> Any:
        data = xgboost.DMatrix(encoded[rows], label_lower_bound=low[rows], label_upper_bound=high[rows])
        law = {"objective": "survival:aft", "aft_loss_distribution": "normal", "aft_loss_distribution_scale": scale}
        return xgboost.train({**TREES, **law, "seed": seed}, data, N_TREES)

    order = np.random.default_rng(seed).permutation(len(time))
    held, kept = order[: len(time) // 5], order[len(time) // 5 :]

    def likelihood(scale: float) -> float:
        mean = train(kept, scale).predict(xgboost.DMatrix(encoded[held]), output_margin=True)
        z = (np.log(low[held]) - mean) / scale
        return float(np.where(event[held], norm.logpdf(z) - np.log(scale), norm.logsf(z)).sum())

    best = max(SCALES, key=likelihood)
    model = train(order, best)

    def predict(test: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = model.predict(xgboost.DMatrix(encoder.transform(test)), output_margin=True)
        return -mean, norm.sf((np.log(times / unit) - mean[:, None]) / best)

    return predict


def _survival_boost(X: pd.DataFrame, time: np.ndarray, event: np.ndarray, seed: int) -> Predict:
    from hazardous import SurvivalBoost

    encoder = numbers(X)
    y = pd.DataFrame({"event": event.astype(int), "duration": time})
    model = SurvivalBoost(show_progressbar=False, random_state=seed).fit(encoder.transform(X), y)

    def predict(test: pd.DataFrame, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        survival = np.asarray(model.predict_survival_function(encoder.transform(test), times=times))
        return -np.trapezoid(survival, times, axis=1), survival

    return predict


METHODS: dict[str, Fit] = {
    "lambdak-balanced": _ours("balanced"),
    "lambdak-fast": _ours("fast"),
    "Cox": _sksurv(_cox),
    "random forest": _sksurv(_forest),
    "boosting": _sksurv(_boosting),
    "XGBoost Cox": _xgboost_cox,
    "XGBoost AFT": _xgboost_aft,
    "SurvivalBoost": _survival_boost,
}
PACKAGES = ("lambdak", "scikit-survival", "xgboost", "xgboost-cpu", "hazardous", "SurvSet")


def versions() -> str:
    """The packages that are installed."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
