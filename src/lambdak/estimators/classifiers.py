"""scikit-learn classifiers on tables: two classes, several, or several in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from lambdak._checks import check_weight
from lambdak._types import FloatArray, PathLike
from lambdak.estimators.base import SpectralEstimator
from lambdak.estimators.fit_arguments import (
    check_order,
    in_label_order,
    is_elsewhere,
    opened,
    validation_arguments,
    validation_rows,
)
from lambdak.estimators.regressors import SpectralRegressor
from lambdak.estimators.settings import with_parameters_of
from lambdak.losses import BinaryLog, Loss, Ordinal, SoftmaxLog
from lambdak.model.rows import row_offset
from lambdak.shapes.contract import Shape
from lambdak.shapes.requested import listed
from lambdak.table.read import label_order
from lambdak.table.rows import Rows, label_rows, read_rows, weights_in_units

if TYPE_CHECKING:
    from lambdak.training.large.targets import LargeTargets
    from lambdak.training.large.transport import Transport
from lambdak.training.rows import GivenRows


class BaseSpectralClassifier(ClassifierMixin, SpectralEstimator):
    """What the classifiers share: classes and their weights, partial_fit, and the class that is predicted."""

    def __init__(
        self,
        *,
        class_weight: Mapping[Any, float] | str | None = None,
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
        scoring: str = "loss",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        balance: bool = False,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            dim=dim, eig_idx=eig_idx, shape=shape, monotonic_cst=monotonic_cst, max_influence=max_influence,
            interaction_cst=interaction_cst, constraints=constraints, protected_features=protected_features,
            categorical_features=categorical_features, max_categories=max_categories, n_knots=n_knots, alpha=alpha,
            effort=effort,
            n_estimators=n_estimators, max_iter=max_iter, early_stopping=early_stopping, scoring=scoring,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            balance=balance, warm_start=warm_start, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        offset_val: ArrayLike | None = None,
        eval_set: Any = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        cache: PathLike | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """Fit to a table and its classes; classes of weight zero do not count.

        ``offset`` is added to the raw score of each row, the log-odds of the second of two classes, or of y ≤ j for
        every j where classes are in order; more than two classes in no order have none. Validation rows, tables larger
        than memory, ``checkpoint``, ``cache`` and ``transport`` are as in :meth:`SpectralRegressor.fit`.
        """
        from lambdak.training.checkpoint_file import open_checkpoint

        X, file = opened(X), open_checkpoint(checkpoint, checkpoint_every)
        validation = validation_arguments(X_val, y_val, sample_weight_val, offset_val, eval_set=eval_set)
        if is_elsewhere(X, cache, transport):
            beside = {"y": y, "sample_weight": sample_weight, "offset": offset}
            return self._fit_elsewhere(X, beside, validation, cache, transport, file)
        rows, unseen = read_rows(X, y, sample_weight, offset), validation_rows(validation)
        target = label_rows(rows.target)
        check_classification_targets(target)
        rows = self._weighted(rows, target)
        continued = self.warm_start and hasattr(self, "model_")
        known = self._same_order(y) if continued else self._in_order(_classes(target, rows.weight), y)
        loss = self._class_loss(len(known))
        codes = _codes(known, target, "y", rows.weight)
        if unseen is not None:
            unseen = GivenRows.of(unseen, loss, _codes(known, unseen.y, "y_val"), suffix="_val")
        return self._fit(GivenRows.of(rows, loss, codes, unseen), loss, known, file)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Continue training with these rows; the first call is a fit, and its columns, levels and ``classes`` stay."""
        X, fitted = opened(X), hasattr(self, "model_")
        if is_elsewhere(X):
            if fitted:
                return self._continue_batches(X, y, sample_weight, offset)
            return self.fit(X, y, sample_weight, offset=offset)
        rows = read_rows(X, y, sample_weight, offset)
        target = label_rows(rows.target)
        rows = self._weighted(rows, target)
        if fitted:
            known, loss = self._same_order(y), self.model_.loss
        else:
            if classes is None:
                known = self._in_order(_classes(target, rows.weight), y)
            else:
                known = self._in_order(_classes(label_rows(classes, "classes"), None), classes)
            loss = self._class_loss(len(known))
        checked = GivenRows.of(rows, loss, _codes(known, target, "y", rows.weight))
        return self._continue(checked) if fitted else self._fit(checked, loss, known)

    def _targets(self) -> LargeTargets:
        from lambdak.training.large.targets import ClassTargets

        return ClassTargets(_labels, self._class_loss, _known_codes, self.class_weight)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in their order."""
        return np.asarray(self.model_.classes)

    def _weighted(self, rows: Rows, labels: NDArray[Any]) -> Rows:
        """Rows whose weight is times that of their class; each without its scale, so that the product stays finite."""
        weight = None if rows.weight is None else weights_in_units(rows.weight)
        if self.class_weight is None:
            return replace(rows, weight=weight)
        of_class = weights_in_units(check_weight(compute_sample_weight(self.class_weight, labels), len(labels)))
        both = weight if of_class is None else of_class if weight is None else weight * of_class
        return replace(rows, weight=both)

    def _in_order(self, classes: NDArray[Any], labels: Any) -> NDArray[Any]:
        """Sorted classes in the order that these labels mean: as they are, but for ordered classes."""
        return classes

    def _same_order(self, labels: Any) -> NDArray[Any]:
        """The classes of the fitted model, which labels of further rows must have in their order."""
        return self.classes_

    def _class_loss(self, classes: int) -> Loss:
        """The loss for this number of classes."""
        raise NotImplementedError

    def predict_proba(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """The probability of each class, (rows, classes)."""
        return self._predict(X, row_offset(self._fitted.loss, offset, None))

    def predict(self, X: Any, *, offset: ArrayLike | None = None) -> NDArray[Any]:
        """The most probable class of each row."""
        loss = self._fitted.loss
        codes = loss.classify(self._raw(X, row_offset(loss, offset, None)))
        return np.asarray(self.classes_[codes])

    def score(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> float:
        """Accuracy: the share of rows whose class is predicted."""
        return float(accuracy_score(label_rows(y), self.predict(X, offset=offset), sample_weight=sample_weight))


@with_parameters_of(SpectralRegressor, without=("loss", "quantile", "power"))
class SpectralClassifier(BaseSpectralClassifier):
    """Classification on a table: one eigenvalue (two classes), or one neuron per class with a softmax.

    With two classes constraints and bounds are about the log-odds of the second one, in the order of the sorted labels.

    Parameters
    ----------
    class_weight : dict or "balanced", default None
        Weights of the classes, by which those of their rows are multiplied, as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SpectralClassifier(effort="fast", max_iter=5, monotonic_cst={"mean radius": -1}, random_state=0)
    >>> probabilities = model.fit(X, y).predict_proba(X)[:, 1]
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> larger = model.predict_proba(X.assign(**{"mean radius": X["mean radius"] + 1}))[:, 1]
    >>> bool((larger <= probabilities).all())
    True
    """

    def _class_loss(self, classes: int) -> Loss:
        ordered = [own for own in listed(self.constraints) if own.ordered]
        if classes > 2 and ordered:
            raise ValueError(
                f"{ordered[0]!r} needs two classes; got {classes}: use SpectralOrdinalClassifier if they are ordered, "
                "or sklearn.multiclass.OneVsRestClassifier(SpectralClassifier(...))"
            )
        if classes > 2 and self.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst needs two classes; got {classes}: use SpectralOrdinalClassifier if they are ordered, "
                "or sklearn.multiclass.OneVsRestClassifier(SpectralClassifier(...))"
            )
        return BinaryLog() if classes == 2 else SoftmaxLog(classes)

    def decision_function(self, X: Any, *, offset: ArrayLike | None = None) -> FloatArray:
        """Raw scores: log-odds (rows,) for two classes, (rows, classes) for more."""
        return self._raw(X, row_offset(self._fitted.loss, offset, None))


@with_parameters_of(SpectralClassifier)
class SpectralOrdinalClassifier(BaseSpectralClassifier):
    """Ordered classes: P(y ≤ j) is a sigmoid of λ_k(A(row) + P_j), where P_j rises with j by semidefinite steps.

    So P(y ≤ j) never falls with j. The order is that of an ordered categorical of pandas, or an Enum of polars, and
    otherwise that of the sorted labels: give words as such a column, or as "1 bad", "2 ok", "3 good". Metrics of
    scikit-learn that read probabilities sort labels: give them positions among ``classes_``. As a column with a
    monotone constraint +1 rises, P(y > j) never falls for any class j, nor does the predicted class, the median.
    ``shape`` is that of the log-odds of P(y ≤ j), for every j.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> grade = np.digitize(y, [100, 200])  # 0, 1 and 2
    >>> model = SpectralOrdinalClassifier(effort="fast", max_iter=5, monotonic_cst={"bmi": 1}, random_state=0)
    >>> model.fit(X, grade).predict_proba(X).shape
    (442, 3)
    >>> bool((model.predict(X.assign(bmi=X["bmi"] + 0.1)) >= model.predict(X)).all())
    True
    """

    def predict(self, X: Any, *, offset: ArrayLike | None = None) -> NDArray[Any]:
        """The median class of each row: the first class j with P(y ≤ j) ≥ 1/2, which may not be the most probable one.

        It is as monotone as the probabilities P(y ≤ j) are, which the most probable class is not.
        """
        return super().predict(X, offset=offset)

    def _in_order(self, classes: NDArray[Any], labels: Any) -> NDArray[Any]:
        return in_label_order(classes, label_order(labels))

    def _same_order(self, labels: Any) -> NDArray[Any]:
        check_order(self.classes_, label_order(labels))
        return self.classes_

    def _class_loss(self, classes: int) -> Loss:
        return Ordinal(classes)


def _labels(target: NDArray[Any]) -> NDArray[Any]:
    labels = label_rows(target)
    check_classification_targets(labels)
    return labels


def _known_codes(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    return _codes(classes, labels, "y")


def _classes(target: NDArray[Any], weight: NDArray[np.float64] | None) -> NDArray[Any]:
    """The classes of rows that count; at least two."""
    classes = np.unique(target if weight is None else target[weight > 0])
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; got {len(classes)} class: {classes.tolist()}")
    return classes


def _codes(
    classes: NDArray[Any], labels: ArrayLike | None, name: str, weight: NDArray[np.float64] | None = None
) -> NDArray[Any]:
    """Positions of labels among the classes; those of rows that do not count are arbitrary."""
    target = label_rows(labels, name)
    unknown = ~np.isin(target, classes)
    if weight is not None:
        unknown &= weight > 0
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"{name} must hold known classes; got {target[row : row + 1].tolist()[0]!r} at row {row}: "
            f"they are {classes.tolist()}"
        )
    order = np.argsort(classes)
    return order[np.minimum(np.searchsorted(classes, target, sorter=order), len(classes) - 1)]
