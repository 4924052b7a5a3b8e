"""The fit behind a model: whether it saw some rows, the file it was saved to, and how much its seed matters."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lambdak.model.metrics import Estimate, raw_metrics
from lambdak.model.rows import model_target
from lambdak.report.subject import Refittable
from lambdak.store import (
    ClaimedSignature,
    SavedModel,
    Signature,
    checksum_in_file,
    claimed_signature,
    model_checksum,
    verify_file,
)
from lambdak.table.rows import Rows

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey

from collections.abc import Sequence
from typing import Any

from lambdak.model import Model
from lambdak.table.column_contract import Column
from lambdak.table.content_hash import row_hashes
from lambdak.table.knots import median
from lambdak.table.matching import column_reader
from lambdak.table.seen import SeenCells

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ModelFile:
    """The file of a saved model: its name, checksum and signature.

    Attributes
    ----------
    name : str or None
        Of the file; None if none was named.
    checksum : str or None
        SHA-256 of the model, as its file holds it; None for a model that no file can hold.
    signature : Signature, ClaimedSignature or None
        Verified with a public key, or only what the file says.
    """

    name: str | None
    checksum: str | None
    signature: Signature | ClaimedSignature | None = None


def model_file(saved: SavedModel, path: str | os.PathLike[str] | None, public_key: PublicKey | None) -> ModelFile:
    """What there is to say about the file at ``path``, which must hold this model."""
    if path is None:
        if public_key is not None:
            raise ValueError("model_file must be given with public_key: the file whose signature is to be verified")
        return ModelFile(None, _checksum(saved))
    checksum = checksum_in_file(path, saved)
    signature = claimed_signature(path) if public_key is None else verify_file(path, public_key)
    return ModelFile(Path(path).name, checksum, signature)


def _checksum(saved: SavedModel) -> str | None:
    try:
        return model_checksum(saved)
    except TypeError:  # an estimator of the user's own, which no file holds
        return None


@dataclass(frozen=True, eq=False)
class Stability:
    """Fits with several seeds.

    Attributes
    ----------
    seeds : tuple of int
    metrics : tuple of lists of Estimate
        Of each fit, on the same rows.
    spread : array of shape (rows,)
        Standard deviation of a row's raw score over the fits, the largest of its outputs.
    size : float
        Standard deviation of the raw scores over the rows, to compare the spread with.
    """

    seeds: tuple[int, ...]
    metrics: tuple[list[Estimate], ...]
    spread: NDArray[np.float64]
    size: float


def stability(subject: Refittable, training: Rows, rows: Rows, seeds: int, progress: Progress) -> Stability:
    """Fit with the seeds 1, 2, … and compare."""
    scores, metrics = [], []
    target = model_target(subject.model, rows)
    weight = None if rows.exposure is None and rows.weight is None else rows.mass
    for seed in range(1, seeds + 1):
        progress(f"stability: fit {seed} of {seeds}")
        model = subject.refit(seed, training)
        raw = np.asarray(model.raw(rows.X, rows.offset), np.float64)
        scores.append(raw.reshape(len(rows), -1))
        metrics.append(raw_metrics(model, target, raw, weight))
    stack = np.array(scores)  # (seeds, rows, outputs)
    size = float(stack.mean(axis=0).std(axis=0).max())
    return Stability(tuple(range(1, seeds + 1)), tuple(metrics), stack.std(axis=0, ddof=1).max(axis=1), size)


SEEN = "These rows look like the training rows: the figures say how well the model remembers, not how well it predicts."
UNCLEAR = (
    "They are not simply the training rows, but the fit may have seen some of them: if so, expect less on new rows."
)


@dataclass(frozen=True)
class Likeness:
    """Whether rows look like those that the model was fitted to, and why.

    Attributes
    ----------
    seen : bool or None
        Whether the rows look like training rows; None if that cannot be said.
    words : str
        Why.
    """

    seen: bool | None
    words: str


def compared(model: Model, rows: Rows, training: Rows | None) -> Likeness:
    """Compare rows with those of training if they are given, otherwise with the ranges that the model keeps."""
    names = model.encoder.feature_names
    return _with_ranges(model, rows) if training is None else _with_rows(names, rows, training)


def _with_rows(names: Sequence[str], rows: Rows, training: Rows) -> Likeness:
    both = rows.y is not None and training.y is not None
    what = "in every column and the target" if both else "in every column"
    hashes, trained = (row_hashes(each.X, each.y if both else None, names) for each in (rows, training))
    shared = int(np.isin(hashes, trained).sum())
    repeated = len(trained) - len(np.unique(trained))
    usual = f"; {repeated:,} of {len(trained):,} training rows repeat another one" if shared or repeated else ""
    words = f"{shared:,} of the {len(hashes):,} rows equal a training row {what}{usual}."
    return Likeness(2 * shared > len(hashes), words)


def _with_ranges(model: Model, rows: Rows) -> Likeness:
    read = column_reader(model.encoder, rows.X)
    numbers = [(i, column) for i, column in enumerate(model.encoder.columns) if column.is_number and column.n_steps]
    if not numbers:
        return Likeness(None, "The model keeps no ranges of numbers to compare these rows with.")
    same = [_same_range(column, SeenCells(read(i), rows.weight)) for i, column in numbers]
    what = f"In {sum(same)} of {len(same)} columns of numbers"
    words = f"{what} the smallest, middle and largest number equal those of the training rows, which the model keeps."
    return Likeness(all(same), words)


def _same_range(column: Column, seen: SeenCells) -> bool:
    numbers, kept = seen.numbers(), _range(column)
    return (float(numbers.values[0]), median(numbers.values, numbers.mass), float(numbers.values[-1])) == kept


def _range(column: Any) -> tuple[float, float, float]:
    return column.low, column.median, column.high
