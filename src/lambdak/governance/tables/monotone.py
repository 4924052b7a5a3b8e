r"""Tables that rise where the model does: the closest ones in weighted squares.

A column of a pair rises if its share of its own table and the pair's together do, whatever the other cell: shares that
sum up to one table then rise together. Each such sum is projected along one column, or along both in turn (Dykstra).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.isotonic import isotonic_regression

from lambdak._types import Float64Array
from lambdak.governance.tables.layout import Layout, Pair

_ROUNDS = 50  # of projections in turn
_FLOOR = 1e-6  # of the mean weight: what a row of a table counts that no row of the user's belongs to
_STEP = 1e-12  # of the largest number in a table: by which rows of a pair rise at least, so that no rounding undoes it


def rising_tables(layout: Layout, values: Float64Array, weight: Float64Array, signs: Mapping[int, int]) -> Float64Array:
    """The parameters with every column of ``signs`` rising (1) or falling (−1); ``weight`` is what each counts."""
    found = values.copy()
    own, weights = layout.tables(found), layout.tables(weight + _FLOOR * weight.mean() + 1e-300)
    for i, sign in signs.items():
        own[i][...] = _along(own[i], weights[i], sign, len_ordered(layout, i))
    for p, pair in enumerate(layout.pairs, len(layout.factors)):
        if signs.keys() & set(pair):
            own[p][...] = _rising_pair(layout, own, weights[p], p, pair, signs)
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
    layout: Layout, own: list[Float64Array], weight: Float64Array, p: int, pair: Pair, signs: Mapping[int, int]
) -> Float64Array:
    """The table of a pair, such that it rises together with its shares of the tables of both columns."""
    shares = [own[i] / (len(layout.owner(i)) - 1) for i in pair]
    both = shares[0][:, None] + shares[1][None, :]
    sides = [(side, signs[i], len_ordered(layout, i)) for side, i in enumerate(pair) if i in signs]
    total = _dykstra(own[p] + both, weight, sides)
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
