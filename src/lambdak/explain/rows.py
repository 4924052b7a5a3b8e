r"""The numbers behind local explanations: rows and their baselines as matrices, one output each.

For a row with matrix A = A(x) and eigenvector v of λ_k, the slope of the raw score in column i is vᵀ A_i'(x_i) v. From
a baseline b its change is shared out along the straight path of matrices, ⟨A_i(x_i) − A_i(b_i), ∫ v vᵀ dt⟩ each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue_vjp
from lambdak.eigen.packing import sym
from lambdak.explain.what_if import WhatIf, score_interval, scores_along
from lambdak.losses import Link
from lambdak.model import Model
from lambdak.model.output_choice import chosen_output
from lambdak.model.readout import Readout, active_values, dense_rows, readouts
from lambdak.model.rows import given_table
from lambdak.pencil import REPEATED_TOL
from lambdak.pencil.paths import PART_TOL, shared_out
from lambdak.pencil.spectrum import eigenspace_norms, repeated
from lambdak.pencil.variational import Game, courant_fischer
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.design import Design
from lambdak.table.number_scale import NumberScale
from lambdak.table.numeric_column import Numeric
from lambdak.table.read import Table, read_table


@dataclass(frozen=True, eq=False)
class RowWork:
    """What explanations of some rows are computed from."""

    outputs: tuple[Readout, ...]
    chosen: NDArray[np.intp]  # output of each row
    design: Design
    slopes: Design  # to the right at a knot
    left_slopes: Design
    baseline: Design  # one row for each

    @classmethod
    def read(cls, model: Model, table: Table, baseline: Any, output: Any) -> RowWork:
        """Rows of a table and their baselines, as in :func:`lambdak.explain.local_explanation.explain_local`."""
        outputs, encoder = readouts(model), model.encoder
        design = encoder.transform(table, np.float64)
        rows = len(design)
        base = (
            baseline_row(outputs[0])
            if baseline is None
            else encoder.transform(given_table(model, baseline), np.float64)
        )
        if len(base) not in (1, rows):
            raise ValueError(f"baseline must have one row, or {rows}, one for each row of X; got {len(base)}")
        base = base.take(np.arange(rows) if len(base) == rows else np.zeros(rows, int))
        if output is None and model.loss.link.joint:
            chosen = all_scores(outputs, design).argmax(axis=1)
        else:
            named, position = chosen_output(model, output)
            outputs = (*outputs[:position], named, *outputs[position + 1 :])
            chosen = np.full(rows, position)
        return cls(outputs, chosen, design, encoder.slopes(table), encoder.slopes(table, leftwards=True), base)

    @property
    def link(self) -> Link:
        """How predictions come from raw scores."""
        return self.outputs[0].link

    def take(self, rows: Sequence[int]) -> RowWork:
        """What the explanations of the rows at these positions are computed from."""
        index = np.asarray(rows)
        parts = (part.take(index) for part in (self.design, self.slopes, self.left_slopes, self.baseline))
        return RowWork(self.outputs, self.chosen[index], *parts)

    def explain(self) -> dict[str, Any]:
        """The arrays of a :class:`~lambdak.explain.local_explanation.LocalExplanation`, and the ``allowed`` error."""
        rows, n = len(self.design), len(self.outputs[0].columns)
        columns: dict[str, Any] = {
            name: np.empty(rows) for name in ("score", "baseline_score", "gap", "error", "allowed")
        }
        columns["repeated"] = np.zeros(rows, bool)
        columns |= {name: np.empty((rows, n)) for name in ("influence", "influence_bound", "attribution")}
        for i in np.unique(self.chosen):
            positions = np.flatnonzero(self.chosen == i)
            output = self.outputs[i]
            floats = 4 * output.coef.shape[2] + output.dim**2 + len(output.columns)
            for block in output.blocks(len(positions), floats):
                for name, values in self._explain_rows(output, positions[block]).items():
                    columns[name][positions[block]] = values
        columns["prediction"] = self._predictions(self.design, columns["score"])
        columns["baseline_prediction"] = self._predictions(self.baseline, columns["baseline_score"])
        return columns

    def _explain_rows(self, output: Readout, rows: NDArray[np.intp]) -> dict[str, Any]:
        design, base = self.design.take(rows), self.baseline.take(rows)
        packed, first = output.packed(design), output.packed(base)
        here = local_slopes(output, packed, self.slopes.take(rows), self.left_slopes.take(rows))
        size = _largest_parts(output, design, base)
        mean, error = shared_out(first, packed - first, output.index, size)
        weight = (output.scale * output.weights)[:, None, None] * mean
        shares = active_values(output, weight, design) - active_values(output, weight, base)
        return {
            **here._asdict(),
            "baseline_score": output.score(first),
            "attribution": shares.sum(axis=0),
            "error": output.over_members(error),
            "allowed": output.over_members(PART_TOL * np.maximum(size, 1.0)),
        }

    def _predictions(self, design: Design, scores: Float64Array) -> Float64Array:
        if not self.link.joint:
            return self.link.predictions(scores)
        shares = self.link.predictions(all_scores(self.outputs, design))
        return shares[np.arange(len(scores)), self.chosen]

    def what_if(self, name: str, between: Sequence[Any] | None) -> WhatIf:
        """Proven intervals of all rows while one column moves."""
        columns = self.outputs[0].columns
        names = [column.name for column in columns]
        if name not in names:
            raise ValueError(f"column must be one of {names}; got {name!r}{asked(name, names)}")
        i = names.index(name)
        cells = columns[i].check_between(between)
        intervals = (score_interval(output, self.design, i, cells) for output in self.outputs)
        low, high = (np.array(ends) for ends in zip(*intervals, strict=True))
        rows = np.arange(len(self.design))
        if self.link.joint:
            lower, upper = (self._share_bound(a, b) for a, b in ((low, high), (high, low)))
        else:
            lower, upper = (self.link.predictions(ends[self.chosen, rows]) for ends in (low, high))
        lower, upper = self.link.outwards(lower, upper)
        return WhatIf(
            name, tuple(cells), lower, upper, low[self.chosen, rows], high[self.chosen, rows],
            kind="number" if columns[i].is_number else "category",
            output=tuple(self.outputs[position].name for position in self.chosen),
            link=self.link.name,
            _along=lambda row: self._along(row, i, cells),
            scale=_scale(columns[i], cells),
        )  # fmt: skip

    def _along(self, row: int, i: int, cells: Sequence[Any]) -> tuple[tuple[Any, ...], Float64Array]:
        """Cells of column i, and what is predicted for one row at each of them."""
        position, design = int(self.chosen[row]), self.design.take([row])
        along = [scores_along(output, design, i, cells) for output in self.outputs]
        scores = np.stack([scores[0] for _, scores in along], axis=-1)  # (cells, outputs)
        joint = self.link.joint
        return along[0][0], self.link.predictions(scores)[:, position] if joint else self.link.predictions(
            scores[:, position]
        )

    def _share_bound(self, row_scores: Float64Array, others: Float64Array) -> Float64Array:
        """Share of the chosen class at its raw score in ``own`` (classes, rows) and those of the rest in ``others``."""
        rows = np.arange(len(self.chosen))
        scores = others.copy()
        scores[self.chosen, rows] = row_scores[self.chosen, rows]
        return self.link.predictions(scores.T)[rows, self.chosen]

    def game(self, row: int, member: int) -> Game:
        """The Courant–Fischer game of one member at one row."""
        output = self.outputs[self.chosen[row]]
        check_int(member, "member", 0, len(output.weights))
        return courant_fischer(output.packed(self.design.take([row]))[member, 0], output.index)


class Slopes(NamedTuple):
    """What the model does near some rows; see :class:`~lambdak.explain.local_explanation.LocalExplanation`."""

    score: Float64Array
    gap: Float64Array
    repeated: NDArray[np.bool_]
    influence: Float64Array
    influence_bound: Float64Array


def local_slopes(output: Readout, packed: Float64Array, slopes: Design, left_slopes: Design) -> Slopes:
    """Slopes of rows with matrices ``packed`` (members, rows, D), from the derivatives of their design."""
    spectrum, basis = eigenpair(packed, output.dim, range(output.dim))
    values, vectors = np.asarray(spectrum, np.float64), np.asarray(basis, np.float64)
    same = repeated(values, output.index, REPEATED_TOL)
    kinks = (same.sum(axis=-1) > 1).any(axis=0)
    outer = eigenvalue_vjp(np.ascontiguousarray(vectors[..., output.index, :]), np.ones(values.shape[:-1]))
    weight = (output.scale * output.weights)[:, None, None] * outer
    right, left = (active_values(output, weight, some) for some in (slopes, left_slopes))
    influence, bound = right.sum(axis=0), np.maximum(np.abs(right).sum(axis=0), np.abs(left).sum(axis=0))
    for row in np.flatnonzero(kinks):
        sides = (some.take([int(row)]) for some in (slopes, left_slopes))
        bound[row] = np.max([_eigenspace_bound(output, side, vectors[:, row], same[:, row]) for side in sides], axis=0)
        influence[row] = np.nan
    score = output.start + output.over_members(values[..., output.index])
    gap = output.scale * _neighbour(values, output.index).min(axis=0)
    return Slopes(score, gap, kinks, influence, bound)


def all_scores(outputs: Sequence[Readout], design: Design) -> Float64Array:
    """Raw scores of all outputs, (rows, outputs)."""
    scores = np.empty((len(design), len(outputs)))
    for j, output in enumerate(outputs):
        for rows in output.blocks(len(design), output.coef.shape[2]):
            scores[rows, j] = output.score(output.packed(design.take(rows)))
    return scores


def observed_table(X: Any) -> Table:
    """The rows of X to observe a model on, of which there is at least one."""
    table = read_table(dense_rows(X))
    if not table.shape[0]:
        raise ValueError("X must have at least one row to observe, or be None; got none")
    return table


def baseline_row(readout: Readout) -> Design:
    """Return one row: the medians of numbers, and no level of a category, which is the average of its levels."""
    slots = 1 + sum(column.n_slots for column in readout.columns)
    ids, weights = np.zeros((1, slots), np.int32), np.zeros((1, slots))
    weights[0, 0] = 1.0
    for column, places in zip(readout.columns, readout.slots, strict=True):
        row = column.baseline()
        active = np.flatnonzero(row)
        ids[0, places.start : places.start + len(active)] = column.start + active
        weights[0, places.start : places.start + len(active)] = row[active]
    return Design(ids, weights)


def _largest_parts(output: Readout, design: Design, base: Design) -> Float64Array:
    """The largest ‖A_m,i(row) − A_m,i(baseline)‖ over the columns i, (members, rows)."""
    largest = np.zeros((len(output.coef), len(design)))
    for slots in (output.slots[i] for i in output.acting):
        part = sum(
            sign * some.weights[:, [slot]] * output.coef[:, some.ids[:, slot]]
            for sign, some in ((1.0, design), (-1.0, base))
            for slot in slots
        )
        np.maximum(largest, np.linalg.norm(part, axis=-1), out=largest)
    return largest


def _eigenspace_bound(output: Readout, slopes: Design, vectors: Float64Array, same: NDArray[np.bool_]) -> Float64Array:
    """Σ_m w_m ‖V_mᵀ A_i' V_m‖₂ of one row, (columns,): ``vectors`` (members, d, d) in rows, V those marked."""
    Z = slopes.to_sparse(output.coef.shape[1])
    parts = []
    for coef, basis, marked in zip(output.coef, vectors, same, strict=True):
        matrices = [sym(Z[:, [*range(column.start, column.stop)]] @ coef[column.start : column.stop])[0]
                    for column in output.columns]  # fmt: skip
        parts.append(eigenspace_norms(np.array(matrices), basis[None], marked[None])[0])
    return output.over_members(np.array(parts))


def _neighbour(values: Float64Array, index: int) -> Float64Array:
    """Distance from λ_k to the nearest other eigenvalue, (...,); infinite if there is no other."""
    others = np.delete(values, index, axis=-1)
    return np.asarray(np.abs(others - values[..., index, None]).min(axis=-1, initial=np.inf))


def _scale(column: Column, between: Sequence[Any]) -> NumberScale | None:
    """The axis of a column of numbers; an even one where a range does not reach what is compressed."""
    if not isinstance(column, Numeric):
        return None
    scale, (low, high) = column.axis_scale, map(float, between)
    return scale if low < scale.first or high > scale.last else NumberScale(low, low, high, high, column.whole)
