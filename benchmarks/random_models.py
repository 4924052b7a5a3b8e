"""Random small models of all kinds, honest ones: fitted to random tables, or with random matrices that keep promises.

Everything follows from a NumPy generator, so that a model is found again by its seed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from random_shapes import fitted

from lambdak import (
    SpectralClassifier,
    SpectralOrdinalClassifier,
    SpectralQuantileRegressor,
    SpectralRegressor,
    SpectralSurvival,
)  # fmt: skip
from lambdak.certify import certify
from lambdak.eigen.packing import padded_size, unsym
from lambdak.model import Model, Promises
from lambdak.model.influence import strengths
from lambdak.model.widening import widen_
from lambdak.shapes import Falling, MaxInfluence, Rising, Shape
from lambdak.shapes.registry import SHAPES
from lambdak.shapes.spreads import spreads
from lambdak.store import SavedModel
from lambdak.store._header import _header
from lambdak.store._tensors import digest, to_bytes
from lambdak.table.curve_column import level_column
from lambdak.table.encoder import TableEncoder

Rng = np.random.Generator

LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")
MOST_DIM = 31
_SMALL_DIMS = 7  # most models are at most this large: integers take long for others


def random_dim(rng: Rng) -> int:
    """1 to 31, most of them small."""
    if rng.random() < 0.8:
        return int(rng.integers(1, _SMALL_DIMS + 1))
    return int(_SMALL_DIMS + np.ceil((MOST_DIM - _SMALL_DIMS) * rng.random() ** 2))


def random_table(rng: Rng, rows: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """A number, a number with gaps, a number with few values, a category with gaps and pooled levels; and a target."""
    table = pd.DataFrame({
        "income": rng.gamma(2.0, 10.0 ** rng.integers(-6, 7), rows),
        "age": np.where(rng.random(rows) < 0.2, np.nan, rng.normal(50, 10, rows)),
        "steps": rng.integers(0, rng.integers(2, 6), rows).astype(float),
        "region": rng.choice(["north", "south", "rare", None], rows, p=[0.5, 0.28, 0.02, 0.2]).astype(object),
    })  # fmt: skip
    rank = table["income"].rank().to_numpy() / rows
    return table, rank + 0.3 * (table["region"] == "north").to_numpy() + rng.normal(0, 0.2, rows)


def settings(rng: Rng, dim: int) -> dict[str, Any]:
    """Small settings; large matrices are few."""
    few = dim > _SMALL_DIMS
    return {
        "effort": "fast",
        "dim": dim,
        "max_iter": int(rng.integers(1, 4)),
        "n_estimators": 1 if few else int(rng.integers(1, 4)),
        "n_knots": int(rng.choice([0, 2, 3] if few else [0, 2, 3, 4, 6])) if rng.random() < 0.8 else "auto",
        "random_state": int(rng.integers(2**31)),
        "n_jobs": 1,
    }


def signs(rng: Rng) -> dict[str, int]:
    """Monotone columns, at least one."""
    found = {name: int(rng.choice([-1, 0, 1])) for name in ("income", "age", "steps")}
    return {"income": 1} if not any(found.values()) else {name: sign for name, sign in found.items() if sign}


def caps(rng: Rng) -> dict[str, float]:
    """Caps on two columns."""
    chosen = rng.choice(["income", "age", "steps", "region"], 2, replace=False)
    return {str(name): float(10.0 ** rng.uniform(-2, 1)) for name in chosen}


def _regressor(rng: Rng, dim: int, **own: Any) -> Any:
    X, y = random_table(rng)
    loss = str(rng.choice(LOSSES))
    target = np.exp(y) if loss in ("gamma", "tweedie", "poisson") else 10.0 ** rng.integers(-5, 6) * y
    return SpectralRegressor(loss, quantile=float(rng.uniform(0.1, 0.9)), **settings(rng, dim), **own).fit(X, target)


def _quantiles(rng: Rng, dim: int, **own: Any) -> Any:
    X, y = random_table(rng)
    levels = np.sort(rng.choice(np.arange(1, 20), rng.integers(2, 5), replace=False)) / 20
    return SpectralQuantileRegressor(tuple(levels.tolist()), **settings(rng, dim), **own).fit(X, y)


def _binary(rng: Rng, dim: int, **own: Any) -> Any:
    X, y = random_table(rng)
    return SpectralClassifier(**settings(rng, dim), **own).fit(X, y > np.median(y))


def _classes(rng: Rng, dim: int, **own: Any) -> Any:
    X, y = random_table(rng)
    return SpectralClassifier(**settings(rng, dim), **own).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))


def _ordinal(rng: Rng, dim: int, **own: Any) -> Any:
    X, y = random_table(rng)
    cuts = np.sort(rng.choice(np.arange(1, 10), min(dim, int(rng.integers(1, 5))), replace=False)) / 10
    return SpectralOrdinalClassifier(**settings(rng, dim), **own).fit(X, np.digitize(y, np.quantile(y, cuts)))


def _times(rng: Rng, dim: int, **own: Any) -> Any:
    X, y = random_table(rng)
    time, seen = 10.0 ** rng.integers(-5, 6) * np.exp(y), rng.random(len(y)) < rng.uniform(0.1, 1.0)
    seen[0] = True
    chosen = {"link": str(rng.choice(["cloglog", "logit"])), "n_time_knots": int(rng.integers(2, 6))}
    return SpectralSurvival(**chosen, **settings(rng, dim), **own).fit(X, (time, seen))


FITTED: dict[str, Callable[[Rng, int], Any]] = {
    "regressor, free": _regressor,
    "regressor, monotone": lambda rng, dim: _regressor(rng, dim, monotonic_cst=signs(rng)),
    "regressor, capped": lambda rng, dim: _regressor(rng, dim, max_influence=caps(rng)),
    "regressor, monotone and capped": lambda rng, dim: _regressor(
        rng, dim, monotonic_cst=signs(rng), max_influence=caps(rng)
    ),
    "regressor, convex": lambda rng, dim: _regressor(rng, dim, shape="convex"),
    "regressor, concave and monotone": lambda rng, dim: _regressor(rng, dim, shape="concave", monotonic_cst=signs(rng)),
    "regressor, convex and capped": lambda rng, dim: _regressor(rng, dim, shape="convex", max_influence=caps(rng)),
    "quantiles, monotone": lambda rng, dim: _quantiles(rng, dim, monotonic_cst=signs(rng)),
    "quantiles, capped": lambda rng, dim: _quantiles(rng, dim, max_influence=caps(rng)),
    "two classes, monotone": lambda rng, dim: _binary(rng, dim, monotonic_cst=signs(rng)),
    "three classes, capped": lambda rng, dim: _classes(rng, dim, max_influence=caps(rng)),
    "ordered classes, monotone": lambda rng, dim: _ordinal(rng, dim, monotonic_cst=signs(rng)),
    "ordered classes, capped": lambda rng, dim: _ordinal(rng, dim, max_influence=caps(rng)),
    "times, free": _times,
    "times, monotone": lambda rng, dim: _times(rng, dim, monotonic_cst=signs(rng)),
    "times, capped": lambda rng, dim: _times(rng, dim, max_influence=caps(rng)),
}

SHAPED: dict[str, Callable[[Rng], Any]] = {  # combinations of shapes of all kinds, one class in each of them for sure
    f"with {name}": partial(fitted, first=name) for name in SHAPES
}
KINDS = (*FITTED, *SHAPED)
GENERATED = (  # shapes that hold whatever the generators, or that limits are fitted to afterwards
    "Rising", "Falling", "Convex", "Concave", "Valley", "Peak", "Dominates", "RisingAlong", "MaxInfluence", "MaxSlope",
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """A model, the parameters that say what was requested of it, and how it was made."""

    kind: str
    model: Model
    parameters: dict[str, Any]

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and tensors of its file, which nobody has checked."""
        header = _header(SavedModel(self.model, self.parameters, 1))
        tensors = {
            "coef": np.ascontiguousarray(self.model.matrices, self.model.stored_dtype),
            "start": np.asarray(self.model.start, np.float64),
            "weights": np.asarray(self.model.weights, np.float64),
        }
        return header, tensors

    def file(self) -> bytes:
        """Its file, with a checksum that fits."""
        header, tensors = self.parts()
        return to_bytes({**header, "sha256": digest(header, tensors)}, tensors)


def random_subject(rng: Rng, kind: str | None = None) -> Subject:
    """An honest model: as it was fitted, or with random matrices in place of the fitted ones."""
    name = str(rng.choice(list(FITTED))) if kind is None else kind
    if name in SHAPED:
        return _shaped_subject(rng, name)
    estimator = FITTED[name](rng, random_dim(rng))
    fitted = Subject(name, estimator.model_, deepcopy(estimator._parameters))
    return fitted if rng.random() < 0.5 else with_random_matrices(rng, fitted)


def _shaped_subject(rng: Rng, name: str) -> Subject:
    estimator = SHAPED[name](rng).model
    own, way = Subject(name, estimator.model_, deepcopy(estimator._parameters)), rng.random()
    if way < 0.5:
        return own
    return with_random_matrices(rng, own) if way < 0.8 else recapped(rng, own)


# ---- random matrices ---------------------------------------------------------------------------------------------


def with_random_matrices(rng: Rng, subject: Subject) -> Subject:
    """The same with matrices of any size that keep the promises, to rounding; these are then widened."""
    model = subject.model
    shaped = subject.parameters.get("constraints") is not None
    coef = _generated_coef(rng, model) if shaped else _random_coef(rng, model)
    if rng.random() < 0.5:
        coef = coef.astype(np.float32).astype(np.float64)
    before = coef.copy()
    try:
        widen_(coef, model.encoder, model.promises, model.loss, model.outputs)
    except ValueError:  # knots too close for random slopes: steps of zero need no widening
        coef = np.zeros_like(before)
    other = model.replace(coef=_padded(coef, model.dim))
    if rng.random() < 0.5:
        weights = rng.dirichlet(np.ones(len(model.weights)))
        other = other.replace(weights=weights / weights.sum(), scale=float(10.0 ** rng.uniform(-3, 3)))
    return recapped(rng, Subject(f"{subject.kind}, random", other, subject.parameters))


def recapped(rng: Rng, subject: Subject) -> Subject:
    """The same with caps and limits that its matrices keep: just so, or easily."""
    promises = subject.model.promises
    found = strengths(subject.model) if promises.capped else []
    room = float(rng.choice([1.0, 1 + 1e-12, 1.5]))
    new = {i: float(max(found[i] * room, 1e-300)) for i in promises.capped}
    return relimited(requested(subject, caps=new) if new else subject, room)


def relimited(subject: Subject, room: float) -> Subject:
    """The same with limits of slopes that are so much larger than what is certified."""
    old = subject.model.promises.shapes
    values = [claim.value for claim in certify(subject.model).claims if claim.requested and claim.kind == "slope"]
    limits = iter(values)
    new = [replace(own, limit=float(next(limits) * room)) if hasattr(own, "limit") else own for own in old]
    return with_shapes(subject, new) if values else subject


def requested(subject: Subject, signs: dict[int, int] | None = None, caps: dict[int, float] | None = None) -> Subject:
    """The same with other constraints on these columns, in its model and in its parameters."""
    signs, caps = signs or {}, caps or {}
    if subject.parameters.get("constraints") is None:
        return _by_shorthands(subject, signs, caps)
    kept = [own for own in subject.model.promises.shapes if not _replaced(own, signs, caps)]
    directions = [Rising(i) if sign > 0 else Falling(i) for i, sign in signs.items() if sign]
    return with_shapes(subject, [*kept, *directions, *(MaxInfluence(i, cap) for i, cap in caps.items())])


def _replaced(own: Shape, signs: dict[int, int], caps: dict[int, float]) -> bool:
    alone = own.positions[0] if len(own.positions) == 1 else -1
    return (isinstance(own, Rising | Falling) and alone in signs) or (isinstance(own, MaxInfluence) and alone in caps)


def _by_shorthands(subject: Subject, signs: dict[int, int], caps: dict[int, float]) -> Subject:
    old = subject.model.promises
    new_signs = [signs.get(i, sign) for i, sign in enumerate(old.signs)]
    new_caps = [caps.get(i, cap) for i, cap in enumerate(old.caps)]
    capped = {i: cap for i, cap in enumerate(new_caps) if cap < np.inf}
    given = ({i: sign for i, sign in enumerate(new_signs) if sign}, capped, old.shape)
    promises = Promises.requested(subject.model.encoder.columns, *given)
    spelled = {"monotonic_cst": new_signs} if signs else {}
    spelled |= {"max_influence": new_caps} if caps else {}
    return Subject(subject.kind, subject.model.replace(promises=promises), subject.parameters | spelled)


def with_shapes(subject: Subject, shapes: list[Shape]) -> Subject:
    """The same with other promises, in its model and in its parameters; ValueError if they contradict each other."""
    columns = subject.model.encoder.columns
    names = [column.name for column in columns]
    named = [own.named(names) for own in shapes]
    promises = Promises.requested(columns, constraints=named)
    shorthands = dict.fromkeys(("monotonic_cst", "max_influence", "shape", "interaction_cst"))
    parameters = subject.parameters | shorthands | {"constraints": named}
    encoder = _straightened(subject.model.encoder, promises.shapes)
    loss = promises.limited(subject.model.loss.within(-np.inf, np.inf))
    return Subject(subject.kind, subject.model.replace(promises=promises, encoder=encoder, loss=loss), parameters)


def _straightened(encoder: TableEncoder, shapes: Sequence[Shape]) -> TableEncoder:
    """The columns that these shapes need straight are that, and no others: as a file is read."""
    everywhere = any(own.straight and not own.keys for own in shapes)
    straight = {i for own in shapes if own.straight for i in own.positions}
    columns = tuple(
        replace(column, clamp=not (everywhere or i in straight)) if column.is_number else column
        for i, column in enumerate(encoder.columns)
    )
    return replace(encoder, clamp=not everywhere, columns=columns)


def _padded(matrices: np.ndarray, dim: int) -> np.ndarray:
    coef = np.zeros((*matrices.shape[:2], padded_size(dim)))
    coef[..., : matrices.shape[2]] = matrices
    return coef


def _random_coef(rng: Rng, model: Model) -> np.ndarray:
    """(pencils, design columns, D): the constant and categories are free, steps and bends are semidefinite."""
    pencils, design, _ = model.matrices.shape
    dim, size = model.dim, 10.0 ** rng.uniform(-8, 5)
    coef = size * np.stack([_symmetric(rng, dim, design) for _ in range(pencils)])
    bend = {None: 0, "convex": 1, "concave": -1}[model.promises.shape]
    for column, sign in zip(model.encoder.columns, model.promises.signs, strict=True):
        if column.is_number and (sign or bend):
            _semidefinite_(rng, coef, column, model.loss.sign * sign, bend if column.n_ramps else 0, size)
    if model.outputs.levels:
        _semidefinite_(rng, coef, level_column(model.outputs.levels, model.encoder.n_design), 1, 0, size)
    return coef


def _generated_coef(rng: Rng, model: Model) -> np.ndarray:
    """As it was fitted in another size, or where generators are all that its shapes ask for, random ones."""
    size = 10.0 ** rng.uniform(-8, 5)
    if any(type(own).__name__ not in GENERATED for own in model.promises.shapes) or model.promises.scalar:
        return size * model.matrices.astype(np.float64)
    pencils, design, _ = model.matrices.shape
    coef = size * np.stack([_symmetric(rng, model.dim, design) for _ in range(pencils)])
    for own in spreads(model.promises.shapes, model.encoder.columns, model.loss.sign):
        generators = np.stack([_grams(rng, coef, own.size) for _ in range(pencils)])
        rows = coef[:, own.start : own.start + own.weights.shape[0]]
        rows[...] = size * np.einsum("ng,pgd->pnd", own.weights, generators)
        for i in own.owners:
            free, column = own.free(i), model.encoder.columns[i]
            extra = size * np.stack([_symmetric(rng, model.dim, free.shape[1]) for _ in range(pencils)])
            coef[:, column.start : column.start + free.shape[0]] += np.einsum("nf,pfd->pnd", free, extra)
    if model.outputs.levels:
        _semidefinite_(rng, coef, level_column(model.outputs.levels, model.encoder.n_design), 1, 0, size)
    return coef


def _semidefinite_(rng: Rng, coef: np.ndarray, column: Any, sign: int, bend: int, size: float) -> None:
    spread = column.hinged(sign * bend) if bend else column.rising()  # (numbers, additions)
    numbers = spread.shape[0]
    own = coef[:, column.start : column.start + numbers]
    straight = 0.0 if sign or not bend else np.linspace(0, 1, numbers)[:, None] * own[:, :1]
    if bend and not sign:
        knots = column.nodes()
        straight = ((knots - knots[0]) / np.ptp(knots))[:, None] * own[:, :1]
    steps = np.stack([_grams(rng, coef, spread.shape[1]) for _ in own])
    own[...] = straight + (bend or sign) * size * np.einsum("na,pad->pnd", spread, steps)


def _symmetric(rng: Rng, dim: int, count: int) -> np.ndarray:
    matrices = rng.normal(size=(count, dim, dim))
    return np.asarray(unsym(matrices))


def _grams(rng: Rng, coef: np.ndarray, count: int) -> np.ndarray:
    """Semidefinite matrices of any rank, zero included, and of very different sizes."""
    dim = int((np.sqrt(8 * coef.shape[2] + 1) - 1) / 2)
    found = np.zeros((count, dim, dim))
    for i in range(count):
        factor = rng.normal(size=(int(rng.integers(0, dim + 1)), dim))
        found[i] = 10.0 ** rng.integers(-9, 1) * factor.T @ factor
    return np.asarray(unsym(found))
