"""Which task the target of ``lambdak fit`` calls for: regression, classes, ordered classes or quantiles."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.cli.errors import InputError, note

REQUESTED = "as requested"
_MOST_CLASSES = 100


class Task(StrEnum):
    """What kind of target it is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"
    ORDINAL = "ordinal"
    QUANTILE = "quantile"


def choose_task(task: Task, y: NDArray[Any], name: str) -> tuple[Task, str]:
    """The task and why it is this one."""
    text, boolean = y.dtype.kind == "U", y.dtype.kind == "b"
    if task in (Task.CLASSIFICATION, Task.ORDINAL):
        return task, REQUESTED
    if text:
        _refuse_stray_text(y, name)
    if task is Task.AUTO and (text or boolean):
        _refuse_many_classes(y, name)
        return Task.CLASSIFICATION, "its values are text" if text else "its values are booleans"
    if text or boolean:
        raise InputError(
            f"the target {name!r} must hold numbers for {task.value}; got {y[0].item()!r} in row 0: it looks like "
            "classes, so use --task classification"
        )
    if task is not Task.AUTO:
        return task, REQUESTED
    if len(np.unique(y)) == 2:
        note(f"the target {name!r} has two values: use --task classification if they are classes")
    return Task.REGRESSION, "its values are numbers"


def _refuse_stray_text(y: NDArray[Any], name: str) -> None:
    """Numbers with a few words among them are not classes."""
    number = np.array([_is_number(cell) for cell in y.tolist()])
    if 0.5 < number.mean() < 1:
        row = int(np.argmin(number))
        raise InputError(
            f"the target {name!r} holds text among its numbers: {y[row].item()!r} in row {row}. Correct or empty these "
            "cells, or use --task classification if all of them are names of classes"
        )


def _refuse_many_classes(y: NDArray[Any], name: str) -> None:
    classes = len(np.unique(y))
    if classes > _MOST_CLASSES:
        raise InputError(
            f"the target {name!r} holds {classes} different texts, such as {y[0].item()!r}: if they are classes, use "
            "--task classification; otherwise name another column with --target"
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
