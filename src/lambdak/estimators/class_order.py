"""Whether labels that are sorted are in the order that their owner means."""

from __future__ import annotations

import re
import warnings
from typing import Any

from numpy.typing import NDArray

_NUMBER = re.compile(r"\d+")
_MOST_NAMED = 6


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
