"""The fit behind a model, as far as a dossier speaks of it: the file it was saved to, and how much its seed matters."""

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
from lambdak.report.subject import Subject
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
