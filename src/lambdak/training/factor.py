"""The factor of all matrices, from rows that members have not trained on: less than 1 where they say too much.

A positive factor keeps every promise but caps and limits of slopes. A mean of classifiers is less certain than they
are, so that their log-odds may become larger.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lambdak.losses import IDENTITY
from lambdak.training.draft import Draft
from lambdak.training.trainer import Trainer

_PER_UNIT = 20  # factors that are tried between zero and one, and as many in each unit above; no study of its own
# Of all matrices of a classifier, whose log-odds the mean over members makes too small: the best factors on rows that
# are not trained on were .85 to 1.65 (benchmarks/recipe.py, docs/decisions.md).
_LARGEST = 2.5
# Of a factor of one over zero, and over two, in units of log-likelihood: both weak beside the sum over all unseen rows.
# On thirteen tables of 400 rows, of 0 to 20 above one, 5 to 20 were best (docs/decisions.md).
_PREFERENCE = (1.0, 10.0)
# Of the rarest class, which could be anywhere: with two, one of three tables of noise in benchmarks/classes.py was 24 %
# above the base rate's log-loss.
_MORE_ROWS = 4
# Of the rarest class, with which the fear of more is halved: benchmarks/classes.py has tables of 4 and 20 positives.
_ENOUGH_ROWS = 20
_TINY = 1e-30  # below every loss in float32: keeps a division by zero away


def factor_of(trainer: Trainer, draft: Draft) -> float:
    """Return what unseen rows say that all matrices are to be multiplied by; 1 where outputs are kept in order."""
    return 1.0 if draft.outputs.levels else shrink_factor(trainer, largest_factor(draft))


def largest_factor(draft: Draft) -> float:
    """Return the most that all matrices may be multiplied by: above 1 only for log-odds that no cap bounds."""
    promises = draft.promises
    bounded = promises.capped or promises.groups or promises.slopes(draft.encoder.columns)
    return 1.0 if bounded or draft.outputs.levels or not draft.loss.n_classes else _LARGEST


def shrink_factor(trainer: Trainer, largest: float = 1.0) -> float:
    """What all matrices are multiplied by, in [0, largest]: less than 1 where what a model says is too much.

    A positive factor keeps every promise, and at zero a model is the best constant. The factor for single members is
    the most probable one under their loss on unseen rows, in units of log-likelihood, after a weak preference for 1, if
    up to four more rows of a rare class could be anywhere. Below 1 the mean of members needs less: it has the noise of
    √members independent ones, since all have seen almost the same rows. Above 1 it needs about the same: the mean is
    less certain than its members, and the refit makes these more certain.
    """
    if not trainer.n_unseen:
        return 1.0
    losses, loss = trainer.unseen_losses(), trainer.problem.loss
    unit = 2 * max(losses(1.0).mean(dtype=np.float64), _TINY) if loss.link is IDENTITY else 1.0
    rarest, more = 0.0, 0.0
    if loss.n_classes:
        classes, counts = np.unique(trainer.problem.y, return_counts=True)
        rarest, more = classes[counts.argmin()], _MORE_ROWS / (1 + counts.min() / _ENOUGH_ROWS)

    def cost(place: int) -> float:
        factor = place / _PER_UNIT
        preference = _PREFERENCE[factor > 1] * (1 - factor) ** 2
        rare = more and more * losses(factor, rarest).mean(dtype=np.float64)
        return float(trainer.n_unseen * losses(factor).mean(dtype=np.float64) / unit + preference + rare)

    best = _lowest(cost, round(_PER_UNIT * largest)) / _PER_UNIT
    return best if best == 0 or best >= 1 else float(1 / (1 + (1 / best - 1) / np.sqrt(trainer.members)))


def _lowest(cost: Callable[[int], float], last: int) -> int:
    """Return where a convex function of 0, 1, …, last is lowest: losses are convex in raw scores, so in a factor."""
    first = 0
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if cost(middle) <= cost(middle + 1) else (middle + 1, last)
    return first
