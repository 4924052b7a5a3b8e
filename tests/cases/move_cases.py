"""Models to invert and to move rows of: fitted ones of every kind, and such with random matrices."""

from __future__ import annotations

import numpy as np
from fitted_models import X, changed, fitted

ROW = 5
THRESHOLDS = {"regressor": 1.2, "free": 1.2, "convex": 1.2, "linear": 1.2, "poisson": 1.2, "quantiles": 1.2}
THRESHOLDS |= {"concave": 1.2, "single": 1.2, "additive": 1.2, "capped": 1.2, "one quantile": 1.2}
CLASSES = ["binary", "multiclass", "ordinal"]


def shaken(kind, seed, size=1.0):
    """A copy of a fitted model with random matrices in place of its own: it bends far more."""
    model = fitted(kind)
    own = model.model_.coef
    noise = np.random.default_rng(seed).normal(0, size * np.abs(own).mean() * 3, own.shape) * (own != 0)
    noise[:, model.model_.encoder.n_design :] = 0.0  # quantiles and cut-points stay in order
    return changed(model, coef=own + noise)


def predictions(model, frame):
    """What the decision is about: numbers, of two classes the probability of the second, otherwise classes."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(frame)[:, 1] if len(model.classes_) == 2 else model.predict(frame)
    return model.predict(frame)


def with_cells(row, n, **cells):
    """Copies of a row (a frame with one row), with these columns replaced."""
    frame = row.iloc[np.zeros(n, int)].reset_index(drop=True)
    return frame.assign(**{name: np.asarray(own) for name, own in cells.items()})


def row_at(i=ROW):
    return X.iloc[[i]]


def grid(model, name, points=60):
    """Numbers over the training range, or levels that were seen."""
    column = next(own for own in model.model_.encoder.columns if own.name == name)
    if column.is_number:
        return np.linspace(column.low, column.high, points)
    return np.array([level for level in column.levels if isinstance(level, str)], object)
