"""How much a model depends on its seed: it is fitted again with others, and asked about the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak.model.metrics import Metric, raw_metrics
from lambdak.model.rows import model_target
from lambdak.report.dossier.subject import Subject
from lambdak.table.rows import Rows

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Stability:
    """Fits with several seeds.

    Attributes
    ----------
    seeds : tuple of int
    metrics : tuple of lists of Metric
        Of each fit, on the same rows.
    spread : array of shape (rows,)
        Standard deviation of a row's raw score over the fits, the largest of its outputs.
    size : float
        Standard deviation of the raw scores over the rows, to compare the spread with.
    """

    seeds: tuple[int, ...]
    metrics: tuple[list[Metric], ...]
    spread: NDArray[np.float64]
    size: float


def stability(subject: Subject, training: Rows, rows: Rows, seeds: int, progress: Progress) -> Stability:
    """Fit with the seeds 1, 2, … and compare."""
    scores, found = [], []
    target = model_target(subject.model, rows)
    weight = None if rows.exposure is None and rows.weight is None else rows.mass
    for seed in range(1, seeds + 1):
        progress(f"stability: fit {seed} of {seeds}")
        model = subject.refit(seed, training)
        raw = np.asarray(model.raw(rows.X, rows.offset), np.float64)
        scores.append(raw.reshape(len(rows), -1))
        found.append(raw_metrics(model, target, raw, weight))
    stack = np.array(scores)  # (seeds, rows, outputs)
    size = float(stack.mean(axis=0).std(axis=0).max())
    return Stability(tuple(range(1, seeds + 1)), tuple(found), stack.std(axis=0, ddof=1).max(axis=1), size)
