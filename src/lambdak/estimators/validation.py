"""Validation rows as ``fit`` takes them: in the spelling of HistGradientBoosting, or as the pair of other libraries."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from lambdak.losses import Loss
from lambdak.table.rows import Rows, given_together, read_rows
from lambdak.training.rows import GivenRows


def validation_arguments(
    X_val: Any,
    y_val: Any,
    sample_weight_val: ArrayLike | None = None,
    offset_val: ArrayLike | None = None,
    exposure_val: ArrayLike | None = None,
    eval_set: Any = None,
) -> dict[str, Any] | None:
    """Return the arguments of :func:`lambdak.table.rows.read_rows` for validation rows, or None without any."""
    if eval_set is not None:
        if X_val is not None or y_val is not None:
            raise ValueError("eval_set and X_val must not both be given: both are the validation rows")
        X_val, y_val = _pair(eval_set)
    beside = {"sample_weight": sample_weight_val, "offset": offset_val, "exposure": exposure_val}
    if given_together(X_val, y_val):
        return {"X": X_val, "y": y_val} | beside
    for name, value in beside.items():
        if value is not None:
            raise ValueError(f"{name}_val must be given with X_val and y_val; got {name}_val alone")
    return None


def validation_rows(arguments: dict[str, Any] | None) -> Rows | None:
    """Return the validation rows, checked, or None without any."""
    if arguments is None:
        return None
    rows = read_rows(**arguments, suffix="_val", positive=True)
    if not len(rows):
        raise ValueError("y_val must have at least one row; got none: omit it to validate on rows of X")
    return rows


def rows_of_numbers(rows: Rows, loss: Loss, validation: dict[str, Any] | None = None) -> GivenRows:
    """Return rows to train on whose targets are numbers, with their validation rows."""
    unseen = validation_rows(validation)
    if unseen is not None:
        unseen = GivenRows.of(unseen, loss, loss.check_target(unseen.target, "y_val"), suffix="_val")
    return GivenRows.of(rows, loss, loss.check_target(rows.target), unseen)


def _pair(eval_set: Any) -> tuple[Any, Any]:
    pairs = list(eval_set) if isinstance(eval_set, list) else [eval_set]
    if len(pairs) != 1 or not isinstance(pairs[0], tuple) or len(pairs[0]) != 2:
        raise ValueError(
            "eval_set must be one pair (X_val, y_val); weights and offsets are sample_weight_val, offset_val"
        )
    return pairs[0]
