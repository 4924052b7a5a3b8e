"""A metric by its name in scikit-learn, measured after every epoch: in the units of the target, not of the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from lambdak._types import FloatArray
from lambdak.losses import IDENTITY, LOG
from lambdak.table.close_names import asked
from lambdak.training.draft import Draft
from lambdak.training.problem import Problem, RowIds
from lambdak.training.settings import LOSS
from lambdak.training.trainer import Trainer

_TRAINING_ROWS = 10_000  # that a metric is computed on, as in HistGradientBoosting


def check_scoring(scoring: Any) -> str:
    """The name of a metric, if scikit-learn knows it."""
    if not isinstance(scoring, str) or scoring not in (LOSS, *get_scorer_names()):
        raise ValueError(
            f"scoring must be 'loss' or a metric of scikit-learn, such as 'r2' or 'roc_auc'; got {scoring!r}"
            f"{asked(scoring, get_scorer_names())}"
        )
    return scoring


def scoring_of(name: str, draft: Draft) -> NamedScoring | None:
    """The metric of this name for models of a draft; None is their loss."""
    return None if name == LOSS else NamedScoring(name, draft)


@final
@dataclass(frozen=True)
class NamedScoring:
    """A metric of models that are trained."""

    name: str
    draft: Draft

    def of(self, trainer: Trainer) -> tuple[FloatArray, FloatArray]:
        """The metric of every model, on training and on validation rows."""
        copies = max(len(self.draft.outputs.levels), 1)
        train, validation = (self._scores(*scores) for scores in trainer.scores_now(_TRAINING_ROWS * copies))
        if np.isnan(validation).all():
            raise ValueError(
                f"scoring={self.name!r} has no value on the validation rows, as 'r2' of one row or 'roc_auc' of one "
                "class: give more of them, with X_val or a larger validation_fraction, or use scoring='loss'"
            )
        return train, validation

    def _scores(self, raw: FloatArray, rows: RowIds | slice, problem: Problem) -> FloatArray:
        """The metric of every model (members,), from its raw scores on rows of a problem."""
        members = range(len(raw))
        chosen = [rows if isinstance(rows, slice) else rows[member] for member in members]
        return np.array([self._score(raw[member].astype(np.float64), chosen[member], problem) for member in members])

    def _score(self, raw: FloatArray, rows: RowIds | slice, problem: Problem) -> float:
        draft, y = self.draft, problem.y[rows]
        weight = None if problem.weight is None else problem.weight[rows]
        levels = len(draft.outputs.levels)
        if levels:
            raw, weight = raw.reshape(-1, levels), None if weight is None else weight[::levels]
            y = y.reshape(len(raw), levels, -1)[..., 0]  # of quantiles the target, of ordered classes whether y ≤ j
            y = y[:, 0] if draft.classes is None else levels - y.sum(axis=1).astype(np.intp)
        added = 0.0 if problem.subtracted is None else problem.subtracted[rows]
        answers = self._answers(raw, y, added, problem)
        beside = {} if weight is None else {"sample_weight": weight}
        try:
            return float(get_scorer(self.name)(answers, np.zeros((len(answers.y), 1)), answers.y, **beside))
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"scoring={self.name!r} cannot measure this model: {error}") from error

    def _answers(
        self, raw: FloatArray, y: NDArray[Any], added: FloatArray | float, problem: Problem
    ) -> _Numbers | _Classes:
        """What a fitted model would say of these rows, and the targets, in their own units and with their offsets."""
        draft = self.draft
        if draft.classes is not None:
            return _Classes(draft.classes, draft.loss.predict(raw), draft.loss.classify(raw), y)
        if draft.loss.link is IDENTITY:
            middle = raw[:, raw.shape[1] // 2] if raw.ndim > 1 else raw
            seen, target = (draft.start[0] + draft.scale * values + added for values in (middle, y))
            return _Numbers(draft.loss.output_link.limited(seen), target)
        power = problem.power if draft.loss.link is LOG else 0
        return _Numbers(draft.loss.predict(raw + power * np.log(2.0)), np.ldexp(y.astype(np.float64), power))


class _Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator whose predictions are known."""

    def __init__(self, predicted: FloatArray, y: NDArray[Any]) -> None:
        self.predicted, self.y, self.fitted_ = predicted, y, True

    def predict(self, X: Any) -> FloatArray:
        """The predictions of the rows, whatever X is."""
        return self.predicted


class _Classes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities are known; its classes are sorted, as scikit-learn's metrics take them."""

    def __init__(self, classes: NDArray[Any], chances: FloatArray, codes: NDArray[np.intp], y: NDArray[Any]) -> None:
        order = np.argsort(classes)
        self.classes_, self.chances = classes[order], chances[:, order]
        self.predicted, self.y = classes[codes], classes[y.astype(np.intp)]

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes of the rows, whatever X is."""
        return np.asarray(self.predicted)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the rows, whatever X is."""
        return self.chances
