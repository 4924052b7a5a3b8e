"""What users give to ``fit``, read and checked: validation rows, ordered classes, tables that are not in memory.

Validation rows come in the spelling of HistGradientBoosting, or as the pair of other libraries. Sorted labels are the
order of ordered classes only if their owner means that. Large tables are batches, or the part of one of many processes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from lambdak._checks import check_weight
from lambdak._types import PathLike
from lambdak.losses import Loss
from lambdak.model.offsets import row_offset
from lambdak.table.large.batches import Batches, Drawn, as_batches, drawn
from lambdak.table.read import read_table
from lambdak.table.rows import given_together, log_exposure, optional_rows, target_rows
from lambdak.training.checkpoint import NoCheckpoint
from lambdak.training.rows import GivenRows

if TYPE_CHECKING:
    from lambdak.training.finish import Fit
    from lambdak.training.large.choice import LargeRequest
    from lambdak.training.large.transport import Transport

_NUMBER = re.compile(r"\d+")
_MOST_NAMED = 6


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


def check_order(y: Any, classes: NDArray[Any]) -> None:
    """Refuse a categorical in another order than that of its sorted labels, and warn of words, which have none.

    ``classes`` are sorted.
    """
    labels = classes.tolist()
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):
        meant = [label for label in dtype.categories.tolist() if label in labels]
        if meant != labels:
            raise ValueError(
                f"y is ordered {_chain(meant)}, but classes are taken in the order of their sorted labels, "
                f"{_chain(labels)}: give numbers, such as y.cat.codes, or labels that sort in this order"
            )
    elif len(labels) > 2 and all(isinstance(label, str) for label in labels) and not _counts(labels):
        warnings.warn(
            f"classes are taken in the order of their sorted labels, {_chain(labels)}: if that is not their order, "
            "give numbers, or labels that sort as they are meant, such as '1 low', '2 high'",
            stacklevel=4,
        )


def _counts(labels: list[str]) -> bool:
    """Whether sorted labels count: by single letters or by numbers, behind what they have in common.

    >>> _counts(["A", "B", "C"]), _counts(["1 low", "2 high"]), _counts(["bad", "good", "ok"]), _counts(["10", "9"])
    (True, True, False, False)
    """
    places = enumerate(zip(*labels, strict=False))
    common = next((k for k, signs in places if len(set(signs)) > 1 or signs[0].isdigit()), 0)
    rest = [label[common:] for label in labels]
    if all(len(each) <= 1 for each in rest):
        return True
    found = [_NUMBER.match(each) for each in rest]
    numbers = [int(own[0]) for own in found if own]
    return len(numbers) == len(rest) and numbers == sorted(numbers)


def _chain(labels: list[Any]) -> str:
    shown = " < ".join(map(repr, labels[:_MOST_NAMED]))
    return f"{shown} < …" if len(labels) > _MOST_NAMED else shown


GivenBatches = tuple[Any, Any, Any, Any, Any, Any]  # X, y, sample_weight, offset, exposure, validation rows


def opened(X: Any) -> Any:
    """A large table as batches, and any other as it is."""
    batches = as_batches(X)
    return X if batches is None else batches


def is_elsewhere(X: Any, cache: PathLike | None = None, transport: Transport | None = None) -> bool:
    """Whether not all rows are in the memory of this process; X was :func:`opened`."""
    return cache is not None or transport is not None or isinstance(X, Batches)


def fit_elsewhere(
    request: LargeRequest, rows: GivenBatches, cache: PathLike | None, transport: Transport | None
) -> Fit:
    """The fit of batches of rows, or of the rows of all processes of a transport."""
    from lambdak.training.large.fit import TableSource, fit_alone, fit_together

    X, y, sample_weight, offset, exposure, unseen = rows
    if unseen is not None:
        raise ValueError("X_val cannot be given with a large table: rows of X are used for validation")
    if transport is not None:
        if not isinstance(request.checkpoint, NoCheckpoint):
            raise ValueError("checkpoint cannot be given with a transport: give one of them")
        parts = drawn if isinstance(X, Batches) else _in_memory
        return fit_together(request, parts(X, y, sample_weight, offset, exposure), transport)
    if not isinstance(X, Batches):
        raise TypeError(f"cache can be given only with a large table, such as a Parquet file; got {type(X).__name__}")
    return fit_alone(request, TableSource(X, y, sample_weight, offset, _place(X, cache), exposure))


def _place(batches: Batches, cache: PathLike | None) -> Path | None:
    """Where the cache is: beside a file or folder, in a folder that is given, or temporary."""
    from lambdak.table.large.cache import cache_place

    if batches.path is not None:
        return cache_place(batches.path, cache)
    name = "table" if batches.fingerprint is None else batches.fingerprint[:16]
    return None if cache is None else Path(cache) / f"{name}.lambdak-cache"


def _in_memory(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, offset: ArrayLike | None, exposure: ArrayLike | None = None
) -> Iterator[Drawn]:
    """A table in memory as one batch."""
    if issparse(X):
        raise TypeError("X must not be sparse with a transport: its rows have no fixed length; convert it to a table")
    table, target = read_table(X, keep=False), target_rows(y)
    if len(target) != table.shape[0]:
        raise ValueError(f"y must have {table.shape[0]} entries, one per row of X; got {len(target)}")
    weight = None if sample_weight is None else check_weight(np.asarray(sample_weight), len(target))
    added = optional_rows(offset, len(target), "offset") if exposure is None else log_exposure(exposure, len(target))
    if len(target):
        yield Drawn(0, table, target, weight, added)
