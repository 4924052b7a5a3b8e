"""From the runs of a real study to the curves of the paper: validation chooses the rate, test data select nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

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


def tune(results: pa.Table) -> Iterator[Tuned]:
    """The curves of all models, in the order of the table; a run that diverged counts as infinitely bad."""
    columns = {name: results[name].to_numpy() for name in ("dim", "samples", "rate")}
    losses = {name: np.nan_to_num(results[name].to_numpy(), nan=np.inf) for name in ("validation", "test")}
    model = np.asarray(results["model"].to_pylist())
    keys = dict.fromkeys(zip(model.tolist(), columns["dim"].tolist(), columns["samples"].tolist(), strict=True))
    for name, dim, samples in keys:
        here = (model == name) & (columns["dim"] == dim) & (columns["samples"] == samples)
        rates = np.unique(columns["rate"][here])
        of_rate = [here & (columns["rate"] == rate) for rate in rates]
        medians = [float(np.median(losses["validation"][some])) for some in of_rate]
        best = int(np.argmin(medians))
        low, median, high = quartiles(losses["test"][of_rate[best]]).tolist()
        yield Tuned(name, dim, samples, float(rates[best]), medians[best], low, median, high)
