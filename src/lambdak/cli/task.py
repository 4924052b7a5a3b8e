"""Which task the target of ``lambdak fit`` calls for: regression, classes, ordered classes, quantiles or times."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from lambdak.cli.errors import InputError, note
from lambdak.cli.options import quantile_levels

QUANTILES = "0.05,0.5,0.95"
REQUESTED = "as requested"
_MOST_CLASSES = 100


class Task(StrEnum):
    """Kinds of targets that a model can be fitted to."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"
    ORDINAL = "ordinal"
    QUANTILE = "quantile"
    SURVIVAL = "survival"


CLASSES = (Task.CLASSIFICATION, Task.ORDINAL)


def choose_task(task: Task, y: NDArray[Any], name: str) -> tuple[Task, str]:
    """The task and why it is this one."""
    if task is Task.SURVIVAL:
        return task, REQUESTED
    text, boolean = y.dtype.kind == "U", y.dtype.kind == "b"
    if task in CLASSES:
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


def check_usage(
    task: Task, loss: str | None, levels: tuple[float, ...] | None, offset: str | None, exposure: str | None
) -> None:
    """Refuse options that do not belong to the task."""
    wanted = {"--quantiles": (levels, Task.QUANTILE), "--loss": (loss, Task.REGRESSION)}
    if task in (Task.QUANTILE, Task.SURVIVAL):
        wanted["--offset"] = offset, Task.REGRESSION
    for option, (given, own) in (wanted | {"--exposure": (exposure, Task.REGRESSION)}).items():
        if given and task is not own:
            raise typer.BadParameter(f"belongs to --task {own.value}, but the task is {task.value}", param_hint=option)


def estimator_of(task: Task, levels: tuple[float, ...] | None, loss: str | None, power: float, **settings: Any) -> Any:
    """The estimator of a task."""
    from lambdak.estimators import (
        SpectralClassifier,
        SpectralOrdinalClassifier,
        SpectralQuantileRegressor,
        SpectralRegressor,
        SpectralSurvival,
    )
    from lambdak.losses import SquaredError

    if task is Task.SURVIVAL:
        if settings.pop("balance"):
            raise typer.BadParameter("does not belong to --task survival", param_hint="--balance")
        return SpectralSurvival(**settings)
    if task is Task.QUANTILE:
        return SpectralQuantileRegressor(levels or quantile_levels(QUANTILES), **settings)
    if task is Task.REGRESSION:
        return SpectralRegressor(loss or SquaredError.name, power=power, **settings)
    return (SpectralClassifier if task is Task.CLASSIFICATION else SpectralOrdinalClassifier)(**settings)


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
