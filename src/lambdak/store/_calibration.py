"""Tails of a distribution, and the levels that cover shares of rows ⇄ a field of the header and a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lambdak.losses import Loss, Predicts
from lambdak.model import Promises
from lambdak.model.calibration import HELD_OUT, LEFT_OUT, MOST_GROUPS, SHARES, Calibration
from lambdak.model.distribution import group_column
from lambdak.store._fields import damaged, fields, invalid, items, number, shown, whole
from lambdak.store._tensors import Form, Tensors
from lambdak.table.encoder import TableEncoder

FIELD = "calibration"
_NAMES = ("below", "above", "rows", "column", "groups", "source")
_MOST_ROWS = 1 << 40


@dataclass(frozen=True)
class CalibrationBlueprint:
    """What the header says of a calibration, checked, without its levels."""

    below: float
    above: float
    rows: tuple[int, ...]
    column: int | None
    groups: tuple[int, ...]
    source: str

    @classmethod
    def read(cls, value: object, loss: Loss, encoder: TableEncoder, promises: Promises) -> CalibrationBlueprint:
        """Check the field of the header."""
        parts = fields(value, FIELD, _NAMES)
        if loss.predicts is not Predicts.QUANTILES:
            raise damaged(f"{FIELD} belongs to quantiles only")
        steps = [number(parts[name], f"{name} of {FIELD}") for name in ("below", "above")]
        if min(steps) < 0:
            raise damaged(f"tails of {FIELD} must not be negative; got {steps}")
        rows = [whole(count, f"rows of {FIELD}", 1, _MOST_ROWS) for count in items(parts["rows"], f"rows of {FIELD}")]
        if parts["source"] not in (LEFT_OUT, HELD_OUT):
            raise damaged(f"source of {FIELD} must be {LEFT_OUT!r} or {HELD_OUT!r}; got {shown(parts['source'])}")
        column, groups = _groups(parts, encoder, promises, len(rows))
        return cls(steps[0], steps[1], tuple(rows), column, groups, parts["source"])

    @property
    def forms(self) -> dict[str, Form]:
        """The tensor that belongs to it, if rows were counted."""
        shape = (len(self.rows), 2, len(SHARES))
        return {FIELD: Form(np.dtype(np.float64), shape)} if self.rows else {}

    def build(self, tensors: Tensors) -> Calibration:
        """With its levels, which must be in order, so that a larger share has a wider interval."""
        tables = np.asarray(tensors[FIELD] if self.rows else np.empty((0, 2, len(SHARES))), np.float64)
        steps = np.diff(tables, axis=2)
        if (tables < 0).any() or (tables > 1).any() or (steps[:, 0] > 0).any() or (steps[:, 1] < 0).any():
            raise damaged(f"levels of {FIELD} must be in [0, 1], and further apart for larger shares")
        return Calibration(self.below, self.above, tables, self.rows, self.column, self.groups, self.source)


def _groups(
    parts: dict[str, Any], encoder: TableEncoder, promises: Promises, tables: int
) -> tuple[int | None, tuple[int, ...]]:
    """The category whose levels are groups, and their codes: one for each table after the first."""
    listed = items(parts["groups"], f"groups of {FIELD}", 0, MOST_GROUPS)
    if parts["column"] is None:
        if listed or tables > 1:
            raise damaged(f"groups of {FIELD} must be those of a column")
        return None, ()
    column = whole(parts["column"], f"column of {FIELD}", 0, encoder.n_features)
    try:
        group_column(column, encoder, promises)
    except ValueError as error:
        raise invalid(error) from None
    groups = tuple(whole(code, f"groups of {FIELD}", 0, encoder.columns[column].width) for code in listed)
    if sorted({*groups}) != list(groups) or len(groups) + 1 != max(tables, 1):
        raise damaged(f"groups of {FIELD} must be in order, each with its rows")
    return column, groups


def describe_calibration(calibration: Calibration) -> tuple[dict[str, Any], Tensors]:
    """Field of the header, and tensor."""
    said = {name: getattr(calibration, name) for name in _NAMES}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}
    return plain, {FIELD: np.ascontiguousarray(calibration.tables)} if calibration.counted else {}
