"""What is to be reached: predictions on one side of a number, or a class, as inequalities between raw scores.

Rounding makes three zones of every inequality Σ ± s_k(x) ≥ limit: beyond ``certain`` the prediction is there whatever
rounding does, below ``possible`` it is not, and between the two only ``predict`` can tell. Proofs use the second limit,
searches the first. Where a model has several predictions, ``ChosenPrediction`` is the one that is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Link
from lambdak.losses.contract import Predicts
from lambdak.losses.links import EXPONENT_LIMIT
from lambdak.model import Model
from lambdak.model.output_choice import output_of
from lambdak.model.readout import Readout, readouts
from lambdak.optimize.axes import Axis
from lambdak.optimize.changes.rows import DecidedRow, Surroundings
from lambdak.optimize.relaxation import Boxes, Separable, relax
from lambdak.optimize.scores import Score, restrict

_CROSSED = 1e-9  # log-odds by which cut-points, which are in order, may cross by rounding
_FAR = 1e150  # a limit that all raw scores, or none, are beyond: products with it are numbers
_EPS = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, eq=False)
class ChosenPrediction:
    """link(sign · raw score at ``position``): the sign is −1 for the other one of two classes.

    Attributes
    ----------
    words : str
        What it is: "the prediction", "the probability of class 'yes'".
    """

    readout: Readout
    position: int
    sign: int
    words: str

    def predictions(self, raw: Float64Array) -> Float64Array:
        """Predictions as ``predict`` returns them, (n,), of raw scores (n, outputs)."""
        return self.link.predictions(self.sign * raw[:, self.position])

    @property
    def link(self) -> Link:
        """From its sign times the raw score to the prediction."""
        return self.readout.link if self.sign > 0 else self.readout.link.other


def chosen(model: Model, output: Any) -> ChosenPrediction:
    """The prediction that a class label or quantile level names, as in :func:`lambdak.optimize.predicted`."""
    if model.loss.link.joint:
        known = np.asarray(model.classes).tolist()
        raise ValueError(
            f"the probability of one of several classes depends on all of them: name one of {known} as the target of "
            "counterfactual, or leave out the threshold of margin"
        )
    position, complement = output_of(model, output)
    return ChosenPrediction(
        readouts(model)[position], position, -1 if complement else 1, _words(model, position, complement)
    )


def _words(model: Model, position: int, complement: bool) -> str:
    name = model.output_names[position]
    if model.classes is None:
        return "the prediction" if name == "prediction" else name
    if len(model.output_names) > 1:
        return f"the probability of {name}"
    labels = np.asarray(model.classes).tolist()
    return f"the probability of class {labels[int((model.loss.sign > 0) != complement)]!r}"


class Inequality(NamedTuple):
    """Σ sign · raw score over (output, sign) ≥ ``possible`` wherever it may hold, and it holds from ``certain`` on."""

    parts: tuple[tuple[int, int], ...]
    possible: float
    certain: float


@final
@dataclass(frozen=True, eq=False)
class Goal:
    """What raw scores are to reach: that every term holds, or with ``every`` = False any of them.

    Attributes
    ----------
    reached : callable
        Whether raw scores (n, outputs), as computed by ``predict``, reach it, (n,).
    words : str
        "the prediction is at least 3", "the class is 'yes'".
    about : ChosenPrediction or None
        The prediction that it is about; None if that is the class.
    """

    terms: tuple[Inequality, ...]
    every: bool
    reached: Callable[[Float64Array], NDArray[np.bool_]]
    words: str
    about: ChosenPrediction | None = None

    def reached_at(self, row: DecidedRow, around: Surroundings, points: Float64Array) -> NDArray[np.bool_]:
        """Whether ``predict`` says that a row at points (n, axes) around it reaches the goal, (n,)."""
        return self.reached(row.raw([around.cells(x) for x in points]))


def threshold_goal(wanted: ChosenPrediction, relation: str, limit: float) -> Goal:
    """The prediction is >=, <=, > or < a number."""
    k, sign = wanted.position, wanted.sign
    compare = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}[relation]
    low, high = _certain_by_range(wanted.link, limit, compare) or raw_limits(wanted.link, limit)
    term = Inequality(((k, sign),), low, high) if relation in (">=", ">") else Inequality(((k, -sign),), -high, -low)
    said = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}[relation]
    return Goal(
        (term,),
        True,
        lambda raw: np.asarray(compare(wanted.predictions(raw), limit)),
        f"{wanted.words} is {said} {limit:g}",
        wanted,
    )


def _certain_by_range(
    link: Link, limit: float, compare: Callable[[float, float], np.bool_]
) -> tuple[float, float] | None:
    """What :func:`raw_limits` returns where all predictions in the range of a link reach a limit, or none does."""
    reached = compare(link.low, limit), compare(link.high, limit)
    if link.is_free or reached[0] != reached[1]:
        return None
    rising = bool(compare(1.0, 0.0))
    return (-np.inf, -np.inf) if reached[0] == rising else (np.inf, np.inf)


def raw_limits(link: Link, limit: float) -> tuple[float, float]:
    """Raw scores: below the first no prediction reaches the limit, from the second on all do."""
    low, high = _raw(link, limit / (1 + 2 * link.rounding)), _raw(link, limit / (1 - 2 * link.rounding))
    if not link.rounding:
        return low, high
    return low - 8 * _EPS * (abs(low) + 1), high + 8 * _EPS * (abs(high) + 1)


def _raw(link: Link, prediction: float) -> float:
    """The raw score of a prediction; infinite if there is none."""
    if link.name == "identity":
        return prediction
    if prediction <= 0:
        return -np.inf
    if link.name == "log":
        own = float(np.log(prediction))
        return own if own <= EXPONENT_LIMIT else np.inf
    return float(np.log(prediction) - np.log1p(-prediction)) if prediction < 1 else np.inf


def class_goal(model: Model, code: int) -> Goal:
    """The predicted class is this one."""
    return Goal(
        tuple(_class_terms(model, code)),
        True,
        lambda raw: _codes(model, raw) == code,
        f"the class is {_label(model, code)}",
    )


def other_class_goal(model: Model, code: int) -> Goal:
    """The predicted class is any other one."""
    terms = (
        Inequality(tuple((k, -sign) for k, sign in term.parts), -term.certain, -term.possible)
        for term in _class_terms(model, code)
    )
    return Goal(
        tuple(terms), False, lambda raw: _codes(model, raw) != code, f"the class is no longer {_label(model, code)}"
    )


def ordered_goal(model: Model, relation: str, code: int) -> Goal:
    """The predicted class of several ordered ones is at least, or at most, this one."""
    up = relation == ">="
    parts = _class_terms(model, code)
    terms = [part for part in parts if part.parts[0][1] == (-1 if up else 1)]
    compare = np.greater_equal if up else np.less_equal
    return Goal(
        tuple(terms),
        True,
        lambda raw: np.asarray(compare(_codes(model, raw), code)),
        f"the class is {'at least' if up else 'at most'} {_label(model, code)}",
    )


def _class_terms(model: Model, code: int) -> list[Inequality]:
    """The inequalities that make this the predicted class."""
    outputs, slack = len(model.output_names), 4 * model.loss.link.rounding
    if model.loss.link.joint:
        return [Inequality(((code, 1), (k, -1)), -slack, slack) for k in range(outputs) if k != code]
    if model.loss.predicts is Predicts.ORDERED_CLASSES:
        above = [Inequality(((code - 1, -1),), -_CROSSED, 0.0)] if code else []
        return [*above, *([Inequality(((code, 1),), -_CROSSED, 0.0)] if code < outputs else [])]
    link, half = model.loss.output_link, 0.5
    certain = 1 if link.low > half else 0 if link.high <= half else None  # the class of all rows: of a tie the first
    if certain is not None:
        slack = np.inf if certain == code else -np.inf
        return [Inequality(((0, 1 if code else -1),), -slack, -slack)]
    return [Inequality(((0, 1 if code else -1),), -slack, slack)]


def _codes(model: Model, raw: Float64Array) -> NDArray[np.intp]:
    return model.loss.classify(raw[:, 0] if model.outputs.single else raw)


def _label(model: Model, code: int) -> str:
    return repr(np.asarray(model.classes).tolist()[code])


@final
@dataclass(frozen=True, eq=False)
class Region:
    """Where a goal may be reached while some columns of one row move.

    Attributes
    ----------
    scores : tuple of Score
        Raw scores and negative ones.
    terms : sequence of (positions among ``scores``, possible, certain)
    every : bool
    """

    scores: tuple[Score, ...]
    terms: tuple[tuple[tuple[int, ...], float, float], ...]
    every: bool

    @classmethod
    def of(cls, goal: Goal, row: DecidedRow, axes: Sequence[Axis]) -> Region:
        """The region of a goal for a row."""
        outputs = readouts(row.model)
        needed = list(dict.fromkeys(part for term in goal.terms for part in term.parts))
        scores = tuple(_score(outputs[k], sign, row, axes) for k, sign in needed)
        limits = (np.clip([own.possible, own.certain], -_FAR, _FAR).tolist() for own in goal.terms)
        terms = [(tuple(map(needed.index, own.parts)), *ends) for own, ends in zip(goal.terms, limits, strict=True)]
        return cls(scores, tuple(terms), goal.every)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns that move."""
        return self.scores[0].axes

    def within(self, low: Float64Array, high: Float64Array) -> Region:
        """Region on shorter axes, from low to high ends (axes,): whatever looks at all their points is faster."""
        ends = zip(self.axes, low.tolist(), high.tolist(), strict=True)
        axes = tuple(_shorter(axis, *own) for axis, *own in ends)
        return replace(self, scores=tuple(_on_axes(score, axes) for score in self.scores))

    def excess(self, x: Float64Array) -> Float64Array:
        """By how much points (n, axes) are beyond what is certain to be enough, (n,), in units of raw scores."""
        return self._joined([score.values(x) - score.error for score in self.scores])

    def excess_of(self, packed: Sequence[Float64Array]) -> Float64Array:
        """By how much points are beyond what is certain to be enough, (n,), in units of raw scores.

        ``packed`` has the matrices of the points, (members, n, D), score by score.
        """
        pairs = zip(self.scores, packed, strict=True)
        return self._joined([score.of_packed(own) - score.error for score, own in pairs])

    def _joined(self, values: Sequence[Float64Array]) -> Float64Array:
        own = [np.sum([values[k] for k in positions], axis=0) - certain for positions, _, certain in self.terms]
        return np.asarray(np.minimum.reduce(own) if self.every else np.maximum.reduce(own))

    def uppers(self, boxes: Boxes, steps: int = 0) -> list[Separable]:
        """Upper bounds of the terms' left sides minus what makes them possible: below zero a term holds nowhere."""
        relaxed = [relax(score.negative(), boxes, steps) for score in self.scores]
        return [_upper([relaxed[k] for k in positions], possible) for positions, possible, _ in self.terms]


def _shorter(axis: Axis, low: float, high: float) -> Axis:
    if axis.levels:
        return axis if low < high else replace(axis, points=axis.points[:1], levels=axis.levels[:1])
    inside = axis.points[(axis.points > low) & (axis.points < high)]
    return replace(axis, points=np.unique([low, *inside, high]))


def _on_axes(score: Score, axes: tuple[Axis, ...]) -> Score:
    return replace(score, axes=axes, curves=tuple(score.curve_at(i, axis.points) for i, axis in enumerate(axes)))


def _upper(relaxed: Sequence[Separable], possible: float) -> Separable:
    """−Σ − possible, with room for the rounding of sums over its parts."""
    total = relaxed[0]
    for own in relaxed[1:]:
        total = total + own
    size = np.abs(total.base) + sum(np.abs(part).max(axis=1) for part in total.parts) + abs(possible)
    room = (len(total.parts) + 8) * _EPS * size
    return Separable(room - total.base - possible, tuple(-part for part in total.parts), total.loose)


def _score(readout: Readout, sign: int, row: DecidedRow, axes: Sequence[Axis]) -> Score:
    own = restrict(row.model, readout, axes, row.cells)
    own = replace(own, start=own.start + row.offset)
    return own if sign > 0 else own.negative()


def class_code(model: Model, label: Any) -> int | None:
    """The position of a class among those of the model; None if it is none of them."""
    known = [] if model.classes is None else np.asarray(model.classes).tolist()
    return known.index(label) if label in known else None
