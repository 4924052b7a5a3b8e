"""From the runs of a real study to the curves of the paper: validation chooses the rate, test data select nothing.

Runs of the phase "tuning" choose, fresh ones of the phase "evaluation" are reported. Results without phases, of earlier
versions and of the authors' evaluation, choose and report the same runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from lambdak.paper.real.protocol import Point
from lambdak.paper.synthetic.selection import quartiles


@dataclass(frozen=True)
class Tuned:
    """A model after some samples, at the rate with the lowest median validation loss: quartiles of its test loss."""

    model: str
    dim: int
    samples: int
    rate: float
    validation: float  # median
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Chosen:
    """The rate with the lowest median validation loss, and that loss."""

    rate: float
    validation: float


def tune(results: pa.Table) -> Iterator[Tuned]:
    """The curves of all models, in the order of their tuning; a run that diverged counts as infinitely bad."""
    reported = _losses(_phase(results, "evaluation"), "test")
    for point, best in choose(results).items():
        yield Tuned(*point, best.rate, best.validation, *quartiles(reported[point][best.rate]).tolist())


def choose(results: pa.Table) -> dict[Point, Chosen]:
    """The best rate of every model, dim and sample count, by the runs of the phase "tuning"."""
    return {point: _best(by_rate) for point, by_rate in _losses(_phase(results, "tuning"), "validation").items()}


def _best(by_rate: dict[float, NDArray[np.float64]]) -> Chosen:
    medians = {rate: float(np.median(losses)) for rate, losses in sorted(by_rate.items())}
    rate = min(medians, key=lambda each: medians[each])
    return Chosen(rate, medians[rate])


def _phase(results: pa.Table, name: str) -> pa.Table:
    if "phase" not in results.column_names:
        return results
    return results.filter(compute.equal(results["phase"], name))


def _losses(results: pa.Table, part: str) -> dict[Point, dict[float, NDArray[np.float64]]]:
    """Losses on the validation or test rows by model, dim and samples, and then by rate."""
    model, dim, samples, rate = (results[name].to_pylist() for name in ("model", "dim", "samples", "rate"))
    loss = np.nan_to_num(results[part].to_numpy(), nan=np.inf)
    places: dict[Point, dict[float, list[int]]] = {}
    for row, (point, each) in enumerate(zip(zip(model, dim, samples, strict=True), rate, strict=True)):
        places.setdefault(point, {}).setdefault(each, []).append(row)
    return {point: {each: loss[rows] for each, rows in rates.items()} for point, rates in places.items()}
