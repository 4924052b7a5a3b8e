"""What users give to ``fit``, read and checked: validation rows, ordered classes, tables that are not in memory.

Validation rows come in the spelling of HistGradientBoosting, or as the pair of other libraries. Ordered classes are in
the order of their type, or of sorted labels if their owner means that. Large tables are batches, or the part of one of
many processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from lambdak._types import PathLike
from lambdak.losses import Loss
from lambdak.table.large.batches import Batches, Drawn, as_batches, drawn
from lambdak.table.rows import Rows, given_together, read_rows
from lambdak.table.visible import warn_user
from lambdak.training.checkpoint import NoCheckpoint
from lambdak.training.rows import GivenRows

if TYPE_CHECKING:
    from lambdak.training.finish import Fit
    from lambdak.training.large.choice import LargeRequest
    from lambdak.training.large.transport import Transport

_NUMBER = re.compile(r"\d+")
_MOST_NAMED = 6


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


def in_label_order(classes: NDArray[Any], order: tuple[object, ...]) -> NDArray[Any]:
    """Return sorted classes from the lowest to the highest if an order is known; words without one are warned of."""
    labels = classes.tolist()
    if order:
        meant = [label for label in order if label in labels]
        if meant != labels and not isinstance(labels[0], str):
            raise ValueError(
                f"y is ordered {_chain(meant)}, but numbers are ordered classes in ascending order alone: give codes, "
                "such as y.cat.codes, or rename its categories to text"
            )
        return classes[[labels.index(label) for label in meant]]
    if len(labels) > 2 and all(isinstance(label, str) for label in labels) and not _counts(labels):
        warn_user(
            f"classes are taken in the order of their sorted labels, {_chain(labels)}: if that is not their order, "
            "give an ordered pandas categorical, or labels that sort as they are meant, such as '1 low', '2 high'"
        )
    return classes


def check_order(classes: NDArray[Any], order: tuple[object, ...]) -> None:
    """Refuse labels whose order is another one than that of the classes of a fitted model."""
    labels = classes.tolist()
    meant = [label for label in order if label in labels]
    if meant and meant != [label for label in labels if label in meant]:
        raise ValueError(
            f"y must have its classes in the order of the first fit, {_chain(labels)}; got {_chain(meant)}: reorder "
            "its categories, or fit a new model"
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


def opened(X: Any) -> Any:
    """A large table as batches, and any other as it is."""
    batches = as_batches(X)
    return X if batches is None else batches


def is_elsewhere(X: Any, cache: PathLike | None = None, transport: Transport | None = None) -> bool:
    """Whether not all rows are in the memory of this process; X was :func:`opened`."""
    return cache is not None or transport is not None or isinstance(X, Batches)


def fit_elsewhere(
    request: LargeRequest, X: Any, beside: Mapping[str, Any], cache: PathLike | None, transport: Transport | None
) -> Fit:
    """The fit of batches of rows, or of the rows of all processes of a transport; ``beside`` is what comes with X."""
    from lambdak.training.large.fit import TableSource, fit_alone, fit_together

    if transport is not None:
        if not isinstance(request.checkpoint, NoCheckpoint):
            raise ValueError("checkpoint cannot be given with a transport: give one of them")
        parts = drawn if isinstance(X, Batches) else _in_memory
        return fit_together(request, parts(X, **beside), transport)
    if not isinstance(X, Batches):
        raise TypeError(f"cache can be given only with a large table, such as a Parquet file; got {type(X).__name__}")
    return fit_alone(request, TableSource(X, **beside, place=_place(X, cache)))


def _place(batches: Batches, cache: PathLike | None) -> Path | None:
    """Where the cache is: beside a file or folder, in a folder that is given, or temporary."""
    from lambdak.table.large.cache import cache_place

    if batches.path is not None:
        return cache_place(batches.path, cache)
    name = "table" if batches.fingerprint is None else batches.fingerprint[:16]
    return None if cache is None else Path(cache) / f"{name}.lambdak-cache"


def _in_memory(X: Any, **beside: Any) -> Iterator[Drawn]:
    """A table in memory as one batch."""
    if issparse(X):
        raise TypeError("X must not be sparse with a transport: its rows have no fixed length; convert it to a table")
    rows = read_rows(X, **beside, positive=True, keep=False)
    if len(rows):
        offset = rows.offset if rows.exposure is None else np.log(rows.exposure)
        yield Drawn(rows.X, rows.target, rows.weight, offset)
