"""Validation rows as ``fit`` takes them: in the spelling of HistGradientBoosting, or as the pair of other libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_weight
from lambdak.losses import Loss
from lambdak.model.offsets import row_offset
from lambdak.table.rows import given_together, target_rows
from lambdak.training.rows import GivenRows


@dataclass(frozen=True)
class Validation:
    """A table, its targets, and what comes with its rows."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None = None
    offset: ArrayLike | None = None
    exposure: ArrayLike | None = None

    @classmethod
    def given(
        cls,
        X_val: Any,
        y_val: Any,
        sample_weight_val: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
        exposure_val: ArrayLike | None = None,
        eval_set: Any = None,
    ) -> Self | None:
        """What a user gives to ``fit``, if anything."""
        if eval_set is not None:
            if X_val is not None or y_val is not None:
                raise ValueError("eval_set and X_val must not both be given: both are the validation rows")
            X_val, y_val = _pair(eval_set)
        beside = {"sample_weight_val": sample_weight_val, "offset_val": offset_val, "exposure_val": exposure_val}
        if given_together(X_val, y_val):
            return cls(X_val, y_val, *beside.values())
        for name, value in beside.items():
            if value is not None:
                raise ValueError(f"{name} must be given with X_val and y_val; got {name} alone")
        return None

    def of_numbers(self, loss: Loss) -> GivenRows:
        """The rows of a loss whose targets are numbers."""
        return self.rows(loss, loss.check_target(target_rows(self.y, "y_val"), "y_val"))

    def rows(self, loss: Loss, target: NDArray[Any]) -> GivenRows:
        """The rows, with targets that were checked."""
        if not len(target):
            raise ValueError("y_val must have at least one row; got none: omit it to validate on rows of X")
        weight = None if self.sample_weight is None else check_weight(self.sample_weight, len(target), "_val")
        offset = row_offset(loss, self.offset, self.exposure, len(target), "_val")
        return GivenRows(self.X, target, weight, offset)


def _pair(eval_set: Any) -> tuple[Any, Any]:
    pairs = list(eval_set) if isinstance(eval_set, list) else [eval_set]
    if len(pairs) != 1 or not isinstance(pairs[0], tuple) or len(pairs[0]) != 2:
        raise ValueError(
            "eval_set must be one pair (X_val, y_val); weights and offsets are sample_weight_val, offset_val"
        )
    return pairs[0]
