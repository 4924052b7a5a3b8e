"""What is known of the target of training beside the model: its name, how it is written, and the average prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from lambdak._types import FloatArray
from lambdak.losses import LOG
from lambdak.model.model import Model
from lambdak.table.design import Design

MOST_DECIMALS = 4  # of a target that people round; of others nothing is known
_MOST_ROWS = 100_000  # that predictions are averaged over


@final
@dataclass(frozen=True)
class KnownTarget:
    """Name, decimals and mean predictions of the target in training, for the words of explanations.

    Attributes
    ----------
    name : str or None
        Its column in the training table.
    decimals : int or None
        Those that it is written with.
    average : tuple of float, or None
        The mean prediction of each output over the training rows; of a log link per unit of exposure.
    """

    name: str | None = None
    decimals: int | None = None
    average: tuple[float, ...] | None = None


def decimals_of(y: ArrayLike) -> int | None:
    """With how many decimals a target is written; None if it is not rounded.

    >>> decimals_of([151.0, 75.0]), decimals_of([1.25, 3.5]), decimals_of([1 / 3])
    (0, 2, None)
    """
    values = np.asarray(y)
    if values.dtype.kind not in "fiub" or not values.size:
        return None
    numbers = values.astype(np.float64)
    for decimals in range(MOST_DECIMALS + 1):
        if np.allclose(numbers, np.round(numbers, decimals), rtol=1e-12, atol=0.0):
            return decimals
    return None


def average_prediction(
    model: Model, design: Design, weight: FloatArray | None, offset: FloatArray | None, threads: int = 0
) -> tuple[float, ...]:
    """The weighted mean prediction of each output, without offsets; of a log link, its total per unit of exposure.

    Of more than 100,000 rows, so many at random are used.
    """
    mass = np.ones(len(design)) if weight is None else weight.astype(np.float64)
    if offset is not None and model.loss.link is LOG:
        mass = mass * LOG.predictions(offset)
    counted = np.flatnonzero(mass)
    if len(counted) > _MOST_ROWS:
        counted = np.sort(np.random.default_rng(0).choice(counted, _MOST_ROWS, replace=False))
    some = design.take(counted)
    raw = model.scores(Design(some.ids, some.weights.astype(np.float64)), None, threads).reshape(len(counted), -1)
    mean = mass[counted] @ model.loss.output_link.predictions(raw) / mass[counted].sum()
    return tuple(mean.tolist())
