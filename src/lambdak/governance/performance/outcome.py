"""What one prediction of a model is about, and what was observed of it: means, a class, or whether a quantile holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import freeze_arrays
from lambdak._types import Float64Array
from lambdak.losses import LOG, Loss, SquaredError
from lambdak.model import Model
from lambdak.model.metrics import class_codes
from lambdak.model.output_choice import output_of, position_of

Task = Literal["numbers", "class", "coverage"]

_DEVIANCE = "deviance explained"
_TINY = float(np.finfo(np.float64).tiny)


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What was observed and what was expected per unit of exposure, row by row.

    Attributes
    ----------
    task : {"numbers", "class", "coverage"}
        Means of numbers; whether a row has a class; whether the target is at most a quantile, or between two.
    observed, expected : arrays of shape (n,)
        Numbers; 1 or 0, and a probability.
    order : array of shape (n,)
        What rows are ordered by.
    loss, null_loss : arrays of shape (n,)
        Of the model, and of the best constant.
    loss_name, explained : str
        What the loss is called, empty if it is none that people know, and what the share of it that is explained is.
    words : str or None
        What is observed; None for numbers, which the user names.
    """

    task: Task
    observed: NDArray[Any]
    expected: NDArray[Any]
    order: NDArray[Any]
    loss: NDArray[Any]
    null_loss: NDArray[Any]
    loss_name: str
    explained: str = "loss explained"
    words: str | None = None

    def __post_init__(self) -> None:
        for name in ("observed", "expected", "order", "loss", "null_loss"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        freeze_arrays(self)


def outcome_of(
    model: Model, raw: Any, target: NDArray[Any], rows: NDArray[np.intp], weight: Float64Array, output: Any
) -> Outcome:
    """What was observed of the output that is meant, in the rows of a table that count; ``weight`` is that of these."""
    loss, counted = model.loss, raw[rows]
    if model.classes is not None:
        return _of_class(model, counted, target, rows, weight, output)
    harmless = np.full_like(target, target[rows[0]])  # where rows do not count, so that messages name the others
    harmless[rows] = target[rows]
    raw, numbers = counted, loss.check_target(harmless)[rows]
    if loss.quantile_levels:
        return _of_quantiles(loss, raw, numbers, weight, output)
    output_of(model, output)
    return of_numbers(loss, raw, loss.predict(raw), numbers, weight)


def prediction_of(model: Model, raw: Any, output: Any) -> Float64Array:
    """One prediction of each row, (rows,): a mean, the probability of a class, or a quantile, if not the middle one."""
    predicted = np.asarray(model.loss.predict(raw), np.float64)
    if model.classes is not None:
        return predicted[:, class_position(model, output)]
    table = predicted if predicted.ndim == 2 else predicted[:, None]
    return table[:, output_of(model, output)[0]]


def of_numbers(loss: Loss, raw: Any, predicted: Any, target: Float64Array, weight: Float64Array) -> Outcome:
    """The outcome of predicted means."""
    constant = np.full(len(target), loss.start(target, weight)[0])
    with np.errstate(over="ignore", invalid="ignore"):
        own, null = loss.of_rows(loss.limited_raw(raw), target), loss.of_rows(constant, target)
    if loss.link is LOG:  # half a deviance
        return Outcome("numbers", target, predicted, predicted, 2 * own, 2 * null, f"{loss.name} deviance", _DEVIANCE)
    explained = "R²" if isinstance(loss, SquaredError) else "loss explained"
    return Outcome("numbers", target, predicted, predicted, own, null, "", explained)


def class_position(model: Model, output: Any) -> int:
    """The position of the class that is meant: the second one of two."""
    labels = np.asarray(model.classes).tolist()
    if output is not None:
        return position_of(labels, output, "a class")
    if len(labels) > 2:
        raise ValueError(
            f"output must say which of {len(labels)} classes is meant, one of {labels}: it is compared with all others "
            "together"
        )
    return 1


def _of_class(
    model: Model, raw: Any, target: NDArray[Any], rows: NDArray[np.intp], weight: Float64Array, output: Any
) -> Outcome:
    position = class_position(model, output)
    classes = np.asarray(model.classes)
    codes = class_codes(classes, target[rows])
    if (codes < 0).any():
        row = int(rows[np.argmax(codes < 0)])
        label = target[row : row + 1].tolist()[0]
        raise ValueError(f"y must hold known classes; got {label!r} at row {row}: they are {classes.tolist()}")
    observed = np.asarray(codes == position, np.float64)
    return of_chance(observed, model.loss.predict(raw)[:, position], weight, _class_words(classes, position))


def _class_words(classes: NDArray[Any], position: int) -> str:
    return f"share of class {classes.tolist()[position]!r}"


def of_chance(observed: Float64Array, chance: NDArray[Any], weight: Float64Array, words: str) -> Outcome:
    """The outcome of the probability of a class."""
    share = np.average(observed, weights=weight)
    own, null = _log_loss(observed, chance), _log_loss(observed, np.full(len(chance), share))
    return Outcome("class", observed, chance, chance, own, null, "log loss", words=words)


def _log_loss(observed: Float64Array, chance: NDArray[Any]) -> Float64Array:
    right = np.where(observed > 0, chance, 1.0 - chance)
    return np.asarray(-np.log(np.maximum(right, _TINY)))


def _of_quantiles(loss: Loss, raw: Any, y: Float64Array, weight: Float64Array, output: Any) -> Outcome:
    """How often the target is at most a quantile, or with None between the outer ones of several."""
    levels = loss.quantile_levels
    quantiles = loss.predict(raw).reshape(len(y), len(levels))
    if output is None and len(levels) > 1:
        low, high, middle = 0, len(levels) - 1, len(levels) // 2
        inside = (quantiles[:, low] <= y) & (y <= quantiles[:, high])
        share, words = levels[high] - levels[low], f"share between quantiles {levels[low]:g} and {levels[high]:g}"
        used = [low, high]
    else:
        middle = 0 if output is None else position_of(levels, output, "a quantile level")
        inside, share, used = y <= quantiles[:, middle], levels[middle], [middle]
        words = f"share up to quantile {share:g}"
    own = np.mean([_pinball(y, quantiles[:, i], levels[i]) for i in used], axis=0)
    constants = [np.quantile(y, levels[i], weights=weight, method="inverted_cdf") for i in used]
    null = np.mean([_pinball(y, c, levels[i]) for c, i in zip(constants, used, strict=True)], axis=0)
    flat = np.full(len(y), share)
    return Outcome("coverage", inside * 1.0, flat, quantiles[:, middle], own, null, "pinball loss", words=words)


def _pinball(y: Float64Array, quantile: Any, level: float) -> Float64Array:
    error = y - quantile
    return np.asarray(np.maximum(level * error, (level - 1.0) * error))
