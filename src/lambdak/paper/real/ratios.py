r"""How much of the bound |f(x + δ e_i) − f(x)| ≤ |δ| ‖A_i‖₂ is used on rows: the ratio of the two sides.

One feature at a time is moved by noise that is uniform within half a standard deviation. Ratios are counted in bins,
apart for every feature and for every shell of |δ|. None exceeds one, but for rounding: all is computed in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenvalue
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.paper.data.rows import DenseBatch
from lambdak.pencil import Pencil

Counts = NDArray[np.int64]

NOISE = 0.5  # standard deviations; features are standardised
BINS = 100  # of the ratio, between zero and one
SHELLS = 16  # of |δ|, between zero and NOISE


@dataclass(frozen=True, eq=False)
class Ratios:
    """What was counted, per feature and shell. A change whose bound is zero has no ratio and is not counted."""

    counts: Counts  # (features, shells, bins)
    sums: Float64Array  # of the ratios, (features, shells)
    largest: Float64Array  # (features, shells)
    above: Counts  # ratios above one by more than rounding explains, (features, shells)

    @property
    def mean(self) -> float:
        """Mean of all ratios; NaN if there are none."""
        count = self.counts.sum()
        return float(self.sums.sum() / count) if count else np.nan

    @property
    def median(self) -> float:
        """Median of all ratios, as if they were uniform within a bin."""
        return histogram_median(self.counts.sum(axis=(0, 1)))

    def table(self, facts: dict[str, object]) -> pa.Table:
        """One row per feature and shell, with facts about the model in front."""
        features, shells, bins = self.counts.shape
        rows: dict[str, Any] = {name: [value] * (features * shells) for name, value in facts.items()}
        rows |= {"feature": np.repeat(np.arange(features), shells), "shell": np.tile(np.arange(shells), features)}
        rows["counts"] = pa.FixedSizeListArray.from_arrays(pa.array(self.counts.ravel()), bins)
        rows |= {name: getattr(self, name).ravel() for name in ("sums", "largest", "above")}
        return pa.table(rows)


@dataclass(frozen=True)
class Influence:
    """Summary of the ratios of all models of a dim together."""

    dim: int
    models: int
    ratios: int
    mean: float
    median: float
    largest: float
    above: int  # ratios above one by more than rounding explains


def by_dim(results: pa.Table) -> Iterator[Influence]:
    """What the tables of many models (see :meth:`Ratios.table`) come to, per dim."""
    for dim in compute.unique(results["dim"]).to_pylist():
        of_dim = results.filter(compute.equal(results["dim"], dim))
        found = read_ratios(of_dim)
        models = of_dim.group_by(["data_seed", "start_seed"]).aggregate([]).num_rows
        largest, above = float(found.largest.max()), int(found.above.sum())
        yield Influence(dim, models, int(found.counts.sum()), found.mean, found.median, largest, above)


def read_ratios(results: pa.Table) -> Ratios:
    """The ratios of all models of a table together."""
    feature, shell = (results[name].to_numpy() for name in ("feature", "shell"))
    counts = np.stack(results["counts"].to_numpy())
    found = _none(feature.max() + 1, shell.max() + 1, counts.shape[1])
    np.add.at(found.counts, (feature, shell), counts)
    np.maximum.at(found.largest, (feature, shell), results["largest"].to_numpy())
    for name in ("sums", "above"):
        np.add.at(getattr(found, name), (feature, shell), results[name].to_numpy())
    return found


def histogram_median(counts: Counts) -> float:
    """The median of ratios that are uniform within bins between zero and one; NaN if there are none.

    >>> histogram_median(np.array([1, 2, 1, 0]))
    0.375
    """
    total = counts.sum()
    if not total:
        return np.nan
    reached = np.concatenate([[0], np.cumsum(counts)]) / total
    return float(np.interp(0.5, reached, np.linspace(0, 1, len(counts) + 1)))


def measure_ratios(pencil: Pencil, batches: Iterable[DenseBatch], random_state: int) -> Ratios:
    """Ratios of all features over all rows of the batches."""
    rng, found = np.random.default_rng(random_state), _none(pencil.n_features, SHELLS, BINS)
    for batch in batches:
        for feature, (noise, ratios, above) in enumerate(_moved(pencil, batch.x, rng)):
            shell = _bins(noise / NOISE, SHELLS)
            np.add.at(found.counts[feature], (shell, _bins(ratios, BINS)), 1)
            np.add.at(found.sums[feature], shell, ratios)
            np.maximum.at(found.largest[feature], shell, ratios)
            np.add.at(found.above[feature], shell, above)
    return found


def _none(features: int, shells: int, bins: int) -> Ratios:
    shape = (features, shells)
    return Ratios(np.zeros((*shape, bins), np.int64), np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64))


def _bins(shares: Float64Array, count: int) -> NDArray[np.intp]:
    """In which of ``count`` equal parts of the unit interval they lie."""
    return np.minimum((shares * count).astype(np.intp), count - 1)


class _Moved(NamedTuple):
    """Changes of one feature whose bound is not zero: |δ|, the ratios, and which are above one."""

    noise: Float64Array
    ratios: Float64Array
    above: NDArray[np.bool_]


def _moved(pencil: Pencil, x: FloatArray, rng: np.random.Generator) -> Iterator[_Moved]:
    """One feature after another."""
    coef = pencil.packed.astype(np.float64)
    packed = coef[0] + x.astype(np.float64) @ coef[1:]
    value = eigenvalue(packed, pencil.dim, pencil.eig_idx)
    # Both eigenvalues and the sums that make their matrices are rounded.
    rounding = 4 * (eigenvalue_error(pencil.dim) + len(coef) * np.finfo(np.float64).eps)
    slack = rounding * (np.linalg.norm(packed, axis=1) + NOISE * np.linalg.norm(coef[1:], axis=1).max(initial=0.0))
    for matrix, norm in zip(coef[1:], pencil.norms, strict=True):
        noise = rng.uniform(-NOISE, NOISE, len(x))
        change = np.abs(eigenvalue(packed + noise[:, None] * matrix, pencil.dim, pencil.eig_idx) - value)
        bound = np.abs(noise) * norm
        some = bound > 0
        yield _Moved(np.abs(noise[some]), change[some] / bound[some], (change > bound + slack)[some])
