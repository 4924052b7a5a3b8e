"""The best tables: parameters θ of g = Z θ closest to the model over some rows, which rise where the model does.

Closest in the deviance that belongs to the link (squares, Poisson's, logistic), whose minimum has a meaning of its own:
in every row of the table of a column they predict the total of the model, Σ w μ(g) = Σ w μ(f). Newton's method, each
step by conjugate gradients on Zᵀ W Z, with W the slopes of μ, or their means between g and f where these are larger: a
row where the tables say 0 or 1 and the model does not would have no weight, and a step no end. What no row of the
user's table belongs to stays where it starts. Parameters of pairs are drawn to where they start as if some rows had
said so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg
from scipy.special import expit
from sklearn.isotonic import isotonic_regression

from lambdak._types import Float64Array
from lambdak.governance.tables.layout import Coded, Layout, Pair
from lambdak.losses import Link
from lambdak.losses.links import IDENTITY, LOG

_ROUNDS = 50  # of projections in turn
_FLOOR = 1e-6  # of the mean weight: what a row of a table counts that no row of the user's belongs to
_STEP = 1e-12  # of the largest number in a table: by which rows of a pair rise at least, so that no rounding undoes it


def rising_tables(layout: Layout, values: Float64Array, weight: Float64Array, signs: Mapping[int, int]) -> Float64Array:
    """The parameters with every column of ``signs`` rising (1) or falling (−1); ``weight`` is what each counts."""
    found = values.copy()
    tables, weights = layout.tables(found), layout.tables(weight + _FLOOR * weight.mean() + 1e-300)
    for i, sign in signs.items():
        tables[i][...] = _along(tables[i], weights[i], sign, len_ordered(layout, i))
    for p, pair in enumerate(layout.pairs, len(layout.factors)):
        if signs.keys() & set(pair):
            tables[p][...] = _rising_pair(layout, tables, weights[p], p, pair, signs)
    return found


def len_ordered(layout: Layout, column: int) -> int:
    """How many rows of a column's table follow one another."""
    return layout.factors[column].n_ordered


def _along(values: Float64Array, weight: Float64Array, sign: int, ordered: int) -> Float64Array:
    """The closest table (n,) or (n, m) whose first ``ordered`` rows rise with this sign; others stay."""
    found = values.copy()
    flat, heavy = found[:ordered].reshape(ordered, -1), weight[:ordered].reshape(ordered, -1)
    for column in range(flat.shape[1]):
        flat[:, column] = isotonic_regression(flat[:, column], sample_weight=heavy[:, column], increasing=sign > 0)
    found[:ordered] = flat.reshape(found[:ordered].shape)
    return found


def _rising_pair(
    layout: Layout, tables: list[Float64Array], weight: Float64Array, p: int, pair: Pair, signs: Mapping[int, int]
) -> Float64Array:
    """The table of a pair, such that it rises together with its shares of the tables of both columns."""
    shares = [tables[i] / (len(layout.owner(i)) - 1) for i in pair]
    both = shares[0][:, None] + shares[1][None, :]
    sides = [(side, signs[i], len_ordered(layout, i)) for side, i in enumerate(pair) if i in signs]
    total = _dykstra(tables[p] + both, weight, sides)
    for side, sign, ordered in sides:  # rounding, and what is left of Dykstra's rounds
        step = _STEP * float(np.abs(total).max() + np.abs(both).max())
        turned = total if side == 0 else total.T
        lead = np.maximum.accumulate(sign * turned[:ordered], axis=0)
        turned[:ordered] = sign * (lead + step * np.arange(ordered)[:, None])
    return np.asarray(total - both)


def _dykstra(values: Float64Array, weight: Float64Array, sides: list[tuple[int, int, int]]) -> Float64Array:
    """The closest table that rises along each of these sides, (side, sign, ordered rows)."""
    total, left = values.copy(), [np.zeros(values.shape) for _ in sides]
    for _ in range(_ROUNDS if len(sides) > 1 else 1):
        for k, (side, sign, ordered) in enumerate(sides):
            tried = total + left[k]
            total = _along(tried, weight, sign, ordered) if side == 0 else _along(tried.T, weight.T, sign, ordered).T
            left[k] = tried - total
    return np.array(total)


def first_fall(layout: Layout, values: Float64Array, signs: Mapping[int, int]) -> int | None:
    """A column of ``signs`` whose tables do not rise together, whatever the other cells are; None if there is none."""
    tables = layout.tables(values)
    for i, sign in signs.items():
        ordered = len_ordered(layout, i)
        least = np.diff(sign * tables[i][:ordered])
        if (least < 0).any():
            return i
        for t in layout.owner(i)[1:]:
            turned = tables[t] if layout.pairs[t - len(layout.factors)][0] == i else tables[t].T
            least = least + np.diff(sign * turned[:ordered], axis=0).min(axis=1)
        if (least < 0).any():
            return i
    return None


_STEPS = 300  # a score that is far too high falls by one a step under a log link
_CLOSE = 1e-8  # of what the model predicts in total: how far that of any row of a table may be off
_HALVINGS = 30
_CREDIBLE = 20.0  # rows: a cell of a pair with as many goes half of the way
_SLOW = 0.3  # of the gradient before: what a step may leave, or second derivatives are computed again
_APART = 1e-6  # raw scores whose predictions are told apart well enough for a quotient
_MOST_ROUNDS = 500  # of conjugate gradients


@final
@dataclass(frozen=True, eq=False)
class Target:
    """Raw scores of a model at some rows, about ``center`` and in units of ``unit``, and what each row counts for."""

    raw: Float64Array
    weight: Float64Array
    link: Link
    center: float
    unit: float

    @classmethod
    def of(cls, raw: Float64Array, weight: Float64Array, link: Link, unit: float) -> Target:
        """In units in which nothing overflows."""
        share = weight / weight.max()
        share = share / share.sum()
        scale = 1.0 if link is not IDENTITY else unit
        center = 0.0 if link not in (IDENTITY, LOG) else float(share @ (raw / scale)) * scale
        return cls((raw - center) / scale, share, link, center, scale)

    def means(self, raw: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Predictions and their derivatives."""
        if self.link is IDENTITY:
            return raw, np.ones_like(raw)
        if self.link is LOG:
            mean = np.exp(np.clip(raw, -700.0, 700.0))
            return mean, mean
        return expit(raw), expit(raw) * expit(-raw)

    def slopes(self, raw: Float64Array) -> Float64Array:
        """The derivatives of the predictions, or their means between these raw scores and the model's if larger."""
        mean, slope = self.means(raw)
        apart = raw - self.raw
        far = np.abs(apart) > _APART
        between = np.divide(mean - self.means(self.raw)[0], apart, out=np.zeros_like(raw), where=far)
        return np.maximum(slope, between)

    def loss(self, raw: Float64Array) -> float:
        """Σ w (cumulant(g) − μ(f) g), whose derivative is Σ w (μ(g) − μ(f))."""
        mean = self.means(self.raw)[0]
        if self.link is IDENTITY:
            return float(self.weight @ (0.5 * (raw - self.raw) ** 2))
        total = np.exp(np.clip(raw, -700.0, 700.0)) if self.link is LOG else np.logaddexp(0.0, raw)
        return float(self.weight @ (total - mean * raw))


def best_tables(
    layout: Layout, coded: Coded, target: Target, start: Float64Array, signs: Mapping[int, int]
) -> Float64Array:
    """The parameters (size,), in units of the raw score; columns with a sign rise (1) or fall (−1)."""
    ridge = np.zeros(layout.size)
    for pair_slice in layout.slices[len(layout.factors) :]:
        ridge[pair_slice] = _CREDIBLE / len(coded)
    begin = start / target.unit
    begin[0] -= target.center / target.unit
    search = _Search(layout.matrix(coded), target, begin, ridge)
    found = _beside(layout, begin, search.run(begin, np.ones(layout.size, bool)), search.weights(begin))
    if signs:
        found = rising_tables(layout, found, search.weights(found), signs)
        free = np.ones(layout.size, bool)
        for table in {table for column in signs for table in layout.owner(column)}:
            free[layout.slices[table]] = False
        found = search.run(found, free)
    found = found * target.unit
    found[0] += target.center
    return np.asarray(found)


def _beside(layout: Layout, start: Float64Array, found: Float64Array, weight: Float64Array) -> Float64Array:
    """Parameters whose table rows without a user's row are as far from the others of their table as they started."""
    for first, table, heavy in zip(*map(layout.tables, (start, found, weight)), strict=True):
        if table.ndim == 1 and heavy.any():
            table[heavy == 0] += np.average(table - first, weights=heavy)
    return found


@final
class _Search:
    """Newton's method; its second derivatives are kept as long as they lead to the minimum fast enough."""

    def __init__(self, Z: Any, target: Target, start: Float64Array, ridge: Float64Array) -> None:
        self._Z, self._target, self._start, self._ridge = Z, target, start, ridge
        self._wanted = target.weight * target.means(target.raw)[0]
        self._enough = _CLOSE * (float(np.abs(self._wanted).sum()) or 1.0)
        self._curvature: Any = None

    def weights(self, theta: Float64Array) -> Float64Array:
        """What each parameter counts, (size,): beyond the knots of a line one of two has a weight below zero in Z."""
        return np.asarray(abs(self._Z).T @ (self._target.weight * self._target.means(self._Z @ theta)[1]))

    def run(self, theta: Float64Array, free: NDArray[np.bool_]) -> Float64Array:
        """Minimise the loss over the free parameters."""
        before = np.inf
        for _ in range(_STEPS):
            gradient = np.where(free, self._gradient(theta), 0.0)
            size = float(np.abs(gradient).max())
            if size <= self._enough:
                break
            if self._curvature is None or size > _SLOW * before:
                self._curve_(theta)
            before = size
            theta = self._moved(theta, self._step(gradient, free))
        return theta

    def _gradient(self, theta: Float64Array) -> Float64Array:
        mean = self._target.means(self._Z @ theta)[0]
        return np.asarray(self._Z.T @ (self._wanted - self._target.weight * mean) - self._ridge * (theta - self._start))

    def _curve_(self, theta: Float64Array) -> None:
        """Zᵀ W Z + ridge."""
        weighted = sparse.diags_array(self._target.weight * self._target.slopes(self._Z @ theta)) @ self._Z
        self._curvature = (self._Z.T @ weighted + sparse.diags_array(self._ridge)).tocsr()

    def _step(self, gradient: Float64Array, free: NDArray[np.bool_]) -> Float64Array:
        """The solution of (Zᵀ W Z + ridge) step = gradient over what is free, and nothing elsewhere."""
        curvature = self._curvature[free][:, free]
        diagonal = curvature.diagonal()
        inverse = sparse.diags_array(1.0 / np.where(diagonal > 0, diagonal, 1.0))
        step = np.zeros(len(free))
        step[free], _ = cg(curvature, gradient[free], rtol=1e-8, maxiter=_MOST_ROUNDS, M=inverse)
        return step

    def _moved(self, theta: Float64Array, step: Float64Array) -> Float64Array:
        """A step that lowers the loss: the whole one, or a half, a quarter, … of it."""
        now, share = self._loss(theta), 1.0
        for _ in range(_HALVINGS):
            tried = theta + share * step
            if self._loss(tried) <= now:
                return tried
            share /= 2
        return theta

    def _loss(self, theta: Float64Array) -> float:
        return self._target.loss(self._Z @ theta) + 0.5 * float(self._ridge @ (theta - self._start) ** 2)
