"""What tables are made of: one output of a model, the rows that say how it is used, and what was observed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_weight
from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.governance.tables.profiles import anywhere
from lambdak.losses.links import LOG
from lambdak.model import Model
from lambdak.model.metrics import class_codes
from lambdak.model.readout import Readout, dense_rows
from lambdak.optimize.changes.goals import Chosen, chosen
from lambdak.table.design import Design
from lambdak.table.read import Table, read_table
from lambdak.table.rows import optional_rows, target_rows

_DRAWN = 4096  # rows, where the user gives none


@final
@dataclass(frozen=True, eq=False)
class Subject:
    """One output of a model on some rows.

    Attributes
    ----------
    readout : Readout
        The output; of the other one of two classes its negative.
    table : Table
        The user's rows, or rows drawn from the knots and levels.
    given : bool
        Whether they are the user's.
    design : Design
        The same for the model.
    raw : array of shape (rows,)
        Raw scores of the model.
    weight : array of shape (rows,)
        Exposure times sample weight.
    y : array of shape (rows,) or None
        What was observed per unit of exposure.
    """

    model: Model
    output: Chosen
    readout: Readout
    table: Table
    given: bool
    design: Design
    raw: Float64Array
    weight: Float64Array
    y: Float64Array | None

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
    own = _output(model, output)
    for name, given in (("y", y), ("exposure", exposure), ("sample_weight", sample_weight)):
        if X is None and given is not None:
            raise ValueError(f"{name} belongs to the rows of X; got {name} without X: give X, too")
    table = anywhere(model.encoder.columns, _DRAWN) if X is None else read_table(dense_rows(X))
    rows = table.shape[0]
    if not rows:
        raise ValueError("X must have at least one row, or be None; got none")
    design = model.encoder.transform(table, np.float64)
    raw = np.asarray(model.scores(design), np.float64).reshape(rows, -1)[:, own.position] * own.sign
    weight, exposed = _weights(own.readout, exposure, sample_weight, rows)
    observed = None if y is None else _observed(model, own, y, rows) / exposed
    return Subject(model, own, _turned(own), table, X is not None, design, raw, weight, observed)


def _output(model: Model, output: Any) -> Chosen:
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


def _turned(own: Chosen) -> Readout:
    """The readout whose raw score has the sign that is meant."""
    return own.readout if own.sign > 0 else own.readout.negated(own.readout.name)


def _weights(
    readout: Readout, exposure: ArrayLike | None, sample_weight: ArrayLike | None, rows: int
) -> tuple[Float64Array, Float64Array]:
    """Exposure times sample weight, and the exposure alone, 1 where it is zero."""
    weight = np.ones(rows) if sample_weight is None else check_weight(sample_weight, rows)
    if exposure is None:
        return weight, np.ones(rows)
    if readout.link is not LOG:
        raise ValueError(
            "exposure belongs to models with a log link, such as loss='poisson'; got one with the link "
            f"{readout.link.name!r}: use sample_weight"
        )
    own = np.asarray(optional_rows(exposure, rows, "exposure"))
    if (own < 0).any() or not (own * weight).any():
        raise ValueError(
            f"exposure must not be negative, and positive in some row; got {own.min()} in row {int(own.argmin())}"
        )
    return own * weight, np.where(own > 0, own, 1.0)


def _observed(model: Model, own: Chosen, y: ArrayLike, rows: int) -> Float64Array:
    """The target as what the tables predict: a number, or 1 for the class that is meant."""
    if model.classes is None:
        return np.asarray(optional_rows(_entries(y, rows), rows, "y"))
    codes = known_classes(model.classes, y, rows)
    if model.loss.sign < 0:  # cut-points: y ≤ the class at its position, or the opposite
        return np.asarray((codes <= own.position) == (own.sign > 0), np.float64)
    return np.asarray(codes == (1 if own.sign > 0 else 0), np.float64)


def known_classes(classes: NDArray[Any], y: ArrayLike, rows: int) -> NDArray[np.intp]:
    """Positions of the labels of all rows among the classes, (rows,)."""
    target = _entries(y, rows)
    codes = class_codes(classes, target)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ValueError(
            f"y must hold classes of the model, {classes.tolist()}; got {target.tolist()[row]!r} in row {row}"
        )
    return codes


def _entries(y: ArrayLike, rows: int) -> NDArray[Any]:
    target = target_rows(y)
    if len(target) != rows:
        raise ValueError(f"y must have {rows} entries, one per row of X; got {len(target)}")
    return target
