"""Random combinations of all shapes of the registry that do not contradict each other, and small models fitted to them.

A shape is drawn by the name of its class; a class that is registered and has no line in ``DRAWN`` is an error, so that
no new shape goes untried. Everything follows from a NumPy generator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.shapes import Shape
from lambdak.shapes.registry import SHAPES

Rng = np.random.Generator

LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")
TASKS = (*LOSSES, "quantiles", "two classes", "classes", "ordinal")
POSITIVE = ("poisson", "gamma", "tweedie")
NUMBERS = ("income", "age", "debt", "steps")
LEVELS = {"region": ("north", "south", "rare"), "grade": ("low", "mid", "high")}
MOST_SHAPES = 4
_REFUSED = ("contradict", "cannot be trained together", "needs", "must", "cannot")  # words of a refusal


def shaped_table(rng: Rng, rows: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, one with gaps and one with few values; a category with gaps, an ordered one; and a target."""
    X = pd.DataFrame({
        "income": rng.gamma(2.0, 2.0, rows),
        "age": np.where(rng.random(rows) < 0.15, np.nan, rng.uniform(18, 80, rows)),
        "debt": rng.normal(size=rows),
        "steps": rng.integers(0, 5, rows).astype(float),
        "region": rng.choice(np.array(["north", "south", "rare", None], object), rows, p=[0.5, 0.28, 0.02, 0.2]),
        "grade": pd.Categorical(rng.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True),
    })  # fmt: skip
    y = np.sqrt(X["income"]) + 0.3 * (X["region"] == "north") - 0.2 * X["debt"] + 0.05 * X["steps"] * X["debt"]
    return X, (y + rng.normal(0, 0.2, rows)).to_numpy()


# ---- one shape -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """What shapes are drawn from: a table and its target."""

    rng: Rng
    X: pd.DataFrame
    y: np.ndarray

    def number(self) -> str:
        """Return a column of numbers."""
        return str(self.rng.choice(NUMBERS))

    def some(self, least: int, most: int) -> list[str]:
        """Return several columns of numbers."""
        return [str(c) for c in self.rng.choice(NUMBERS, int(self.rng.integers(least, most + 1)), replace=False)]

    def cell(self, column: str) -> float:
        """Return a number within the range of a column, or one that it has, or one outside."""
        values, way = self.X[column].dropna().to_numpy(float), self.rng.random()
        if way < 0.4:
            return float(self.rng.choice(values))
        low, high = values.min(), values.max()
        wide = 0.5 * (high - low) if way > 0.9 else 0.0
        return float(self.rng.uniform(low - wide, high + wide))

    def size(self) -> float:
        """Return a positive number, small or large."""
        return float(10.0 ** self.rng.uniform(-2, 1))

    def order(self, column: str) -> list[str]:
        """Return the levels of a category in any order."""
        return [str(level) for level in self.rng.permutation(LEVELS[column])]

    def weights(self) -> dict[str, float]:
        """Return a direction of two or three columns of numbers."""
        return {c: float(self.rng.choice([-1.0, 1.0, 0.5, -2.0, 0.375])) for c in self.some(2, 3)}


def _monotone(of: Source, kind: type) -> Shape:
    if of.rng.random() < 0.6:
        return kind(of.number())
    if of.rng.random() < 0.5:
        return kind("grade")
    return kind("region", order=of.order("region"))


def _turning(of: Source, kind: type) -> Shape:
    column = "grade" if of.rng.random() < 0.2 else of.number()
    if of.rng.random() < 0.5:
        return kind(column)
    return kind(column, at=str(of.rng.choice(LEVELS[column])) if column in LEVELS else of.cell(column))


def _influence(of: Source, kind: type) -> Shape:
    columns = [str(c) for c in of.rng.choice([*NUMBERS, *LEVELS], int(of.rng.integers(1, 3)), replace=False)]
    return kind(tuple(columns) if len(columns) > 1 else columns[0], 0.0 if of.rng.random() < 0.05 else of.size())


def _slope(of: Source, kind: type) -> Shape:
    way = of.rng.random()
    return kind(None if way < 0.2 else of.number() if way < 0.7 else of.weights(), of.size())


def _range(of: Source, kind: type) -> Shape:
    """Bounds beside the target, at a distance; either may be missing."""
    low, high = of.y.min(), of.y.max()
    wide = float((high - low) * 10.0 ** of.rng.uniform(-2, 0)) or 1.0
    way = of.rng.integers(3)
    bounds = {"low": float(low - wide), "high": float(high + wide)}
    return kind(**{name: bound for name, bound in bounds.items() if (name, way) not in (("low", 1), ("high", 2))})


def _anchored(of: Source, kind: type) -> Shape:
    column = str(of.rng.choice([*NUMBERS, *LEVELS]))
    if column in ("age", "region") and of.rng.random() < 0.3:
        return kind(column, None)  # both have missing cells
    return kind(column, str(of.rng.choice(LEVELS[column])) if column in LEVELS else of.cell(column))


def _interactions(of: Source, kind: type) -> Shape:
    if of.rng.random() < 0.3:
        return kind(str(of.rng.choice(["pairwise", "no_interactions"])))
    columns = [str(c) for c in of.rng.permutation([*NUMBERS, *LEVELS])]
    cuts = np.sort(of.rng.choice(np.arange(1, len(columns)), 2, replace=False))
    return kind([columns[: cuts[0]], columns[cuts[0] : cuts[1]], columns[cuts[1] :]])


def _bending(of: Source, kind: type) -> Shape:
    return kind(*([] if of.rng.random() < 0.2 else of.some(1, 3)))


DRAWN: dict[str, Callable[[Source, type], Shape]] = {
    "Rising": _monotone,
    "Falling": _monotone,
    "Convex": _bending,
    "Concave": _bending,
    "Valley": _turning,
    "Peak": _turning,
    "MaxSlope": _slope,
    "MaxInfluence": _influence,
    "Dominates": lambda of, kind: kind(*of.some(2, 2)),
    "RisingAlong": lambda of, kind: kind(of.weights()),
    "Complements": lambda of, kind: kind(*of.some(2, 3)),
    "Substitutes": lambda of, kind: kind(*of.some(2, 3)),
    "OutputRange": _range,
    "Anchored": _anchored,
    "Interactions": _interactions,
}


def random_shape(of: Source, name: str) -> Shape:
    """Return a shape of the class of this name."""
    if name not in DRAWN:
        raise KeyError(f"shape {name} is registered, and nothing says how to draw one: add a line to DRAWN")
    return DRAWN[name](of, SHAPES[name])


def random_shapes(of: Source, first: str | None = None) -> list[Shape]:
    """Return up to ``MOST_SHAPES`` shapes of different classes; the first one is of the class ``first``."""
    others = [str(name) for name in of.rng.permutation([name for name in SHAPES if name != first])]
    names = [*([first] if first else []), *others][: int(of.rng.integers(1, MOST_SHAPES + 1))]
    return [random_shape(of, name) for name in names]


# ---- models --------------------------------------------------------------------------------------------------------


@dataclass
class Fitted:
    """A model with a combination of shapes, and the refusals on the way to it: why → how often."""

    model: Any
    X: pd.DataFrame
    task: str
    shapes: list[Shape]
    refusals: Counter[str] = field(default_factory=Counter)


def settings(rng: Rng) -> dict[str, Any]:
    """Return settings of a fit that takes a moment."""
    return {
        "effort": "fast",
        "dim": int(rng.choice([1, 2, 3, 4, 5, 7], p=[0.1, 0.25, 0.3, 0.2, 0.1, 0.05])),
        "max_iter": int(rng.integers(1, 4)),
        "n_estimators": int(rng.integers(1, 4)),
        "n_knots": int(rng.choice([0, 2, 3, 4, 6])) if rng.random() < 0.8 else "auto",
        "alpha": float(rng.choice([0.0, 0.0, 1e-3, 1e-1])),
        "random_state": int(rng.integers(2**31)),
        "n_jobs": 1,
    }


def target(rng: Rng, task: str, y: np.ndarray) -> np.ndarray:
    """Return what a task is fitted to."""
    if task in POSITIVE:
        return np.exp(y / 2)
    if task == "two classes":
        return y > np.median(y)
    if task == "classes":
        return np.digitize(y, np.quantile(y, [0.3, 0.6]))
    if task == "ordinal":
        return np.digitize(y, np.quantile(y, np.sort(rng.choice(np.arange(1, 10), 2, replace=False)) / 10))
    return y


def estimator(task: str, constraints: list[Shape], **chosen: Any) -> Any:
    """Return an estimator of a task, unfitted."""
    if task == "quantiles":
        return SpectralQuantileRegressor((0.1, 0.4, 0.9), constraints=constraints, **chosen)
    kind = {"two classes": SpectralClassifier, "classes": SpectralClassifier, "ordinal": SpectralOrdinalClassifier}
    if task in kind:
        return kind[task](constraints=constraints, **{**chosen, "dim": max(chosen.get("dim") or 3, 3)})
    return SpectralRegressor(task, constraints=constraints, **chosen)


def fitted(rng: Rng, first: str | None = None, task: str | None = None, rows: int = 60, **chosen: Any) -> Fitted:
    """Return a model with a random combination of shapes, one of the class ``first`` among them if any task takes it.

    What is refused is drawn again without the shape that came last, or as another task if it is alone.
    """
    refusals: Counter[str] = Counter()
    while True:
        own = str(rng.choice(TASKS)) if task is None else task
        X, y = shaped_table(rng, rows)
        goal = target(rng, own, y)
        shapes = random_shapes(Source(rng, X, np.asarray(goal, float)), first)
        while shapes:
            model = estimator(own, shapes, **settings(rng) | chosen)
            offset = {"offset": rng.normal(0, 0.1, rows)} if own in LOSSES and rng.random() < 0.2 else {}
            try:
                return Fitted(model.fit(X, goal, **offset), X, own, shapes, refusals)
            except (ValueError, TypeError) as error:
                if not any(word in str(error) for word in _REFUSED):
                    raise
                refusals[_reason(error)] += 1
                shapes = shapes[:-1]


def _reason(error: Exception) -> str:
    """A refusal in short: its first words, without what is about one model."""
    text = str(error)
    if "contradict" in text:
        return "contradict each other"
    return re.sub(r"'[^']*'|\[[^\]]*\]|[-\d.e]*\d|\([^()]*\)", "…", text)[:110]
