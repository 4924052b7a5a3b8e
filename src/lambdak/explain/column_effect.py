"""What one column does: its effect along its cells, with a proven band, what was observed, and where the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen import eigenvalue
from lambdak.explain.wording import effect_words
from lambdak.model.influence import any_change, norms, of_outputs, per_unit, weyl
from lambdak.model.outward import upwards
from lambdak.model.readout import Readout
from lambdak.model.statements import rising
from lambdak.pencil.exact import DOUBTS, Work
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.frames import number
from lambdak.table.number_scale import NumberScale
from lambdak.table.numeric_column import Numeric
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

_MOST_POINTS = 129
_BINS = 40  # of the rows along a number


@final
@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Shown):
    """One column, in units of the raw score; printed, it says what the column does.

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
        baseline if there is no X.
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
    importance : float
        Mean absolute effect: of the change of the raw score from the reference to the cell of each row of X; NaN if
        there is no X.
    counts : array
        Rows of X between the ``edges``, or with each level; empty if there is no X.
    edges : array
        Ends of the bins of a number, one more than ``counts``; empty for a category.
    promised : tuple of str
        What else was promised of the column, for every row: one sentence for each shape that says more than ``sign``.
    named : tuple of float
        Numbers that these promises name, such as the turn of a valley.
    scale : NumberScale or None
        Where its numbers stand on an axis; None of a category.
    output, link : str
        What the raw score stands for, and how predictions come from it: "identity", "log", "logit" or "softmax".
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
    importance: float
    counts: Float64Array
    edges: Float64Array
    output: str
    link: str
    promised: tuple[str, ...] = ()
    named: tuple[float, ...] = ()
    scale: NumberScale | None = None

    @property
    def words(self) -> str:
        """What the effect is a change of: "log-odds of class 'b'"."""
        return effect_words(self.link, self.output)

    def __str__(self) -> str:
        promise = {1: ", which never falls with it", -1: ", which never rises with it", 0: ""}[self.sign]
        lines = [f"{self.column}: what it does to the {self.words}{promise}"]
        if np.isfinite(self.importance):
            lines.append(f"  on average it moves it by {number(self.importance)}, at most by {number(self.observed)}")
        lines += [f"  promised: {words}" for words in self.promised]
        within = " within the training range" if self.within_range else ""
        lines.append(f"  proven: no change of it{within} moves it by more than {upwards(self.proven)}, in any row")
        return "\n".join(map(visible, lines))

    def plot(self, ax: Any = None) -> Any:
        """The effect with its proven band; returns the Axes."""
        from lambdak.explain.plots import draw_effect

        return draw_effect(self, ax)


def column_effect(
    readout: Readout,
    design: Design,
    i: int,
    steep: Float64Array | None = None,
    cells: Cells | None = None,
    importance: float = np.nan,
    most: int = _MOST_POINTS,
    work: Work | None = None,
) -> ColumnEffect:
    """The effect of column ``i`` on design rows, at about ``most`` points, with slopes (rows, columns) and cells.

    ``work`` is what integers may do to prove its sign, and that of further columns.
    """
    column = readout.columns[i]
    is_number = column.is_number
    (x, points), reference = column.points(most), column.baseline()
    change = _changes(readout, design, i, np.vstack([reference, points]))
    moves = (points - reference)[: len(x)]
    (low, high), norm = weyl(readout, moves, i), norms(readout, moves, i) * moves.any(axis=1)
    rounding = 2 * readout.error  # bands are about what is computed
    return ColumnEffect(
        column=column.name,
        kind="number" if is_number else "category",
        sign=_sign(readout, i, work or Work(DOUBTS)),
        x=x,
        reference=column.baseline_name,
        low=low - rounding,
        high=high + rounding,
        norm=norm,
        missing=float(change[:, -1].mean()) if is_number and column.missing >= 0 else np.nan,
        within_range=not column.bounded,
        per_unit=per_unit(readout, i).bound if is_number else np.nan,
        importance=importance,
        output=readout.name,
        link=readout.link.name,
        scale=column.axis_scale if isinstance(column, Numeric) else None,
        **_density(column, x, cells),
        **_seen(change[:, : len(x)], norm, of_outputs(readout, any_change(readout, i).bound)),
        **_slopes(steep[:, i] if is_number and steep is not None else np.empty(0)),
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
    finite = steep[np.isfinite(steep)]
    least, median, most = np.quantile(finite, [0.0, 0.5, 1.0]) if finite.size else np.full(3, np.nan)
    return {"slope_min": float(least), "slope_median": float(median), "slope_max": float(most)}


def _changes(readout: Readout, design: Design, i: int, cells: Float64Array) -> Float64Array:
    """Change of the raw score of each row when column i goes from the first cell to the others, (rows, others).

    Of a column that does nothing it is one row of zeros.
    """
    if not readout.acts[i]:
        return np.zeros((1, len(cells) - 1))
    others = Design(design.ids, design.weights.copy())
    others.weights[:, list(readout.slots[i])] = 0.0
    packed, of_cells = readout.packed(others), cells @ readout.column(i)
    scores = np.empty((len(design), len(cells)))
    for rows in readout.blocks(len(design), len(cells) * of_cells.shape[-1]):
        values = eigenvalue(packed[:, rows, None] + of_cells[:, None], readout.dim, readout.index)
        scores[rows] = readout.over_members(values)
    return scores[:, 1:] - scores[:, :1]


def _sign(readout: Readout, i: int, work: Work) -> int:
    """+1 or −1 if all increments of a column of numbers are proven to have that sign."""
    column = readout.columns[i]
    if not column.is_number or not readout.acts[i]:
        return 0
    rises, falls = (rising(column, readout.coef, sign).all_true(work) is True for sign in (1, -1))
    return int(rises) - int(falls)


def _density(column: Column, x: tuple[Any, ...], cells: Cells | None) -> dict[str, Any]:
    """How many rows lie where: in bins of equal width over the points, or at each level."""
    if cells is None:
        return {"counts": np.zeros(0), "edges": np.zeros(0)}
    if not isinstance(column, Numeric):
        names, counts = np.unique(column.shown_cells(cells).astype(str), return_counts=True)
        of = dict(zip(names.tolist(), counts.tolist(), strict=True))
        return {"counts": np.array([of.get(level, 0) for level in x], np.float64), "edges": np.zeros(0)}
    numbers = cells.numbers()
    low, high = x[0], x[-1]
    ends = (low, high) if low < high else (low - 0.5, low + 0.5)
    bins = np.linspace(*ends, _BINS + 1) if column.axis_scale.is_even else column.axis_scale.even(_BINS + 1)
    counts, edges = np.histogram(numbers[np.isfinite(numbers)], bins=bins)
    return {"counts": counts.astype(np.float64), "edges": edges}


@dataclass(frozen=True)
class Fan:
    """Quantiles of test rows, in the order of their medians, and the targets of these rows."""

    target: str
    levels: tuple[float, ...]
    quantiles: FloatArray  # (rows, quantile levels)
    y: FloatArray

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which of the test rows lie between the lowest and the highest quantile."""
        return np.asarray((self.quantiles[:, 0] <= self.y) & (self.y <= self.quantiles[:, -1]))
