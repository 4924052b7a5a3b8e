"""Models of all losses that promise something, in every state that a model can be in, and rows to try them on."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from random_shapes import fitted, shaped_table

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.shapes.registry import SHAPES
from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER

Rng = np.random.Generator
Rows = dict[str, np.ndarray]  # column → cells

SMALL = {"effort": "fast", "max_iter": 3, "n_estimators": 3, "dim": 5, "random_state": 0}
TRAINING_ROWS = 400
STATES = ("fitted", "loaded", "from JSON", "continued")
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")
FAR = (1e3, 1e9, 1e100, 1e300)


def training_table(rng: Rng) -> tuple[Rows, np.ndarray]:
    rows = TRAINING_ROWS
    table = {
        "income": rng.gamma(2.0, 3.0, rows),
        "age": np.where(rng.random(rows) < 0.15, np.nan, rng.uniform(18, 80, rows)),
        "steps": rng.integers(0, 5, rows).astype(float),
        "region": rng.choice(np.array(["north", "south", "rare", None], object), rows, p=[0.5, 0.29, 0.01, 0.2]),
    }
    y = np.sqrt(table["income"]) + 0.4 * (table["region"] == "north") * table["steps"] + rng.normal(0, 0.3, rows)
    return table, y


def frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows)


def made(loss: str, **settings: Any) -> Callable[[], Any]:
    """How to fit a model of a loss, or of an estimator."""

    def fit() -> Any:
        X, y = training_table(np.random.default_rng(0))
        cuts = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
        kinds: dict[str, tuple[type, np.ndarray, dict[str, Any]]] = {
            "quantiles": (SpectralQuantileRegressor, y, {"quantiles": (0.1, 0.3, 0.3 + 1e-9, 0.9)}),
            "two classes": (SpectralClassifier, y > np.median(y), {}),
            "classes": (SpectralClassifier, cuts, {}),
            "ordinal": (SpectralOrdinalClassifier, cuts, {"dim": 9}),
        }
        kind, target, own = kinds.get(loss, (SpectralRegressor, np.maximum(y, 0.1), {"loss": loss}))
        return kind(**SMALL | own | settings).fit(frame(X), target)

    return fit


def with_shapes(name: str, number: int) -> Any:
    """A model with a random combination of shapes, one of this class among them, of any task."""
    rng = np.random.default_rng([number, list(SHAPES).index(name)])
    return fitted(rng, name, rows=TRAINING_ROWS, max_iter=3, effort="fast").model


SIGNS = {"income": 1, "age": -1}
CAPS = {"income": 1.0, "region": 0.5}
EVERY = (*LOSSES, "quantiles", "two classes", "classes", "ordinal")
ONE_SCORE = (*LOSSES, "quantiles", "two classes", "ordinal")
MODELS: dict[str, dict[str, Callable[[], Any]]] = {  # kind of promise → models to try it on
    "monotone": {loss: made(loss, monotonic_cst=SIGNS) for loss in ONE_SCORE},
    "convex": {
        loss: made(loss, shape="convex") for loss in ("squared_error", "huber", "quantiles", "two classes", "classes")
    },
    "concave": {
        loss: made(loss, shape="concave") for loss in ("squared_error", "absolute_error", "quantiles", "two classes")
    },
    "influence": {loss: made(loss, max_influence=CAPS) for loss in EVERY},
    "response": {loss: made(loss, n_knots=6) for loss in EVERY},
    "quantile order": {"quantiles": made("quantiles"), "monotone": made("quantiles", monotonic_cst=SIGNS)},
    "cut-point order": {"ordinal": made("ordinal"), "linear": made("ordinal", n_knots=0)},
    "ordinal labels": {
        "ordinal": made("ordinal", monotonic_cst=SIGNS),
        "linear": made("ordinal", monotonic_cst=SIGNS, n_knots=0),
    },
    "what-if intervals": {
        loss: made(loss, monotonic_cst=None if loss == "classes" else {"income": 1}) for loss in EVERY
    },
}


SHAPE_MODELS = 6  # of each class: random combinations of shapes that have it
MODELS |= {name: {str(k): partial(with_shapes, name, k) for k in range(SHAPE_MODELS)} for name in SHAPES}


def in_states(fit: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
    """A model as it was fitted, and after what may be done to it."""
    model = fit()
    yield "fitted", model
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.safetensors")
        yield "loaded", lambdak.load(Path(folder) / "model.safetensors")
    yield "from JSON", lambdak.from_json(model.to_json())
    yield "continued", _continued(model)


def _continued(model: Any) -> Any:
    X, y = training_table(np.random.default_rng(1))
    if model._parameters.get("constraints"):
        X, y = shaped_table(np.random.default_rng(1), TRAINING_ROWS)
        for own in (own for own in model.model_.promises.shapes if type(own).__name__ == "OutputRange"):
            y = np.clip(y, own.low, own.high)
    classes = getattr(model, "classes_", None)
    if classes is None:
        return model.partial_fit(frame(X), np.maximum(y, 0.1))
    return model.partial_fit(frame(X), classes[np.argsort(np.argsort(y)) * len(classes) // len(y)])


# ---- rows --------------------------------------------------------------------------------------------------------


def numbers(rng: Rng, column: Any, count: int, missing: bool = False) -> np.ndarray:
    """Cells of a column of numbers: anywhere in its range, at knots and beside them, outside, far outside, missing."""
    low, high = column.low, column.high
    wide = high - low
    cells = rng.uniform(low, high, count)
    nodes = column.nodes()
    way = rng.integers(10, size=count)
    at = nodes[rng.integers(len(nodes), size=count)]
    beside = np.nextafter(at, np.where(rng.random(count) < 0.5, -np.inf, np.inf))
    cells = np.where(way == 0, at, np.where(way == 1, beside, cells))
    cells = np.where(way == 2, rng.uniform(low - wide, high + wide, count), cells)
    if column.clamp:
        cells = np.where(way == 3, rng.choice([-1.0, 1.0], count) * rng.choice(FAR, count), cells)
    close = np.nextafter(cells, rng.choice([-np.inf, np.inf], count))
    cells = np.where(way == 4, np.roll(close, 1), cells)
    return np.where(way == 5, np.nan, cells) if missing else cells


def levels(rng: Rng, column: Any, count: int) -> np.ndarray:
    """Levels of a category, a missing and an unseen one."""
    known = [level for level in column.levels if level is not OTHER and level is not None]
    choices = np.empty(len(known) + 2, object)
    choices[:] = [*known, None, "never seen"]
    return np.asarray(choices[rng.integers(len(choices), size=count)])


def random_rows(rng: Rng, model: Any, count: int) -> Rows:
    return {
        column.name: levels(rng, column, count) if isinstance(column, Category) else numbers(rng, column, count, True)
        for column in model.model_.encoder.columns
    }
