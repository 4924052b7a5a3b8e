"""The frozen model: raw score = start + scale Σ_m w_m λ_k(A_m(row)), a convex combination of a few pencils."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.packing import packed_size
from lambdak.eigen.steps import step_engine
from lambdak.losses import Loss
from lambdak.model.calibration import Calibration
from lambdak.model.level_curve import LevelCurve
from lambdak.model.outputs import Outputs
from lambdak.model.promises import Promises
from lambdak.pencil import Pencil
from lambdak.table.design import Design
from lambdak.table.encoder import TableEncoder
from lambdak.table.rows import optional_rows
from lambdak.table.shown import Shown

_FEW = 1 << 16  # matrices times dim³: waking another thread takes longer


def evaluate(
    coef: FloatArray,
    dim: int,
    indices: Sequence[int],
    design: Design,
    rows: NDArray[np.int32] | None = None,
    threads: int = 0,
) -> FloatArray:
    """Eigenvalues (models, rows, indices) of design rows, from coefficients (models, P, padded width).

    ``rows`` (models, n) gives every model its own rows; None gives it all. ``threads`` = 0 takes the process's setting.
    """
    models = len(coef)
    if rows is None:
        rows = np.broadcast_to(np.arange(len(design), dtype=np.int32), (models, len(design)))
    value = np.empty((rows.size, len(indices)), coef.dtype)
    width, chosen = packed_size(dim), np.ascontiguousarray(rows)
    given = (design.ids, design.weights, chosen)
    threads = 1 if rows.size * dim**3 <= _FEW else threads
    step_engine().forward(given, coef[..., :width], dim, list(indices), (value, None), threads)
    return value.reshape(models, chosen.shape[1], len(indices))


MAX_DIM = 128  # of the matrices of a model
MAX_MEMBERS = 64

# Of the weight of a design column: with less, no matrix that a file may hold (1e24) overflows, nor does its square.
_FARTHEST = 1e100
_ROWS_AT_ONCE = 1 << 16  # so that memory stays bounded


@final
@dataclass(frozen=True, eq=False, repr=False)
class Model(Shown):
    """All that predicts, proves and explains; what fitting produces and what is saved. Immutable.

    Attributes
    ----------
    estimator : str
        The estimator that it was fitted by.
    encoder : TableEncoder
        From a table to design rows.
    coef : float64 array of shape (members * pencils, design columns, padded width)
        Packed matrices, one per design column; the pencils of a member follow one another. Whatever they were trained
        and are stored in, predictions are float64, so that what is proven about the matrices is true of them.
    dim : int
        Rows of a matrix.
    weights : array of shape (members,)
        Convex weights of the members.
    loss : Loss
        With its link, its sign and the names of its outputs.
    outputs : Outputs
        How raw scores come from eigenvalues.
    start : array of shape (outputs,)
        Raw scores if all matrices are zero.
    scale : float
        Raw score per unit of an eigenvalue.
    promises : Promises
        The constraints on its columns, and its shape.
    classes : array or None
        The labels of a classifier, in their order.
    calibration : Calibration or None
        Tails of the distribution between quantiles, and levels that cover shares of rows; None in older files, too.
    """

    estimator: str
    encoder: TableEncoder
    coef: Float64Array
    dim: int
    weights: Float64Array
    loss: Loss
    outputs: Outputs
    start: Float64Array
    scale: float
    promises: Promises
    classes: NDArray[Any] | None = None
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coef", np.asarray(self.coef, np.float64))
        for name in ("weights", "start", "classes"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else np.asarray(value))
        freeze_arrays(self)  # copies: what a caller does with theirs later changes nothing

    def __str__(self) -> str:
        members = f"{len(self.weights)} members of {self.dim} × {self.dim} matrices"
        return f"Model of a {self.estimator}: {len(self.encoder.columns)} columns, {members}, {self.loss.name}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "coef": self.coef.astype(self.stored_dtype)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, np.asarray(value, np.float64) if name == "coef" else value)
        freeze_arrays(self)

    def replace(self, **changes: Any) -> Model:
        """Another model that differs in these attributes."""
        return replace(self, **changes)

    @property
    def matrices(self) -> Float64Array:
        """Packed matrices without padding, (members * pencils, design columns, d(d+1)/2)."""
        return self.coef[..., : packed_size(self.dim)]

    @property
    def stored_dtype(self) -> np.dtype[np.floating]:
        """The least precision that holds all matrices exactly."""
        with np.errstate(over="ignore"):
            single = bool((self.coef.astype(np.float32) == self.coef).all())
        return np.dtype(np.float32 if single else np.float64)

    @property
    def pencils(self) -> list[Pencil]:
        """The members, in design coordinates; with several classes, one after the other for each member."""
        return [Pencil(matrices, self.outputs.indices[0]) for matrices in self.matrices]

    @property
    def output_names(self) -> tuple[str, ...]:
        """What each raw score stands for, in words."""
        labels = () if self.classes is None else [repr(label) for label in self.classes.tolist()]
        return self.loss.output_names(labels)

    @property
    def level_curve(self) -> LevelCurve:
        """The distribution between the quantiles of a row and beyond them; without tails if none are known."""
        tails = self.calibration
        below, above = (0.0, 0.0) if tails is None else (tails.below, tails.above)
        link = self.loss.output_link
        return LevelCurve(self.outputs.quantile_levels, below, above, link.low, link.high)

    def raw(self, X: Any, offset: ArrayLike | None = None, threads: int = 0) -> FloatArray:
        """Raw scores of the rows of a table, (rows,) or (rows, outputs): before the link.

        ``threads`` = 0 takes the process's setting.
        """
        design = self.encoder.transform(X, np.float64, threads)
        raw = self.scores(design, optional_rows(offset, len(design), "offset"), threads)
        if not np.isfinite(raw).all():
            self._check_near(design, raw)
        return raw

    def _check_near(self, design: Design, raw: FloatArray) -> None:
        """Refuse rows whose scores are not finite because a column continues straight to a number too far away."""
        rows = np.flatnonzero(~np.isfinite(raw.reshape(len(raw), -1)).all(axis=1))
        sizes = np.abs(design.weights[rows])
        far = np.flatnonzero(~(sizes.max(axis=1) <= _FARTHEST))
        if len(far):
            entry = int(design.ids[rows[far[0]], sizes[far[0]].argmax()])
            (name,) = (own.name for own in self.encoder.columns if own.start <= entry < own.stop)
            raise ValueError(
                f"column {name!r} continues straight beyond its training range, and row {rows[far[0]]} has a number "
                "too far from it to compute with: replace it with NaN, which counts as missing, or with a finite cap"
            )

    def scores(self, design: Design, offset: FloatArray | None = None, threads: int = 0) -> FloatArray:
        """Raw scores of design rows."""
        parts = []
        for first in range(0, max(len(design), 1), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            parts.append(self._scores(design.take(rows), None if offset is None else offset[rows], threads))
        return np.concatenate(parts)

    def _scores(self, design: Design, offset: FloatArray | None, threads: int) -> FloatArray:
        expanded = self.outputs.expand(design, self.encoder.n_design)
        values = self.outputs.arrange(evaluate(self.coef, self.dim, self.outputs.indices, expanded, None, threads))
        # Member by member, not as a matrix product: its order of summation depends on the place of a row in the table.
        mean = sum((w * own for w, own in zip(self.weights[1:], values[1:], strict=True)), self.weights[0] * values[0])
        raw = self.start + self.scale * mean  # (rows, outputs)
        if offset is not None:
            raw = raw + offset[:, None]
        return np.asarray(raw[:, 0] if self.outputs.single else raw)

    def predict(self, X: Any, offset: ArrayLike | None = None, threads: int = 0) -> FloatArray:
        """Means, quantiles (rows, quantiles) or probabilities (rows, classes)."""
        return self.loss.predict(self.raw(X, offset, threads))
