"""What users ask for, as goals: a class, a side of a number, any other decision; and what counts as an approval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses.contract import Predicts
from lambdak.model import Model
from lambdak.optimize.changes.goals import (
    ChosenPrediction,
    Goal,
    chosen,
    class_code,
    class_goal,
    ordered_goal,
    other_class_goal,
    threshold_goal,
)
from lambdak.optimize.changes.rows import DecidedRow

_RELATIONS = (">=", "<=")
_CUMULATED = "the probability of a class or any below it"


def read_target(row: DecidedRow, target: Any, output: Any) -> Goal:
    """The goal of a row."""
    model = row.model
    if isinstance(target, tuple | list):
        return _side(model, target, output)
    code = class_code(model, target) if output is None else None
    if code is not None:
        return class_goal(model, code)
    limit, wanted = _number(model, target), chosen(model, output)
    return threshold_goal(wanted, ">=" if wanted.predictions(row.raw([{}]))[0] < limit else "<=", limit)


def decision_goal(row: DecidedRow, threshold: float | None, output: Any) -> Goal:
    """Any other decision than that of the row: the other side of a threshold, or another class."""
    model = row.model
    if threshold is None and output is None and model.classes is not None:
        raw = row.raw([{}])
        return other_class_goal(model, int(model.loss.classify(raw[:, 0] if model.outputs.single else raw)[0]))
    wanted = chosen(model, output)
    now = float(wanted.predictions(row.raw([{}]))[0])
    if threshold is None:
        raise ValueError(f"threshold must be a number, such as {now:.3g}; got None")
    limit = _number(model, threshold)
    return threshold_goal(wanted, "<" if now >= limit else ">=", limit)


def shown_prediction(model: Model, goal: Goal, raw: Float64Array) -> Any:
    """What a goal is about, of raw scores (outputs,): a number or a class."""
    if goal.about is not None:
        return float(goal.about.predictions(raw[None])[0])
    codes = model.loss.classify(raw[:1] if model.outputs.single else raw[None])
    return np.asarray(model.classes).tolist()[int(codes[0])]


def _side(model: Model, target: Any, output: Any) -> Goal:
    if len(target) != 2 or target[0] not in _RELATIONS:
        raise ValueError(f"target must be a class, a number, or ('>=', number) or ('<=', number); got {target!r}")
    relation, limit = target
    code = class_code(model, limit) if output is None else None
    if code is not None and model.loss.predicts is Predicts.ORDERED_CLASSES:
        return ordered_goal(model, relation, code)
    return threshold_goal(chosen(model, output), relation, _number(model, limit))


def _number(model: Model, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if np.isnan(number):
        known = "" if model.classes is None else f" or one of the classes {np.asarray(model.classes).tolist()}"
        raise ValueError(f"target must be a number{known}; got {value!r}")
    return number


@final
@dataclass(frozen=True, eq=False)
class Approval:
    """A goal that rows reach or not, and the prediction that says how close they are.

    Attributes
    ----------
    goal : Goal
    measure : ChosenPrediction, int or None
        One prediction, the position of one of several classes, or None where no single number says it.
    rises : bool
        Whether more of it is closer to an approval.
    what : str
        "the probability of approval", "the prediction".
    observed : callable
        Whether targets (rows,) of rows are what an approval predicts, (rows,).
    """

    goal: Goal
    measure: ChosenPrediction | int | None
    rises: bool
    what: str
    observed: Callable[[NDArray[Any]], NDArray[np.bool_]]

    @property
    def outputs(self) -> list[int]:
        """The raw scores that decide, each once."""
        return list(dict.fromkeys(k for term in self.goal.terms for k, _ in term.parts))

    @property
    def attainable(self) -> bool:
        """Whether some raw score is certain to be an approval, whatever rounding does."""
        return all(term.certain < np.inf for term in self.goal.terms)

    def limits(self) -> list[float]:
        """What each term of the goal must be for certain; zero where nothing is enough: only differences count then."""
        return [term.certain if np.isfinite(term.certain) else 0.0 for term in self.goal.terms]

    def excess(self, raw: Float64Array) -> Float64Array:
        """By how much raw scores (rows, outputs) are beyond that, (rows,): the least of several terms."""
        return np.asarray(np.min([self._of_term(t, raw) for t in range(len(self.goal.terms))], axis=0))

    def binding(self, raw: Float64Array) -> NDArray[np.intp]:
        """The term that is least, (rows,)."""
        return np.asarray(np.argmin([self._of_term(t, raw) for t in range(len(self.goal.terms))], axis=0))

    def _of_term(self, t: int, raw: Float64Array) -> Float64Array:
        parts = self.goal.terms[t].parts
        return np.asarray(sum(sign * raw[:, k] for k, sign in parts) - self.limits()[t])

    def measured(self, model: Model, raw: Float64Array) -> Float64Array:
        """The measure as ``predict`` computes it, (rows,), of raw scores (rows, outputs)."""
        if self.measure is None:
            return np.full(len(raw), np.nan)
        if isinstance(self.measure, ChosenPrediction):
            return self.measure.predictions(raw)
        return np.asarray(model.loss.predict(raw)[:, self.measure])

    def side(self, model: Model, i: int) -> int:
        """The direction in which column i, if it is monotone by request, can lead to an approval; 0 if any may."""
        signs = {sign for term in self.goal.terms for _, sign in term.parts}
        return model.loss.sign * model.promises.signs[i] * signs.pop() if len(signs) == 1 else 0

    def reached(self, raw: Any) -> NDArray[np.bool_]:
        """Whether rows are approved, (rows,), from raw scores (rows, …) as ``predict`` computes them."""
        return self.goal.reached(by_output(raw))

    def bounds(self, model: Model, low: Float64Array, high: Float64Array, enough: NDArray[np.bool_]) -> Float64Array:
        """What is proven of the measure, (rows,), where raw scores (``outputs``, rows) stay between low and high.

        It is at least that, or at most if it must fall; NaN without a measure. ``enough`` says where an approval is
        proven, which may say more than the bounds.
        """
        link = model.loss.output_link
        low, high = self._certain(low, high, enough)
        if self.measure is None:
            return np.full(low.shape[1], np.nan)
        if isinstance(self.measure, ChosenPrediction):
            up, link = self.rises == (self.measure.sign > 0), self.measure.link
            found = link.predictions(self.measure.sign * (low if up else high)[0])
        else:
            places = self.outputs
            scores = high[[places.index(k) for k in range(len(places))]]
            scores[self.measure] = low[places.index(self.measure)]
            found = link.predictions(scores.T)[:, self.measure]
        return np.asarray(link.outwards(found, found)[0 if self.rises else 1])

    def _certain(
        self, low: Float64Array, high: Float64Array, enough: NDArray[np.bool_]
    ) -> tuple[Float64Array, Float64Array]:
        """Raw scores that are enough are beyond what is certain to be enough."""
        (term, *others) = self.goal.terms
        if others or len(term.parts) > 1:
            return low, high
        if term.parts[0][1] > 0:
            return np.where(enough, np.maximum(low, term.certain), low), high
        return low, np.where(enough, np.minimum(high, -term.certain), high)


def by_output(raw: Any) -> Float64Array:
    """Raw scores of a model as (rows, outputs), however many there are."""
    scores = np.asarray(raw, np.float64)
    return scores[:, None] if scores.ndim == 1 else scores


def approval_of(model: Model, target: Any, threshold: float | None, output: Any) -> Approval:
    """The approval that a user means; see :func:`lambdak.optimize.reasons`."""
    limit = None if threshold is None else _threshold(threshold)
    if model.classes is None:
        return _of_number(model, target, limit, output)
    relation, label = target if isinstance(target, tuple | list) and len(target) == 2 else (None, target)
    code, known = class_code(model, label), np.asarray(model.classes).tolist()
    if output is not None:
        raise ValueError(f"output must be None: the class in target says which prediction is meant; got {output!r}")
    if code is None:
        raise ValueError(f"target must be the class that is an approval, one of {known}; got {target!r}")
    if relation is not None:
        if relation not in _RELATIONS or model.loss.predicts is not Predicts.ORDERED_CLASSES or limit is not None:
            raise ValueError(
                f"target must be one of the classes {known}, or ('>=', class) of ordered ones; got {target!r}"
            )
        return Approval(ordered_goal(model, relation, code), None, True, _CUMULATED, _ordered(known, relation, code))
    if limit is None:
        return _of_class(model, code)
    if len(known) > 2:
        raise ValueError(
            f"threshold must be None with {len(known)} classes, of which the predicted one decides; got {limit}"
        )
    if not 0.0 <= limit <= 1.0:
        raise ValueError(f"threshold must be a probability, in [0, 1]; got {limit:g}")
    wanted = chosen(model, label)
    return Approval(threshold_goal(wanted, ">=", limit), wanted, True, "the probability of approval", _same_as(label))


def _of_class(model: Model, code: int) -> Approval:
    what, label = "the probability of approval", np.asarray(model.classes).tolist()[code]
    if model.loss.link.joint:
        return Approval(class_goal(model, code), code, True, what, _same_as(label))
    if len(model.output_names) > 1:
        return Approval(class_goal(model, code), None, True, _CUMULATED, _same_as(label))
    return Approval(class_goal(model, code), chosen(model, label), True, what, _same_as(label))


def _of_number(model: Model, target: Any, limit: float | None, output: Any) -> Approval:
    relation, given = target if isinstance(target, tuple | list) and len(target) == 2 else (target, limit)
    if isinstance(target, tuple | list) and limit is not None:
        raise ValueError(f"threshold must be None where target has a number; got {limit} and {target!r}")
    relation = ">=" if relation is None else relation
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise ValueError(f"target must be '>=' or '<=', the side of the threshold that is an approval; got {target!r}")
    if given is None:
        raise ValueError("threshold must be the prediction from which on a row is approved; got None")
    wanted = chosen(model, output)
    number, compare = _threshold(given), np.greater_equal if relation == ">=" else np.less_equal
    goal = threshold_goal(wanted, relation, number)
    return Approval(
        goal, wanted, relation == ">=", wanted.words, lambda y: np.asarray(compare(y.astype(np.float64), number))
    )


def _same_as(label: Any) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    return lambda y: np.array([code == label for code in y.tolist()], bool)


def _ordered(known: Sequence[Any], relation: str, code: int) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """Whether ordered classes are on one side of one of them."""
    wanted = known[code:] if relation == ">=" else known[: code + 1]
    return lambda y: np.array([code in wanted for code in y.tolist()], bool)


def _threshold(threshold: Any) -> float:
    try:
        number = float(threshold)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or isinstance(threshold, bool | str):
        raise ValueError(f"threshold must be a finite number; got {threshold!r}")
    return number
