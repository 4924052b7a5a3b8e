"""Several kinds of events of which the first one ends a row: one cumulative hazard for each cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from lambdak._types import Float64Array
from lambdak.estimators.event_arguments import causes_of, without_columns
from lambdak.estimators.survival import SpectralSurvival
from lambdak.table.close_names import suggests_names

if TYPE_CHECKING:
    from lambdak.model.event_curves import EventCurves


@suggests_names
class SpectralCompetingRisks(BaseEstimator):
    """Competing risks: cumulative hazards H_c of all causes, S = exp(−Σ H_c), and incidences that add up to 1 − S.

    The likelihood of exact and right-censored rows, with late entry, is a product over the causes, so each cause has a
    :class:`SpectralSurvival` of its own in which the other events are censored. Explanations, certificates and files
    are those of ``models_[cause]``.

    Parameters
    ----------
    estimator : SpectralSurvival, default None
        What is fitted to each cause; None is one with its defaults.

    Attributes
    ----------
    causes_ : array of shape (causes,)
        The codes of the causes, without 0, which is censored.
    models_ : dict
        The model of each cause.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, times = rng.normal(size=(150, 1)), rng.exponential(size=(150, 2))
    >>> y = times.min(axis=1), 1 + times.argmin(axis=1)
    >>> small = SpectralSurvival("cloglog", effort="fast", max_iter=2, random_state=0)
    >>> model = SpectralCompetingRisks(small).fit(X, y)
    >>> incidence = model.predict_cumulative_incidence(X[:3], [0.5, 1.0])
    >>> incidence.shape  # rows, causes, times
    (3, 2, 2)
    """

    causes_: NDArray[np.int64]
    models_: dict[int, SpectralSurvival]
    _outcomes: frozenset[str] = frozenset()  # columns of the training table that say what was observed

    def __init__(self, estimator: SpectralSurvival | None = None) -> None:
        self.estimator = estimator

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        time: Any = None,
        event: Any = None,
        entry: Any = None,
    ) -> Self:
        """Fit one model for each cause.

        ``y`` is what :meth:`SpectralSurvival.fit` takes, with whole numbers for events: 0 is censored, others are
        causes.
        """
        template = SpectralSurvival() if self.estimator is None else self.estimator
        if not isinstance(template, SpectralSurvival):
            raise TypeError(f"estimator must be a SpectralSurvival; got {type(template).__name__}")
        seen = causes_of(X, y, {"time": time, "event": event, "entry": entry})
        causes = np.unique(seen.cause[seen.cause > 0])
        if not len(causes):
            raise ValueError("event must hold at least one cause other than 0; got none: all rows are censored")
        models = {}
        for cause in causes.tolist():
            beside = {} if seen.entry is None else {"entry": seen.entry}
            own = seen.time, seen.cause == cause
            models[cause] = clone(template).fit(seen.X, own, sample_weight, **beside)
        self.causes_, self.models_, self._outcomes = causes, models, seen.names
        return self

    def curves(self, X: Any) -> list[EventCurves]:
        """The curves of each cause, as if there were no other."""
        check_is_fitted(self, "models_")
        X = without_columns(X, self._outcomes)
        return [model.curves(X) for model in self.models_.values()]

    def predict_survival_function(self, X: Any, times: ArrayLike) -> Float64Array:
        """The probability (rows, times) of no event of any cause."""
        return np.asarray(np.exp(-np.sum([own.hazard(times) for own in self.curves(X)], axis=0)))

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike) -> Float64Array:
        """The probability (rows, causes, times) that an event of a cause comes first, and by a time."""
        from lambdak.model.event_curves import check_times
        from lambdak.model.incidence import cumulative_incidence

        return cumulative_incidence(self.curves(X), check_times(times))

    def score(self, X: Any, y: Any = None, *, time: Any = None, event: Any = None, entry: Any = None) -> float:
        """The mean over causes of the concordance of their hazards, where other events are censored."""
        seen = causes_of(X, y, {"time": time, "event": event, "entry": entry})
        beside = {} if seen.entry is None else {"entry": seen.entry}
        X = without_columns(seen.X, self._outcomes)
        own = [model.score(X, (seen.time, seen.cause == cause), **beside) for cause, model in self.models_.items()]
        return float(np.mean(own))
