r"""Population stability index of two samples in the same bands: PSI = Σ_b (q_b − p_b) ln(q_b / p_b).

p and q are shares of the old and of the new sample. A share of zero counts as half a row of its sample, so that PSI is
finite; a band without a row in either sample does not count.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from lambdak._types import Float64Array

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
