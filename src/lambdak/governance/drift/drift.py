"""Whether new rows are still like old ones: every column and the prediction in bands, and what moved its mean."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from lambdak._checks import check_int, check_weight, freeze_arrays
from lambdak._types import Float64Array
from lambdak.governance.drift.stability import (
    by_chance,
    effective_rows,
    mean_shifts,
    reading,
    sample_size,
    spread_rows,
    stability_index,
)
from lambdak.governance.performance.bands import BANDS, MISSING, Banding, NumberBands, banding, shared_bands
from lambdak.governance.performance.outcome import prediction_of
from lambdak.governance.performance.segments import sums
from lambdak.model import Model
from lambdak.model.readout import dense_rows
from lambdak.table.category_levels import OTHER
from lambdak.table.cells import Cells
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.frames import headed, make_frame, percent
from lambdak.table.matching import Reader, column_reader
from lambdak.table.numeric_column import Numeric
from lambdak.table.plain import not_plain
from lambdak.table.read import read_table
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

PREDICTION = "prediction"
_PRINTED = 15  # columns
_FIELDS = ("column", "psi", "reading", "chance", "mean_shift", "missing_old", "missing_new", "unseen_old", "unseen_new")


@final
@dataclass(frozen=True, eq=False, repr=False)
class ColumnDrift(Shown):
    """One column, or the prediction, in two samples.

    Attributes
    ----------
    column : str
    names : tuple of str
        Bands with about the same share of the old sample, or levels; then missing cells, then levels that neither
        training nor the old sample has.
    old, new : arrays of shape (bands,)
        Shares of the samples.
    psi : float
        Population stability index; ``reading`` is what it is usually taken for.
    chance : float
        PSI of two samples of one population stays below it in 95 of 100 cases: what is less may be chance.
    mean_shift : float
        By how much the mean prediction changes if only this column drifts, the others staying as in the old sample.
        That of the prediction is the difference of its means.
    missing_old, missing_new : float
        Shares of missing cells.
    unseen_old, unseen_new : float
        Shares of numbers outside of the training range, or of levels that training did not see.
    """

    column: str
    kind: str
    names: tuple[str, ...]
    old: Float64Array
    new: Float64Array
    psi: float
    chance: float
    mean_shift: float
    missing_old: float
    missing_new: float
    unseen_old: float
    unseen_new: float
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def reading(self) -> str:
        """Little change (PSI below 0.1), some change (up to 0.25) or large change."""
        return reading(self.psi)

    def to_frame(self) -> Any:
        """One line per band, in a frame of the library that X came from."""
        names = np.array(self.names, object)
        return make_frame({"band": names, "old": self.old, "new": self.new}, self._like)

    def __str__(self) -> str:
        shares = (map(percent, part.tolist()) for part in (self.old, self.new))
        rows = list(zip(map(visible, self.names), *shares, strict=True))
        return "\n".join([_line(self).strip(), *headed(["", "old", "new"], rows)])

    def plot(self, ax: Any = None) -> Any:
        """Shares of both samples side by side; returns the Axes."""
        from lambdak.governance.plots import draw_column

        return draw_column(self, ax)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Drift(Shown):
    """How far new rows are from old ones.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        The largest PSI first.
    prediction : ColumnDrift
        That of the model's prediction.
    mean_old, mean_new : float
        Mean predictions.
    rows_old, rows_new : int
        Rows that count.
    """

    columns: tuple[ColumnDrift, ...]
    prediction: ColumnDrift
    mean_old: float
    mean_new: float
    rows_old: int
    rows_new: int

    def __getitem__(self, column: str) -> ColumnDrift:
        """The drift of a column."""
        for drifted in self.columns:
            if drifted.column == column:
                return drifted
        known = [drifted.column for drifted in self.columns]
        raise KeyError(f"column must be one of {known}; got {column!r}{asked(column, known)}")

    def to_frame(self) -> Any:
        """One line for the prediction and for each column, in a frame of the library that X came from."""
        lines = (self.prediction, *self.columns)
        return make_frame({name: [getattr(each, name) for each in lines] for name in _FIELDS}, self.prediction._like)

    def __str__(self) -> str:
        head = f"{self.rows_old:,} old rows, {self.rows_new:,} new rows; mean prediction {self.mean_old:.4g} → "
        shown = [_line(column) for column in (self.prediction, *self.columns[:_PRINTED])]
        left = len(self.columns) - _PRINTED
        more = [f"  … and {left} more columns with a smaller PSI"] if left > 0 else []
        return "\n".join([f"{head}{self.mean_new:.4g}", *shown, *more])

    def plot(self, column: str | None = None, ax: Any = None) -> Any:
        """PSI of the columns as bars, the largest on top, or the shares of one column; returns the Axes."""
        from lambdak.governance.plots import draw_ranking

        return draw_ranking(self, ax) if column is None else self[column].plot(ax)


def _line(drifted: ColumnDrift) -> str:
    chance = ", which may be chance" if drifted.psi <= drifted.chance else ""
    unseen = f"; {100 * drifted.unseen_new:.3g} % not seen in training" if drifted.unseen_new > 0 else ""
    moved = f"; mean prediction {drifted.mean_shift:+.2g}" if drifted.mean_shift and not chance else ""
    return f"  PSI {drifted.psi:.3f} {visible(drifted.column)}: {drifted.reading}{chance}{moved}{unseen}"


def drift(
    model: Model,
    X_old: Any,
    X_new: Any,
    *,
    sample_weight_old: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
    bands: int | str = BANDS,
    output: Any = None,
    random_state: int = 0,
) -> Drift:
    """How far the rows of X_new are from those of X_old, by column and in what the model predicts; see :class:`Drift`.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X_old, X_new
        Tables with the columns of the model, such as training rows and those of last month.
    sample_weight_old, sample_weight_new
        How much each row counts, such as its exposure.
    bands
        Of numbers: how many, by quantiles of the old sample, or of both where it has few numbers; or "knots", those
        of the model.
    output
        Label or position of a class or quantile level; None is the second one of two classes, and the middle quantile.
    random_state
        Of the rows on which shifts of the mean are computed, up to 10,000.
    """
    old = _Sample.of(model, X_old, sample_weight_old, output, "old")
    new = _Sample.of(model, X_new, sample_weight_new, output, "new")
    seed = check_int(random_state, "random_state", 0, 2**63)
    columns = enumerate(model.encoder.columns)
    found = [_column(each, old.reader(i), new.reader(i), old, new, bands) for i, each in columns]
    first, second = (each.some_rows(model, seed) for each in (old, new))
    shifts = mean_shifts(model, first, second, lambda raw: prediction_of(model, raw, output), seed)
    moved = [replace(column, mean_shift=float(shift)) for column, shift in zip(found, shifts, strict=True)]
    ranked = tuple(sorted(moved, key=lambda column: -column.psi))
    return Drift(ranked, _prediction(old, new, bands), old.mean, new.mean, old.rows, new.rows)


@final
@dataclass(frozen=True, eq=False)
class _Sample:
    """The old or the new table, with the weight of its rows and what is predicted of them."""

    X: Any
    weight: Float64Array
    predicted: Float64Array
    reader: Reader

    @classmethod
    def of(cls, model: Model, X: Any, weight: ArrayLike | None, output: Any, name: str) -> _Sample:
        """Read and predict a table."""
        predicted = prediction_of(model, model.raw(X), output)
        if not len(predicted):
            raise ValueError(f"X_{name} must have at least one row; got none")
        mass = np.ones(len(predicted)) if weight is None else check_weight(weight, len(predicted), f"_{name}")
        return cls(X, mass / mass.max(), predicted, column_reader(model.encoder, X))

    @property
    def rows(self) -> int:
        """Rows that count."""
        return int(np.count_nonzero(self.weight))

    @property
    def mean(self) -> float:
        """The mean prediction."""
        return float(np.average(self.predicted, weights=self.weight))

    @property
    def effective(self) -> float:
        """Rows of equal weight that tell as much."""
        return effective_rows(self.weight)

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """The share of rows, by weight."""
        return float(self.weight[chosen].sum() / self.weight.sum())

    def some_rows(self, model: Model, seed: int) -> Any:
        """The design of some rows."""
        rows = spread_rows(self.weight, sample_size(len(model.encoder.columns)), seed)
        if issparse(self.X):
            return model.encoder.transform(dense_rows(self.X.tocsr()[rows]), np.float64)
        return model.encoder.transform(_rows_of(self.X, rows), np.float64)


def _rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Read a table, and keep only the given rows of it."""
    table = read_table(X, keep=False)
    shape = (len(rows), table.shape[1])
    return replace(table, shape=shape, read=lambda i, _: table.cells(i, rows), by_cell=not_plain)


def _column(column: Column, before: Cells, after: Cells, old: _Sample, new: _Sample, bands: int | str) -> ColumnDrift:
    groups = _groups(column, before, after, (old.weight, new.weight), bands)
    found = _compared(column.name, groups, groups.codes(before), groups.codes(after), old, new)
    unseen = [each.share(_unseen(column, cells)) for each, cells in ((old, before), (new, after))]
    return replace(found, unseen_old=unseen[0], unseen_new=unseen[1])


def _groups(
    column: Column, before: Cells, after: Cells, weights: tuple[Float64Array, Float64Array], bands: int | str
) -> Banding:
    if isinstance(bands, str) and bands != "knots":
        raise ValueError(f'bands must be a number of bands, or "knots"; got {bands!r}')
    if not isinstance(column, Numeric):
        return banding(before, column, weights[0])
    if not isinstance(bands, str):
        return shared_bands(before.numbers(), after.numbers(), weights, bands)
    return NumberBands(column.corners(), column.whole)


def _unseen(column: Column, cells: Cells) -> NDArray[np.bool_]:
    """Which cells training did not see: numbers outside of its range, levels that it did not have."""
    if isinstance(column, Numeric):
        x = cells.numbers()
        return np.asarray((x < column.low) | (x > column.high))
    codes, levels = cells.levels()
    known = {*column.known_levels, None} - {OTHER}
    return np.array([level not in known for level in levels], bool)[codes]


def _compared(
    name: str, groups: Banding, before: NDArray[np.intp], after: NDArray[np.intp], old: _Sample, new: _Sample
) -> ColumnDrift:
    size = len(groups.names)
    p, q = (sums(codes, each.weight, size) / each.weight.sum() for codes, each in ((before, old), (after, new)))
    kept = (p > 0) | (q > 0)
    missing = groups.names.index(MISSING)
    return ColumnDrift(
        name, groups.kind, tuple(np.array(groups.names, object)[kept]), p[kept], q[kept],
        stability_index(p, q, old.effective, new.effective), by_chance(int(kept.sum()), old.effective, new.effective),
        0.0, float(p[missing]), float(q[missing]), 0.0, 0.0, old.X,
    )  # fmt: skip


def _prediction(old: _Sample, new: _Sample, bands: int | str) -> ColumnDrift:
    """The drift of the prediction, in quantiles of the old ones."""
    most = BANDS if isinstance(bands, str) else bands
    groups = shared_bands(old.predicted, new.predicted, (old.weight, new.weight), most)
    before, after = (groups.codes(Cells(PREDICTION, each.predicted, "number")) for each in (old, new))
    return replace(_compared(PREDICTION, groups, before, after, old, new), mean_shift=new.mean - old.mean)
