"""What two columns do together, as numbers over a grid of their cells: what is drawn here, and in a report.

With S(a, b) the mean raw score of the rows when the two columns are at a and b and all others stay, and r the baseline
cells, the effect is S(a, b) − S(r, r), and the part that only both have is S(a, b) − S(a, r) − S(r, b) + S(r, r).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.explain.rows import baseline_row, observed_table
from lambdak.explain.wording import Amounts, cell_text, effect_words, reference_words, separated_cell
from lambdak.model import Model
from lambdak.model.output_choice import chosen_output
from lambdak.model.readout import Readout
from lambdak.table.cells import Cells
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.frames import make_frame
from lambdak.table.number_scale import NumberScale
from lambdak.table.numeric_column import Numeric
from lambdak.table.rows import spread_rows
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

_POINTS = 24  # of a number
_MOST_LEVELS = 12  # of a category, those that move most
_MOST_ROWS = 60  # that raw scores are averaged over
_MOST_SEEN = 400  # rows whose cells are kept


@final
@dataclass(frozen=True, eq=False, repr=False)
class PairSurface(Shown):
    """Two columns over a grid, in units of the raw score; printed, it says where they do most.

    Attributes
    ----------
    columns, kinds : pairs of str
        Their names, and "number" or "category".
    x, y : tuples
        Numbers or levels of the first and of the second column.
    reference : pair
        What changes are counted from: medians, or the average of all levels.
    effect : array of shape (len(x), len(y))
        Mean change of the raw score when both columns go from the reference to a point of the grid.
    joint : array of shape (len(x), len(y))
        What that adds to the sum of the changes that each column causes alone.
    seen : array of shape (rows, 2)
        Where rows of X lie: numbers, or positions among the levels; NaN where a cell is missing or not in the grid.
    hidden : pair of int
        Levels of each column that are not in the grid.
    output, link : str
        What the raw score stands for, and how predictions come from it.
    scales : pair of NumberScale or None
        Where numbers stand on the axes.
    """

    columns: tuple[str, str]
    kinds: tuple[str, str]
    x: tuple[Any, ...]
    y: tuple[Any, ...]
    reference: tuple[float | str, float | str]
    effect: Float64Array
    joint: Float64Array
    seen: Float64Array
    hidden: tuple[int, int]
    output: str
    link: str
    scales: tuple[NumberScale | None, NumberScale | None] = (None, None)
    _like: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def words(self) -> str:
        """What the effect is a change of."""
        return effect_words(self.link, self.output)

    @property
    def references(self) -> list[str]:
        """What changes of each column are counted from, in words."""
        return [*map(reference_words, self.columns, self.reference)]

    def __str__(self) -> str:
        most = np.unravel_index(int(np.abs(self.joint).argmax()), self.joint.shape)
        cells = zip(self.columns, (self.x[most[0]], self.y[most[1]]), self.kinds, strict=True)
        where = " and ".join(f"{name} = {separated_cell(cell_text(cell), kind)}" for name, cell, kind in cells)
        amounts = Amounts.of(self.link, [self.effect[most]])
        text = (
            f"{self.columns[0]} and {self.columns[1]} act together most at {where}: there they move the {self.words} "
            f"by {amounts.part(float(self.effect[most]))} against {' and '.join(self.references)}. Changed one by one "
            f"they would come to {amounts.part(float(self.effect[most] - self.joint[most]))}; the difference is what "
            "only both together do."
        )
        return visible(text)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, for JSON: what is not known is None."""
        grid = {name: getattr(self, name).tolist() for name in ("effect", "joint")}
        seen = [[None if np.isnan(cell) else cell for cell in row] for row in self.seen.tolist()]
        words = {name: list(getattr(self, name)) for name in ("columns", "kinds", "x", "y", "reference", "hidden")}
        return words | grid | {"seen": seen, "output": self.output, "link": self.link}

    def to_frame(self) -> Any:
        """One line for each point of the grid, in a frame of the library that X came from."""
        first, second = np.meshgrid(np.array(self.x, object), np.array(self.y, object), indexing="ij")
        cells = {self.columns[0]: first.ravel(), self.columns[1]: second.ravel()}
        return make_frame(cells | {"effect": self.effect.ravel(), "joint": self.joint.ravel()}, self._like)

    def plot(self, ax: Any = None, *, joint_only: bool = False) -> Any:
        """A map of the effect, or with ``joint_only`` of what only both columns have; returns the Axes."""
        from lambdak.explain.plots import draw_pair

        return draw_pair(self, ax, joint_only)


def pair_surface(model: Model, X: Any, first: str, second: str, output: Any = None) -> PairSurface:
    """What two columns do together on the rows of X; ``output`` is as in :func:`lambdak.explain.explain_global`."""
    readout, _ = chosen_output(model, output)
    names = [column.name for column in readout.columns]
    for name in (first, second):
        if name not in names:
            raise ValueError(f"column must be one of {names}; got {name!r}{asked(name, names)}")
    if first == second:
        raise ValueError(f"a pair must be two columns; got {first!r} twice")
    i, j = names.index(first), names.index(second)
    if X is None:
        return surface_of(readout, baseline_row(readout), (i, j), None, None)
    table = observed_table(X)
    rows = spread_rows(table.shape[0], _MOST_SEEN)
    design = model.encoder.transform(table, np.float64).take(spread_rows(table.shape[0], _MOST_ROWS))
    positions = model.encoder.positions(table)
    return surface_of(readout, design, (i, j), (table.cells(positions[i], rows), table.cells(positions[j], rows)), X)


def surface_of(
    readout: Readout, design: Design, pair: tuple[int, int], cells: tuple[Cells, Cells] | None, like: Any
) -> PairSurface:
    """The surface of two columns over design rows, with those of their ``cells`` that were seen."""
    some = design.take(spread_rows(len(design), _MOST_ROWS))
    columns = [readout.columns[i] for i in pair]
    still = Design(some.ids, some.weights.copy())
    for i in pair:
        still.weights[:, list(readout.slots[i])] = 0.0
    others = readout.packed(still)  # (members, rows, D)
    grids = [_grid(readout, others, i) for i in pair]
    mean = _means(readout, others, [np.vstack([column.baseline(), points]) @ readout.column(i)
                                    for column, (_, points), i in zip(columns, grids, pair, strict=True)])  # fmt: skip
    x, y = (names for names, _ in grids)
    return PairSurface(
        columns=(columns[0].name, columns[1].name),
        kinds=(_kind(columns[0]), _kind(columns[1])),
        x=x,
        y=y,
        reference=(columns[0].baseline_name, columns[1].baseline_name),
        effect=mean[1:, 1:] - mean[0, 0],
        joint=mean[1:, 1:] - mean[1:, :1] - mean[:1, 1:] + mean[0, 0],
        seen=np.zeros((0, 2)) if cells is None else _seen(columns, (x, y), cells),
        scales=(_scale(columns[0]), _scale(columns[1])),
        hidden=(_hidden(columns[0], x), _hidden(columns[1], y)),
        output=readout.name,
        link=readout.link.name,
        _like=like,
    )


def _scale(column: Column) -> NumberScale | None:
    return column.axis_scale if isinstance(column, Numeric) else None


def _kind(column: Column) -> str:
    return "number" if column.is_number else "category"


def _hidden(column: Column, shown: tuple[Any, ...]) -> int:
    return 0 if column.is_number else len(column.cell_names()) - len(shown)


def _grid(readout: Readout, others: Float64Array, i: int) -> tuple[tuple[Any, ...], Float64Array]:
    """Points of a column, evenly over the range of a number, or the levels that move the raw score most, in order."""
    column = readout.columns[i]
    names, cells = column.points(_POINTS)
    if column.is_number:
        even = _even(column, names)
        return tuple(even.tolist()), column.cell_rows(even)
    moved = _means(readout, others, [cells @ readout.column(i)])
    strongest = np.argsort(-np.abs(moved - moved.mean()), kind="stable")[:_MOST_LEVELS]
    kept = strongest[np.argsort(moved[strongest], kind="stable")]
    return tuple(names[k] for k in kept), cells[kept]


def _even(column: Column, names: tuple[Any, ...]) -> Float64Array:
    """Numbers evenly along the axis of a column, whole ones of a whole column."""
    if not isinstance(column, Numeric) or not names[0] < names[-1]:
        return np.array(names[:1])
    scale = column.axis_scale
    even = np.linspace(names[0], names[-1], _POINTS) if scale.is_even else scale.even(_POINTS)
    return np.unique(np.rint(even)) if column.whole else even


def _means(readout: Readout, others: Float64Array, parts: list[Float64Array]) -> Float64Array:
    """Mean raw score over the rows with every combination of the parts, each (members, points, D), (points, …)."""
    whole = parts[0] if len(parts) == 1 else parts[0][:, :, None] + parts[1][:, None]
    shape, flat = whole.shape[1:-1], whole.reshape(len(whole), -1, whole.shape[-1])
    means = np.empty(flat.shape[1])
    for some in readout.blocks(len(means), others.shape[1] * others.shape[2]):
        values = eigenvalue(others[:, None] + flat[:, some, None], readout.dim, readout.index)
        means[some] = readout.start + readout.over_members(values).mean(axis=1)
    return means.reshape(shape)


def _seen(columns: list[Column], names: tuple[tuple[Any, ...], ...], cells: tuple[Cells, Cells]) -> Float64Array:
    """Where rows lie on both axes, (rows, 2)."""
    places = [_places(*column_cells) for column_cells in zip(columns, names, cells, strict=True)]
    return np.column_stack(places)[spread_rows(len(places[0]), _MOST_SEEN)]


def _places(column: Column, names: tuple[Any, ...], cells: Cells) -> NDArray[np.float64]:
    if column.is_number:
        return np.asarray(cells.numbers())
    position = {name: float(k) for k, name in enumerate(names)}
    return np.array([position.get(name, np.nan) for name in column.shown_cells(cells).tolist()])
