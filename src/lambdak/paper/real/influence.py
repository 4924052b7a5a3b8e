r"""How tight the bound |f(x + δ e_i) − f(x)| ≤ |δ| ‖A_i‖₂ is on real rows.

One feature at a time is moved by noise that is uniform within half a standard deviation, and the ratio of the two sides
is counted. It cannot exceed one, but for rounding: everything is computed in float64.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lambdak._checks import FloatArray
from lambdak.eigen import eigenvalue
from lambdak.paper.data.rows import DenseBatch, DenseData
from lambdak.paper.parts import read_config, read_results, write_table
from lambdak.paper.real.dense import DenseSpectral
from lambdak.paper.real.protocol import real_protocol
from lambdak.paper.real.runs import find_source, load, train
from lambdak.paper.real.tuning import tune
from lambdak.pencil import Pencil

Array = NDArray[np.float64]

NOISE = 0.5  # standard deviations; features are standardised
BINS = 50
SEED = 0


@dataclass(frozen=True, eq=False)
class Tightness:
    """Counts (features, bins) of the ratio between 0 and 1, and the largest ratio of each feature."""

    counts: NDArray[np.int64]
    largest: Array

    def table(self, dim: int) -> pa.Table:
        """One row per feature and bin, with the lower end of the bin."""
        features, bins = self.counts.shape
        return pa.table(
            {
                "dim": np.full(features * bins, dim),
                "feature": np.repeat(np.arange(features), bins),
                "ratio": np.tile(np.arange(bins) / bins, features),
                "count": self.counts.ravel(),
                "largest": np.repeat(self.largest, bins),
            }
        )


def run_influence(
    profile: str, out: Path, source: Path | None = None, progress: bool = True
) -> Iterator[tuple[int, int]]:
    """Measure models of the HIGGS study on its test rows, yielding (dims done, dims); into ``influence.parquet``.

    Each dim is trained once more, at the rate that validation chose for the largest sample count.
    """
    protocol, folder = real_protocol("higgs", profile), out / f"higgs-{profile}"
    curves = [curve for curve in tune(read_results(folder)) if curve.model == "spectral"]
    data = _data_of_study(folder, out / "cache", find_source("higgs", profile, out, source), progress)
    rates = {curve.dim: curve.rate for curve in curves if curve.samples == protocol.samples[-1]}
    tables: list[pa.Table] = []
    yield 0, len(protocol.dims)
    for dim in protocol.dims:
        model = DenseSpectral(data.features.shape[1], dim, rates[dim], SEED)
        for _ in train(model, data, replace(protocol, samples=protocol.samples[-1:]), SEED):
            pencil = Pencil(model.coef.astype(np.float64), model.index)
        tables.append(tightness(pencil, data.part("test"), random_state=SEED).table(dim))
        yield len(tables), len(protocol.dims)
    table = pa.concat_tables(tables).replace_schema_metadata({"lambdak": _about(folder, rates)})
    write_table(table, folder / "influence.parquet")


def _about(folder: Path, rates: dict[int, float]) -> str:
    """What the study is, and how it was measured by which version."""
    ours = {"noise": NOISE, "bins": BINS, "seed": SEED, "rates": rates, "version": version("lambdak")}
    return json.dumps(read_config(folder) | {"influence": ours}, indent=2)


def _data_of_study(folder: Path, cache: Path, source: Path, progress: bool) -> DenseData:
    data = load("higgs", source, cache, progress)["dense"]
    if not isinstance(data, DenseData):
        raise TypeError(f"HIGGS must be DenseData; got {type(data).__name__}")
    if data.checksum != read_config(folder)["data"]["sha256"]:
        raise ValueError(f"{source} is not the file that the study in {folder} was run with")
    return data


def tightness(pencil: Pencil, batches: Iterable[DenseBatch], random_state: int) -> Tightness:
    """Ratios of all features over all rows of the batches."""
    rng = np.random.default_rng(random_state)
    counts, largest = np.zeros((pencil.n_features, BINS), np.int64), np.zeros(pencil.n_features)
    for batch in batches:
        for feature, ratios in enumerate(_ratios(pencil, batch.x, rng)):
            counts[feature] += np.histogram(np.minimum(ratios, 1.0), BINS, (0.0, 1.0))[0]
            largest[feature] = max(largest[feature], float(ratios.max(initial=0.0)))
    return Tightness(counts, largest)


def _ratios(pencil: Pencil, x: FloatArray, rng: np.random.Generator) -> Iterable[Array]:
    """The ratios of one feature after another, (rows,) each; zero where the bound is."""
    coef = pencil.packed.astype(np.float64)
    packed = coef[0] + x.astype(np.float64) @ coef[1:]
    value = eigenvalue(packed, pencil.dim, pencil.eig_idx)
    for matrix, norm in zip(coef[1:], pencil.norms, strict=True):
        noise = rng.uniform(-NOISE, NOISE, len(x))
        moved = eigenvalue(packed + noise[:, None] * matrix, pencil.dim, pencil.eig_idx)
        bound = np.abs(noise) * norm
        yield np.divide(np.abs(moved - value), bound, out=np.zeros(len(x)), where=bound > 0)
