"""What tables are made of: an output of a model, and rows with what was observed, or drawn where none are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._types import Float64Array
from lambdak.eigen import eigenvalue
from lambdak.eigen.lazy import cached_property
from lambdak.governance.tables.factors import Factor, Positions
from lambdak.losses.links import LOG
from lambdak.model import Model
from lambdak.model.metrics import class_codes
from lambdak.model.readout import Readout, dense_rows, slots_of
from lambdak.optimize.changes.goals import ChosenPrediction, chosen
from lambdak.table.category_levels import OTHER
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table, named_array
from lambdak.table.rows import Rows, optional_read, optional_rows

_MOST_ROWS = 256
_MOST_MATRICES = 1 << 16  # rows times cells of a column


def profile(readout: Readout, design: Design, columns: Sequence[int], matrices: Float64Array) -> Float64Array:
    """The mean raw score with each of these matrices (members, cells, D) of some columns together, (cells,)."""
    most = int(np.clip(_MOST_MATRICES // matrices.shape[1], 1, _MOST_ROWS))
    rows = design.take(np.unique(np.linspace(0, len(design) - 1, most).astype(np.intp)))
    others = Design(rows.ids, rows.weights.copy())
    slots = slots_of(readout.columns)
    others.weights[:, [slot for i in columns for slot in slots[i]]] = 0.0
    packed = readout.packed(others)
    means = np.empty(matrices.shape[1])
    for some in readout.blocks(len(means), len(rows) * matrices.shape[2]):
        values = eigenvalue(packed[:, None] + matrices[:, some, None], readout.dim, readout.index)
        means[some] = readout.over_members(values).mean(axis=1)
    return means


def pair_profile(
    readout: Readout, design: Design, pair: tuple[int, int], first: Factor, second: Factor
) -> Float64Array:
    """The mean raw score in each cell of the table of two columns, at one vertex of each row, (n, m)."""
    scores = []
    for column, factor in zip(pair, (first, second), strict=True):
        matrices = factor.matrices(readout.column(column))
        scores.append(matrices[:, _middle_vertices(factor)])
    both = (scores[0][:, :, None] + scores[1][:, None]).reshape(len(readout.weights), -1, scores[0].shape[-1])
    return profile(readout, design, pair, both).reshape(len(first), len(second))


def _middle_vertices(factor: Factor) -> Positions:
    """A vertex of each row of a table; any one of a row that has none."""
    owner = factor.vertices.owner
    order, count = np.argsort(owner, kind="stable"), np.bincount(owner, minlength=len(factor))
    return np.asarray(order[np.minimum(np.cumsum(count) - count + count // 2, len(order) - 1)])


def anywhere(columns: Sequence[Column], count: int, seed: int = 0) -> Table:
    """Rows whose cells are drawn independently: at the knots, of which there are more where training had more rows."""
    rng = np.random.default_rng(seed)
    cells = np.empty((count, len(columns)), object)
    for i, column in enumerate(columns):
        cells[:, i] = _drawn(column, count, rng)
    return named_array(cells, [column.name for column in columns])


def _drawn(column: Column, count: int, rng: np.random.Generator) -> NDArray[Any]:
    if isinstance(column, Numeric):
        nodes = column.nodes()
        line = not len(column.corners())
        return rng.uniform(nodes[0], nodes[-1], count) if line else rng.choice(nodes, count)
    known = [level for level in column.known_levels if level is not OTHER] or [None]
    levels = np.empty(len(known), object)
    levels[:] = known
    return levels[rng.integers(0, len(known), count)]


_DRAWN = 4096  # rows, where the user gives none


@final
@dataclass(frozen=True, eq=False)
class Subject:
    """One output of a model on some rows.

    Attributes
    ----------
    readout : Readout
        The output; of the other one of two classes its negative.
    rows : Rows
        The user's rows, or rows drawn from the knots and levels.
    given : bool
        Whether they are the user's.
    design : Design
        The rows as the model reads them.
    raw : array of shape (rows,)
        Raw scores of the model.
    y : array of shape (rows,) or None
        What was observed per unit of exposure.
    """

    model: Model
    output: ChosenPrediction
    readout: Readout
    rows: Rows
    given: bool
    design: Design
    raw: Float64Array
    y: Float64Array | None

    @cached_property
    def weight(self) -> Float64Array:
        """Exposure times sample weight, (rows,)."""
        return self.rows.mass

    @cached_property
    def share(self) -> Float64Array:
        """The weights in units of the largest: their sums are finite."""
        return np.asarray(self.weight / self.weight.max())

    @property
    def signs(self) -> dict[int, int]:
        """Monotone columns of the raw score: position → sign."""
        turn = self.output.sign * self.model.loss.sign
        return {i: turn * sign for i, sign in self.model.promises.monotone.items()}

    @property
    def quantile_level(self) -> float | None:
        """The level of the quantile that is predicted; None for a mean."""
        levels = self.model.outputs.quantile_levels or self.model.loss.quantile_levels
        return levels[self.output.position] if levels else None

    @property
    def name(self) -> str:
        """What is predicted, in words."""
        return self.output.words


def read_subject(
    model: Model, X: Any, y: ArrayLike | None, exposure: ArrayLike | None, sample_weight: ArrayLike | None, output: Any
) -> Subject:
    """Check what the user gave."""
    chosen_output = _output(model, output)
    rows = optional_read(dense_rows(X), y, sample_weight, exposure=exposure)
    if rows is None:
        rows = Rows(anywhere(model.encoder.columns, _DRAWN))
    design = model.encoder.transform(rows.X, np.float64)
    scores = np.asarray(model.scores(design), np.float64).reshape(len(rows), -1)
    raw = scores[:, chosen_output.position] * chosen_output.sign
    if exposure is not None and chosen_output.readout.link.free is not LOG:
        raise ValueError(
            "exposure belongs to models with a log link, such as loss='poisson'; got one with the link "
            f"{chosen_output.readout.link.name!r}: use sample_weight"
        )
    rows.counted()
    observed = None if rows.y is None else _observed(model, chosen_output, rows)
    return Subject(model, chosen_output, _turned(chosen_output), rows, X is not None, design, raw, observed)


def _output(model: Model, output: Any) -> ChosenPrediction:
    if model.loss.link.joint:
        known = np.asarray(model.classes).tolist()
        raise ValueError(
            f"tables add up to one raw score, and a probability among {len(known)} classes needs {len(known)} of them: "
            f"fit a classifier of two classes, such as y == {known[0]!r}, and make its tables"
        )
    if len(model.output_names) > 1 and output is None:
        levels = model.outputs.quantile_levels
        known = list(levels) if levels else np.asarray(model.classes).tolist()[:-1]
        what = "the quantile level" if levels else "the class up to which the probability counts"
        raise ValueError(f"output must name {what}, as this model has several outputs: one of {known}; got None")
    return chosen(model, output)


def _turned(wanted: ChosenPrediction) -> Readout:
    """The readout whose raw score has the sign that is meant."""
    return wanted.readout if wanted.sign > 0 else wanted.readout.negated(wanted.readout.name)


def _observed(model: Model, output: ChosenPrediction, rows: Rows) -> Float64Array:
    """The target as what the tables predict: a number per unit of exposure, or 1 for the class that is meant."""
    if model.classes is None:
        totals = optional_rows(rows.target, len(rows), "y")
        return np.asarray(replace(rows, y=totals).rates)
    codes = known_classes(model.classes, rows.target)
    if model.loss.sign < 0:  # cut-points: y ≤ the class at its position, or the opposite
        return np.asarray((codes <= output.position) == (output.sign > 0), np.float64)
    return np.asarray(codes == (1 if output.sign > 0 else 0), np.float64)


def known_classes(classes: NDArray[Any], target: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of the labels of all rows among the classes, (rows,)."""
    codes = class_codes(classes, target)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"y must hold classes of the model, {classes.tolist()}; got {target.tolist()[row]!r} in row {row}"
        )
    return codes
