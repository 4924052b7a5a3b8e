"""The scikit-learn estimator of times to an event, with the conventions of scikit-survival."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_per_row, check_weight
from lambdak._types import Float64Array, PathLike
from lambdak.estimators.base import SpectralEstimator
from lambdak.estimators.event_arguments import observed, without_columns
from lambdak.estimators.fit_arguments import is_elsewhere, opened
from lambdak.estimators.horizon_methods import HorizonMethods
from lambdak.estimators.regressors import SpectralRegressor
from lambdak.estimators.settings import parameters_of, with_parameters_of
from lambdak.losses.survival import Survival
from lambdak.shapes.contract import Shape
from lambdak.table.rows import given_together, read_rows
from lambdak.training.rows import GivenRows

if TYPE_CHECKING:
    from lambdak.estimators.classifiers import SpectralClassifier
    from lambdak.model.event_curves import EventCurves


@with_parameters_of(SpectralRegressor, without=("loss", "quantile", "power", "scoring", "balance"))
class SpectralSurvival(HorizonMethods, SpectralEstimator):
    """Time to an event, P(T ≤ t | x) = g(λ_k(A(x) + P(t))): P rises by semidefinite steps, so every curve is valid.

    A and P need not commute, so that hazards are not proportional unless ``dim`` is 1. A monotone column orders whole
    curves: the probability of an event rises with it at every time.

    Parameters
    ----------
    link : {"auto", "cloglog", "logit"}, default "auto"
        g: "cloglog" is 1 − exp(−exp), which with ``dim=1`` is Cox's family of proportional hazards; "logit" is the
        logistic function, proportional odds. "auto" takes the one with the larger likelihood on unseen rows.
    n_time_knots : int ≥ 2 or "auto", default "auto"
        Knots of log time, at quantiles of the event times; "auto" depends on the number of events. Two give every row
        a Weibull (or log-logistic) distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> time, seen = rng.weibull(1.5, 200) * np.exp(-X[:, 0]), rng.exponential(2.0, 200)
    >>> y = np.minimum(time, seen), time <= seen
    >>> model = SpectralSurvival(effort="fast", link="cloglog", monotonic_cst=[1, 0], random_state=0).fit(X, y)
    >>> curves = model.predict_survival_function(X, times=[0.5, 1.0, 2.0])
    >>> bool((np.diff(curves, axis=1) <= 0).all())
    True
    """

    _outcomes: frozenset[str] = frozenset()  # columns of the training table that say what was observed

    def __init__(
        self,
        link: str = "auto",
        *,
        n_time_knots: int | str = "auto",
        dim: int | None = None,
        eig_idx: int | None = None,
        shape: str | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | str | None = None,
        max_influence: Mapping[Any, float] | Sequence[float] | float | None = None,
        interaction_cst: Iterable[Collection[Any]] | str | None = None,
        constraints: Sequence[Shape] | None = None,
        protected_features: Sequence[Any] | None = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        n_knots: int | str = "auto",
        alpha: float = 0.0,
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            dim=dim, eig_idx=eig_idx, shape=shape, monotonic_cst=monotonic_cst, max_influence=max_influence,
            interaction_cst=interaction_cst, constraints=constraints, protected_features=protected_features,
            categorical_features=categorical_features, max_categories=max_categories, n_knots=n_knots, alpha=alpha,
            effort=effort, n_estimators=n_estimators, max_iter=max_iter, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            warm_start=warm_start, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.link = link
        self.n_time_knots = n_time_knots

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        time: Any = None,
        event: Any = None,
        entry: Any = None,
        lower: Any = None,
        upper: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
    ) -> Self:
        """Fit to a table and what was observed of each row.

        ``y`` is a structured array as in scikit-survival (event, time), a pair ``(time, event)``, or a DataFrame of
        these two columns. Instead of it ``time`` and ``event`` may be given, or ``lower`` and ``upper`` between which
        the event was (an infinite or missing ``upper``: later; a ``lower`` of 0: earlier). Each is an array, or the
        name of a column of X, which is then not used as a feature. ``entry`` is the time from which a row was seen:
        late entry, or the start of a start–stop row.
        """
        from lambdak.training.checkpoint_file import open_checkpoint

        X = opened(X)
        if is_elsewhere(X):
            raise ValueError("X must be a table in memory for times to an event; fit to a sample of the rows")
        named = {"time": time, "event": event, "entry": entry, "lower": lower, "upper": upper}
        loss = self._loss()
        rows = _rows(X, y, sample_weight, named)
        if given_together(X_val, y_val):
            names = {key: value for key, value in named.items() if isinstance(value, str) and key == "entry"}
            rows = replace(rows, validation=_rows(X_val, y_val, sample_weight_val, names, "_val"))
        self._fit(rows, loss, checkpoint=open_checkpoint(checkpoint, checkpoint_every))
        self._outcomes = frozenset(value for value in named.values() if isinstance(value, str))
        return self

    def _loss(self) -> Survival:
        knots = self.n_time_knots
        automatic = isinstance(knots, str) and knots == "auto"
        if not automatic and (isinstance(knots, bool | str) or not isinstance(knots, int | np.integer) or knots < 2):
            raise ValueError(f'n_time_knots must be an int >= 2 or "auto"; got {knots!r}')
        return Survival(self.link, knots=0 if isinstance(knots, str) else int(knots))

    def _read(self, X: Any) -> Any:
        return super()._read(without_columns(X, self._outcomes))

    # ---- predictions ------------------------------------------------------------------------------------------

    def curves(self, X: Any) -> EventCurves:
        """The curves of each row: survival, cumulative hazard, quantiles and restricted means at any time."""
        from lambdak.model.event_curves import EventCurves

        return EventCurves.of(self._fitted, self._raw(X))

    @property
    def event_times_(self) -> Float64Array:
        """The knots of time, from the first event to the last: beyond them curves are extrapolated."""
        return np.array(self._fitted.loss.times)

    def at(self, horizon: float) -> SpectralClassifier:
        """The model at one time: a fitted classifier of whether an event happens by then, with all that reads models.

        Its classes are False and True, and its probabilities those of :meth:`predict_survival_function`; what was
        requested of columns is proven of it, too. It cannot be trained further.
        """
        from lambdak.estimators.classifiers import SpectralClassifier
        from lambdak.model.horizon import at_horizon

        model = at_horizon(self._fitted, horizon, SpectralClassifier.__name__)
        known = inspect.signature(SpectralClassifier).parameters
        shared = {name: value for name, value in deepcopy(self._parameters).items() if name in known}
        classifier = SpectralClassifier(**shared | {"n_estimators": None})
        classifier.model_, classifier.n_iter_, classifier._parameters = model, self.n_iter_, parameters_of(classifier)
        return classifier

    @staticmethod
    def status_at(y: Any, horizon: float) -> tuple[NDArray[np.bool_], Float64Array]:
        """Whether each row had its event by the horizon, and its weight, to measure :meth:`at` with.

        Rows that were censored before count 0, and the others more: inverse probabilities of not being censored, by
        Kaplan and Meier. Give them as ``y`` and ``sample_weight`` of ``performance(..., horizon=horizon)``, whose
        actual against expected is calibration at the horizon.
        """
        from lambdak.model.horizon_status import status_at

        return status_at(observed(None, y, {}).lines, float(horizon))

    def predict(self, X: Any) -> Float64Array:
        """A risk score (rows,), the larger the earlier: the raw score's mean over the knots of time."""
        return self.curves(X).risk

    def predict_survival_function(
        self, X: Any, times: ArrayLike | None = None, conditional_after: ArrayLike | None = None,
        return_array: bool = False,
    ) -> Any:  # fmt: skip
        """P(T > t) of each row, (rows, times), given T > ``conditional_after`` (a number, or one per row).

        Without ``times`` it is an array of functions as in scikit-survival, one for each row, that are callable with
        times and have the values at ``event_times_``; with ``return_array`` these values as (rows, knots). After the
        last of ``event_times_`` probabilities are extrapolated.
        """
        curves = self.curves(X)
        if times is not None or return_array:
            return curves.survival(self.event_times_ if times is None else times, conditional_after)
        return _functions(curves, "survival", conditional_after)

    def predict_cumulative_hazard_function(
        self, X: Any, times: ArrayLike | None = None, conditional_after: ArrayLike | None = None,
        return_array: bool = False,
    ) -> Any:  # fmt: skip
        """Cumulative hazards −log P(T > t), in the forms of :meth:`predict_survival_function`."""
        curves = self.curves(X)
        if times is not None or return_array:
            return curves.hazard(self.event_times_ if times is None else times, conditional_after)
        return _functions(curves, "hazard", conditional_after)

    def predict_quantile(
        self, X: Any, probability: float = 0.5, conditional_after: ArrayLike | None = None
    ) -> Float64Array:
        """The times (rows,) by which an event has this probability: 0.5 is median survival."""
        return self.curves(X).quantile(probability, conditional_after)

    def restricted_mean(self, X: Any, horizon: float) -> Float64Array:
        """The mean time (rows,) without an event, of which what is beyond the horizon does not count."""
        return self.curves(X).restricted_mean(horizon)

    def plot_survival(
        self, X: Any, y: Any = None, *, names: Sequence[str] = (), until: float | None = None, ax: Any = None
    ) -> Any:
        """Draw the curves of a few rows; returns the Axes.

        ``names`` are those of the rows, ``until`` the end of the axis, the last event by default. With ``y``, what was
        observed of any rows, how many of them were still at risk is written below.
        """
        from lambdak.explain.plots import draw_survival

        lines = None if y is None else observed(None, y, {}).lines
        return draw_survival(self.curves(X), names, lines, until, ax)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        time: Any = None,
        event: Any = None,
        entry: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> float:
        """Harrell's concordance: of pairs of rows of which it is known whose event came first, the share in order.

        What was observed is given as in :meth:`fit`.
        """
        from lambdak.model.concordance import concordance

        named = {"time": time, "event": event, "entry": entry, "lower": lower, "upper": upper}
        X, lines = observed(X, y, named)
        risk = self.predict(X)
        weight = None if sample_weight is None else check_weight(sample_weight, len(risk))
        return concordance(lines, risk, weight)


def _rows(X: Any, y: Any, sample_weight: ArrayLike | None, named: dict[str, Any], suffix: str = "") -> GivenRows:
    """Rows to train on."""
    table, lines = observed(X, y, named, suffix)
    rows = read_rows(table, None, sample_weight, suffix=suffix)
    check_per_row(lines[:, 0], len(rows), f"y{suffix}", suffix)
    return GivenRows(rows.X, lines, rows.weight)


def _functions(curves: EventCurves, what: str, after: ArrayLike | None) -> Any:
    """The curves of rows as functions of time, which have their values at the knots."""
    from lambdak.model.step_functions import time_functions

    x = np.array(curves.loss.times)
    began = None if after is None else np.broadcast_to(np.asarray(after, np.float64), (len(curves.raw),))

    def of(row: int, times: ArrayLike) -> Float64Array:
        own = curves.take([row])
        return np.asarray(getattr(own, what)(times, None if began is None else began[row])[0])

    return time_functions(x, getattr(curves, what)(x, after), of)
