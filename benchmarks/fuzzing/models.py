"""Small fitted models to start from, and whether one that was read behaves."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lambdak
from fuzzing.trial import WrongError, at_most
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.store._header import describe
from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER

SMALL = {"effort": "fast", "dim": 3, "max_iter": 1, "n_estimators": 2, "n_knots": 4, "random_state": 0}
_SECONDS = 10.0  # of CPU, for all that a model does
FOLDER = Path(tempfile.mkdtemp(prefix="lambdak-fuzz-"))


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.empty((60, 3), object)
    X[:, 0], X[:, 1] = rng.uniform(0, 9, (2, 60))
    X[:, 2] = rng.choice(["red", "green", "blue"], 60)
    X[::9, 1], X[::11, 2] = None, None
    return X, X[:, 0].astype(float) + (X[:, 2] == "red")


@cache
def fitted() -> tuple[Any, ...]:
    X, y = table()
    codes = np.digitize(y, [3, 6])
    labels = np.array(["a", "b", "c"])[codes]
    sparse_like = X[:, :1].astype(float)
    return (
        SpectralRegressor(**SMALL, monotonic_cst={"x0": 1}, max_influence=[5.0, np.inf, 2.0]).fit(X, y),
        SpectralRegressor("huber", **{**SMALL, "n_knots": 0}).fit(X, y),
        SpectralRegressor("tweedie", **SMALL, shape="convex").fit(X, y),
        SpectralRegressor("poisson", **{**SMALL, "dim": 1}, monotonic_cst=[1], shape="concave").fit(sparse_like, y),
        SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL).fit(X, y),
        SpectralClassifier(**SMALL, class_weight={"a": 1, "b": 2.0, "c": 1}).fit(X, labels),
        SpectralClassifier(**SMALL).fit(X, codes > 0),
        SpectralOrdinalClassifier(**SMALL, monotonic_cst="decreasing").fit(X, codes),
    )


@cache
def described() -> tuple[Any, ...]:
    """Header and tensors of each, without and with what training needs to continue."""
    return tuple(describe(model._saved(training)) for training in (False, True) for model in fitted())


def probe(model: Any) -> np.ndarray:
    """Rows at the ends of the columns, far outside where these are clamped, missing, and of unseen levels."""
    columns = []
    for column in model.model_.encoder.columns:
        if isinstance(column, Category):
            cells = [*(level for level in column.levels if level is not OTHER), None]
            mixed = {isinstance(level, str) for level in cells if level is not None}
            cells += ["never seen"] * (mixed != {False})
        else:
            far = [1e300, -1e300] if column.clamp else []
            cells = [column.low, column.high, column.median, *far, None]
        columns.append(cells)
    rows = np.empty((max(map(len, columns)), len(columns)), object)
    for i, cells in enumerate(columns):
        rows[:, i] = [cells[j % len(cells)] for j in range(len(rows))]
    return rows


def outputs(model: Any, X: Any) -> dict[str, np.ndarray]:
    names = ("predict_proba", "predict_quantiles", "decision_function", "predict")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


def outcome(model: Any) -> str:
    """What became of a hostile file or text: it was refused, or is a model that behaves."""
    if isinstance(model, Exception):
        return "refused"
    with at_most(_SECONDS):
        check_behaves(model)
    return "read"


def check_behaves(model: Any) -> None:
    """A model that was read predicts finite numbers, is certified, and is the same after another round trip.

    One with a training state continues, or says why it cannot.
    """
    rows = probe(model)
    if model.model_.encoder.from_sparse:
        rows = np.nan_to_num(rows.astype(float), nan=0.0)
    first = outputs(model, rows)
    for name, values in first.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise WrongError(f"{name} is not finite")
    certificate = model.certify()
    if not certificate.holds:
        raise WrongError("it was read, but its certificate does not hold")
    str(certificate), certificate.to_json()
    path = FOLDER / "again.safetensors"
    model.save(path)
    for other in (lambdak.load(path), lambdak.from_json(model.to_json())):
        for name, values in outputs(other, rows).items():
            if values.tolist() != first[name].tolist():
                raise WrongError(f"{name} differs after another round trip")
    if model._state is not None:
        model.save(path, training_state=True)
        check_continues(lambdak.load(path), rows)


def check_continues(model: Any, rows: np.ndarray) -> None:
    """Training continues, and what comes of it predicts finite numbers; or the fit is refused."""
    target = first_targets(model, len(rows))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(rows, target)
    except (TypeError, ValueError):  # settings of a file are checked where they are used
        return
    for name, values in outputs(model, rows).items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise WrongError(f"{name} is not finite after a partial fit")


def first_targets(model: Any, rows: int) -> np.ndarray:
    """Classes in turn, or numbers near the first raw score."""
    if hasattr(model, "classes_"):
        return model.classes_[np.arange(rows) % len(model.classes_)]
    return np.abs(model.model_.start[0]) + model.model_.scale * np.linspace(0.5, 1.5, rows)
