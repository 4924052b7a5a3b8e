"""What each column of declined rows adds towards the decline, against the middle of the approvals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lambdak._types import Float64Array
from lambdak.explain.rows import RowWork
from lambdak.model import Model
from lambdak.model.rows import given_table
from lambdak.optimize.changes.approvals import Approval
from lambdak.table.read import Table, one_row

_DIGITS = 1e-9  # of the largest contribution of a row: what differs by less is a tie


def contributions(
    model: Model, approval: Approval, table: Table, rows: Any, raw: Float64Array, baseline: Any
) -> Float64Array:
    """(rows, columns): how far each column moves the decisive raw scores of some rows away from an approval.

    They add up to the distance to the baseline. Ties are exact: numbers are whole multiples of a unit of their row.
    """
    work = RowWork.read(model, table, baseline, None).take(rows)
    binding, total, error = approval.binding(raw), np.zeros((len(raw), len(model.encoder.columns))), np.zeros(len(raw))
    for t, term in enumerate(approval.goal.terms):
        own = np.flatnonzero(binding == t)
        for k, sign in term.parts if own.size else ():
            parts = replace(work.take(own.tolist()), chosen=np.full(len(own), k)).explain()
            total[own] -= sign * parts["attribution"]
            error[own] += parts["error"]
    unit = np.maximum(_DIGITS * np.abs(total).max(axis=1, initial=0.0), np.finfo(np.float64).tiny)[:, None]
    total[np.abs(total) <= np.maximum(error[:, None], unit)] = 0.0
    return np.asarray(np.round(total / unit) * unit)


def middle_approval(model: Model, approval: Approval, baseline: Any) -> Any:
    """One row to compare with: a single one as it is; of several the medians and most frequent levels of the approved.

    None stays None, the baseline of explanations.
    """
    if baseline is None:
        return None
    table = given_table(model, baseline)
    if table.shape[0] == 1:
        return table
    approved = np.flatnonzero(approval.reached(model.raw(table)))
    if not approved.size:
        raise ValueError(f"baseline must have rows that are approved; got {table.shape[0]} rows, none of them")
    pairs = zip(model.encoder.columns, model.encoder.positions(table), strict=True)
    cells = [_middle(column.is_number, table.cells(position), approved) for column, position in pairs]
    return one_row(cells, model.encoder.feature_names)


def _middle(is_number: bool, cells: Any, rows: Any) -> Any:
    if is_number:
        numbers = cells.numbers()[rows]
        seen = np.sort(numbers[~np.isnan(numbers)])
        return float(seen[len(seen) // 2]) if seen.size else None
    codes, levels = cells.levels()
    return levels[int(np.bincount(codes[rows]).argmax())]
