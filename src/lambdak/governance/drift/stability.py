"""How two samples differ: the population stability index of their bands, and what moved the mean.

PSI = Σ_b (q_b − p_b) ln(q_b / p_b).

p and q are shares of the old and of the new sample. A share of zero counts as half a row of its sample, so that PSI is
finite; a band without a row in either sample does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.model import Model
from lambdak.model.readout import Readout, readouts, slots_of
from lambdak.table.design import Design

LITTLE, LARGE = 0.1, 0.25  # the usual reading
_HALF = 0.5  # rows that stand for none
_SURE = 0.95


def stability_index(old: Float64Array, new: Float64Array, old_rows: float, new_rows: float) -> float:
    """PSI of masses in bands; ``old_rows`` and ``new_rows`` say what half a row is.

    >>> round(stability_index(np.array([50.0, 50.0]), np.array([40.0, 60.0]), 100, 100), 4)
    0.0405
    """
    seen = (old > 0) | (new > 0)
    p, q = (_shares(mass[seen], rows) for mass, rows in ((old, old_rows), (new, new_rows)))
    return float(np.sum((q - p) * np.log(q / p)))


def _shares(mass: Float64Array, rows: float) -> Float64Array:
    share = mass / mass.sum()
    return np.where(share > 0, share, _HALF / rows)


def by_chance(bands: int, old_rows: float, new_rows: float) -> float:
    """What PSI stays below in 95 of 100 pairs of samples of one population: χ² with bands − 1 degrees of freedom."""
    return float(chi2.ppf(_SURE, bands - 1)) * (1 / old_rows + 1 / new_rows) if bands > 1 else 0.0


def effective_rows(weight: Float64Array) -> float:
    """(Σ w)² / Σ w²: how many rows of equal weight tell as much."""
    scaled = weight / weight.max()
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def reading(psi: float) -> str:
    """What a PSI is usually taken for.

    >>> tuple(map(reading, (0.02, 0.2, 0.3)))
    ('little change', 'some change', 'large change')
    """
    return "little change" if psi < LITTLE else "some change" if psi <= LARGE else "large change"


_EVALUATED = 500_000  # rows of all columns together
_FEWEST, _MOST = 200, 10_000  # rows of a column


def sample_size(columns: int) -> int:
    """Rows that shifts are computed on."""
    return int(np.clip(_EVALUATED // max(columns, 1), _FEWEST, _MOST))


def spread_rows(weight: Float64Array, most: int, seed: int) -> NDArray[np.intp]:
    """At most ``most`` rows in proportion to their weight, evenly spread over the table; some may repeat."""
    sums = np.cumsum(weight)
    if len(weight) <= most and (weight == weight[0]).all():
        return np.arange(len(weight))
    at = (np.arange(most) + np.random.default_rng(seed).random()) / most
    return np.asarray(np.minimum(np.searchsorted(sums, at * sums[-1], side="right"), len(weight) - 1))


def mean_shifts(
    model: Model, old: Design, new: Design, predicted: Callable[[Any], Float64Array], seed: int
) -> Float64Array:
    """The shift of each column, (columns,), in units of the prediction; ``predicted`` makes it of raw scores."""
    outputs = readouts(model)
    packed = [readout.packed(old) for readout in outputs]
    places = np.random.default_rng(seed).permutation((np.arange(len(old)) + 0.5) / len(old))
    shifts = np.zeros(len(model.encoder.columns))
    for i, slots in enumerate(slots_of(model.encoder.columns)):
        first, second = (_part(design, slots, places) for design in (old, new))
        moved = np.flatnonzero((first.ids != second.ids).any(axis=1) | (first.weights != second.weights).any(axis=1))
        if moved.size:
            replaced = Design(old.ids[moved][:, list(slots)], old.weights[moved][:, list(slots)])
            rest = [part[:, moved] - _matrices(each, replaced) for part, each in zip(packed, outputs, strict=True)]
            before, after = (predicted(_raw(model, outputs, rest, each.take(moved))) for each in (first, second))
            shifts[i] = float((after - before).sum()) / len(old)
    return shifts


def _part(design: Design, slots: range, places: Float64Array) -> Design:
    """One column of a design at these places of its order: Σ id · weight grows along a column, missing cells last."""
    ids, weights = design.ids[:, list(slots)], design.weights[:, list(slots)]
    order = np.argsort((ids * weights).sum(axis=1), kind="stable")
    rows = order[(places * len(order)).astype(np.intp)]
    return Design(ids[rows], weights[rows])


def _matrices(readout: Readout, column_rows: Design) -> Float64Array:
    """(members, rows, D): what one column adds."""
    return sum(
        (
            column_rows.weights[:, slot, None] * readout.coef[:, column_rows.ids[:, slot]]
            for slot in range(column_rows.ids.shape[1])
        ),
        np.zeros((len(readout.coef), len(column_rows), readout.coef.shape[-1])),
    )


def _raw(model: Model, outputs: tuple[Readout, ...], rest: list[Float64Array], column_rows: Design) -> Float64Array:
    """Raw scores as the model gives them, (rows,) or (rows, outputs)."""
    scores = [
        each.start + each.over_members(eigenvalue(part + _matrices(each, column_rows), each.dim, each.index))
        for each, part in zip(outputs, rest, strict=True)
    ]
    return scores[0] if model.outputs.single else np.column_stack(scores)
