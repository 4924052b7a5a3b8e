"""What each column does to a model as a whole: proven bounds, observed effects, and which columns act together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak.eigen import eigenvalue
from lambdak.explain.interactions import Interaction, interactions
from lambdak.explain.rows import local_slopes, typical_row
from lambdak.model import Model
from lambdak.model.influence import any_change, norms, of_outputs, per_unit, weyl
from lambdak.model.readout import Readout, dense_rows, readouts, slots_of
from lambdak.model.statements import rising
from lambdak.pencil.spectrum import Float64Array
from lambdak.table.design import Design
from lambdak.table.frames import make_frame
from lambdak.table.read import read_table

_MOST_ROWS = 300  # of X that effects are averaged over
_MOST_POINTS = 129


@dataclass(frozen=True, eq=False)
class ColumnEffect:
    """One column, in units of the raw score.

    Attributes
    ----------
    column : str
    kind : {"number", "category"}
    sign : int
        1 or −1 if the raw score provably never falls or never rises with the column, else 0.
    x : tuple
        Numbers, or levels as text, that the effect is given for.
    reference : float or str
        Where changes are counted from: the median of a number, the average of all levels.
    effect : array of shape (points,)
        Mean change of the raw score over the rows of X when the column goes from the reference to x; that of the
        typical row if there is no X.
    low, high : arrays of shape (points,)
        Proven: no row, seen or unseen, can change by less or more (Weyl). They lie within ± ``norm``.
    norm : array of shape (points,)
        Σ w ‖A(x) − A(reference)‖₂.
    observed_low, observed_high : arrays of shape (points,)
        The 5 % and 95 % quantiles of the change over the rows of X.
    missing : float
        Mean change when the cell is missing instead; NaN if there is no matrix for that.
    proven : float
        No change of the column moves a raw score by more; see ``within_range``.
    within_range : bool
        Whether ``proven`` is about numbers within the training range only, because the column continues with its
        end slopes beyond, as columns do with ``shape``. Otherwise it is about any change.
    per_unit : float
        No change moves a raw score by more per unit; NaN for a category.
    slope_min, slope_median, slope_max : float
        Of ∂(raw score)/∂column over the rows of X; NaN for a category.
    observed : float
        The largest change between two of the points, of any row of X.
    tightness : float
        observed / proven.
    ratios : array
        Size of a change over its norm, of single rows and points: how much of the bound it used.
    """

    column: str
    kind: str
    sign: int
    x: tuple[Any, ...]
    reference: float | str
    effect: Float64Array
    low: Float64Array
    high: Float64Array
    norm: Float64Array
    observed_low: Float64Array
    observed_high: Float64Array
    missing: float
    proven: float
    within_range: bool
    per_unit: float
    slope_min: float
    slope_median: float
    slope_max: float
    observed: float
    tightness: float
    ratios: Float64Array

    def plot(self, ax: Any = None) -> Any:
        """The effect with its proven band; returns the Axes."""
        from lambdak.explain.plots import draw_effect

        return draw_effect(self, ax)


@dataclass(frozen=True, eq=False)
class GlobalExplanation:
    """All columns of a model, strongest first, and pairs of them.

    Attributes
    ----------
    output : str
        What the raw score stands for.
    rows : int
        Rows of X that observed numbers come from; 0 if they are those of the typical row.
    effects : tuple of ColumnEffect
        The largest proven bound first.
    interactions : tuple of Interaction
        The strongest coupling first.
    """

    output: str
    rows: int
    effects: tuple[ColumnEffect, ...]
    interactions: tuple[Interaction, ...]
    _like: Any = field(repr=False, default=None)

    def __getitem__(self, column: str) -> ColumnEffect:
        for effect in self.effects:
            if effect.column == column:
                return effect
        raise KeyError(f"column must be one of {[effect.column for effect in self.effects]}; got {column!r}")

    def to_frame(self) -> Any:
        """One line for each column, in a frame of the library that X came from."""
        names = ("column", "kind", "sign", "proven", "per_unit", "observed", "tightness", "slope_min", "slope_median",
                 "slope_max")  # fmt: skip
        return make_frame({name: [getattr(each, name) for each in self.effects] for name in names}, self._like)

    def interactions_to_frame(self) -> Any:
        """One line for each pair of columns."""
        names = ("first", "second", "commutator", "coupling", "joint", "h_statistic")
        return make_frame({name: [getattr(each, name) for each in self.interactions] for name in names}, self._like)

    def plot(self, ax: Any = None) -> Any:
        """Proven bounds of all columns and what was observed; returns the Axes."""
        from lambdak.explain.plots import draw_strengths

        return draw_strengths(self, ax)


def explain_global(model: Model, X: Any = None, output: int | None = None) -> GlobalExplanation:
    """Explain a model; see :class:`GlobalExplanation`.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X
        Rows to observe effects on; up to 300 of them, evenly spread, are used. Without it, what is observed is the
        typical row: medians of numbers and the average of a category's levels.
    output
        Position of a class, quantile or cut-point; None is the first class, and the middle one of the others.
    """
    outputs = readouts(model)
    middle = 0 if model.loss.link.joint else len(outputs) // 2
    readout = outputs[middle if output is None else check_int(output, "output", 0, len(outputs))]
    if X is None:
        design, slopes, rows = typical_row(readout), None, 0
    else:
        table = read_table(dense_rows(X))
        some = _spread(table.shape[0])
        design = model.encoder.transform(table, np.float64).take(some)
        slopes = model.encoder.slopes(table).take(some)
        rows = len(some)
    packed = readout.packed(design)
    steep = None if slopes is None else local_slopes(readout, packed, slopes, slopes).influence
    effects = [_effect(readout, design, i, steep) for i in range(len(readout.columns))]
    pairs = interactions(readout, design if rows else None)
    return GlobalExplanation(readout.name, rows, tuple(sorted(effects, key=lambda effect: -effect.proven)), pairs, X)


def _spread(rows: int) -> NDArray[np.intp]:
    """Positions of at most 300 rows, evenly spread."""
    if not rows:
        raise ValueError("X must have at least one row to observe, or be None; got none")
    return np.unique(np.linspace(0, rows - 1, min(rows, _MOST_ROWS)).astype(np.intp))


def _effect(readout: Readout, design: Design, i: int, steep: Float64Array | None) -> ColumnEffect:
    column = readout.columns[i]
    number = column.is_number
    (x, cells), reference = column.points(_MOST_POINTS), column.typical()
    change = _changes(readout, design, i, np.vstack([reference, cells]))
    moves = (cells - reference)[: len(x)]
    (low, high), norm = weyl(readout, moves, i), norms(readout, moves, i) * moves.any(axis=1)
    rounding = 2 * readout.error  # bands are about what is computed
    return ColumnEffect(
        column=column.name,
        kind="number" if number else "category",
        sign=_sign(readout, i),
        x=x,
        reference=column.typical_name,
        low=low - rounding,
        high=high + rounding,
        norm=norm,
        missing=float(change[:, -1].mean()) if number and column.missing >= 0 else np.nan,
        within_range=not column.bounded,
        per_unit=per_unit(readout, i).bound if number else np.nan,
        **_seen(change[:, : len(x)], norm, of_outputs(readout, any_change(readout, i).bound)),
        **_slopes(steep[:, i] if number and steep is not None else np.empty(0)),
    )


def _seen(change: Float64Array, norm: Float64Array, proven: float) -> dict[str, Any]:
    """Changes (rows, points) of the raw score in a few numbers, and how they compare with what is proven."""
    below, above = np.quantile(change, [0.05, 0.95], axis=0)
    observed = float(np.ptp(np.column_stack([change, np.zeros(len(change))]), axis=1).max())
    return {
        "effect": change.mean(axis=0),
        "observed_low": below,
        "observed_high": above,
        "observed": observed,
        "proven": proven,
        "tightness": observed / proven if proven else 0.0,
        "ratios": (np.abs(change[:, norm > 0]) / norm[norm > 0]).ravel(),
    }


def _slopes(steep: Float64Array) -> dict[str, Any]:
    """Least, median and largest of the slopes of single rows; NaN if there are none."""
    known = steep[np.isfinite(steep)]
    least, median, most = np.quantile(known, [0.0, 0.5, 1.0]) if known.size else np.full(3, np.nan)
    return {"slope_min": float(least), "slope_median": float(median), "slope_max": float(most)}


def _changes(readout: Readout, design: Design, i: int, cells: Float64Array) -> Float64Array:
    """Change of the raw score of each row when column i goes from the first cell to the others, (rows, others)."""
    others = Design(design.ids, design.weights.copy())
    others.weights[:, list(slots_of(readout.columns)[i])] = 0.0
    packed, own = readout.packed(others), cells @ readout.column(i)
    scores = np.empty((len(design), len(cells)))
    for rows in readout.blocks(len(design), len(cells) * own.shape[-1]):
        values = eigenvalue(packed[:, rows, None] + own[:, None], readout.dim, readout.index)
        scores[rows] = readout.over_members(values)
    return scores[:, 1:] - scores[:, :1]


def _sign(readout: Readout, i: int) -> int:
    """+1 or −1 if all increments of a column of numbers are proven to have that sign."""
    column = readout.columns[i]
    if not column.is_number:
        return 0
    rises, falls = (rising(column, readout.coef, sign).all_true() for sign in (1, -1))
    return int(rises) - int(falls)
