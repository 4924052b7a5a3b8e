"""scikit-learn classifiers on tables: two classes, several, or several in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from lambdak._checks import FloatArray, check_weight
from lambdak.estimators.base import SpectralEstimator, given_rows
from lambdak.estimators.large import is_elsewhere, opened
from lambdak.losses import BinaryLog, Loss, Ordinal, SoftmaxLog
from lambdak.table.rows import given_together, label_rows, weights_in_units
from lambdak.training.checkpoint_file import PathLike, open_checkpoint
from lambdak.training.large.targets import Classes, Targets
from lambdak.training.large.transport import Transport


class _Classifier(ClassifierMixin, SpectralEstimator):
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
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        n_knots: int | str = "auto",
        alpha: float = 0.0,
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool = False,
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
            categorical_features=categorical_features, max_categories=max_categories, n_knots=n_knots, alpha=alpha,
            effort=effort,
            n_estimators=n_estimators, max_iter=max_iter, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, tol=tol,
            warm_start=warm_start, verbose=verbose, random_state=random_state, n_jobs=n_jobs,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_every: float = 60.0,
        cache: PathLike | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """Fit to a table and its classes; classes of weight zero do not count.

        Tables larger than memory, ``checkpoint``, ``cache`` and ``transport`` are as in :meth:`SpectralRegressor.fit`.
        """
        X, file = opened(X), open_checkpoint(checkpoint, checkpoint_every)
        if is_elsewhere(X, cache, transport):
            return self._fit_elsewhere((X, y, sample_weight, None, X_val), cache, transport, file)
        target = label_rows(y)
        check_classification_targets(target)
        weight = self._weighted(target, sample_weight)
        known = self.classes_ if hasattr(self, "model_") and self.warm_start else _classes(target, weight)
        unseen = (X_val, _codes(known, y_val, "y_val")) if given_together(X_val, y_val) else None
        codes = _codes(known, target, "y", weight)
        return self._fit(given_rows(X, codes, weight, None, unseen), self._class_loss(len(known)), known, file)

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training with these rows; the first call is a fit, and its columns, levels and ``classes`` stay."""
        X = opened(X)
        if is_elsewhere(X):
            fitted = hasattr(self, "model_")
            return self._continue_batches(X, y, sample_weight) if fitted else self.fit(X, y, sample_weight)
        target = label_rows(y)
        weight = self._weighted(target, sample_weight)
        if hasattr(self, "model_"):
            return self._continue(given_rows(X, _codes(self.classes_, target, "y", weight), weight))
        known = _classes(
            target if classes is None else label_rows(classes, "classes"), weight if classes is None else None
        )
        codes = _codes(known, target, "y", weight)
        return self._fit(given_rows(X, codes, weight), self._class_loss(len(known)), known)

    def _targets(self) -> Targets:
        return Classes(_labels, self._class_loss, _known_codes, self.class_weight)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in their order."""
        return np.asarray(self.model_.classes)

    def _weighted(self, target: NDArray[Any], sample_weight: ArrayLike | None) -> NDArray[np.float64] | None:
        """The weight of a row times that of its class; each without its scale, so that the product stays finite."""
        own = None if sample_weight is None else weights_in_units(check_weight(sample_weight, len(target)))
        if self.class_weight is None:
            return own
        of_class = weights_in_units(check_weight(compute_sample_weight(self.class_weight, target), len(target)))
        return own if of_class is None else of_class if own is None else own * of_class

    def _class_loss(self, classes: int) -> Loss:
        """The loss for this number of classes."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, (rows, classes)."""
        return self._predict(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        codes = self._fitted.loss.classify(self._raw(X))
        return np.asarray(self.classes_[codes])


class SpectralClassifier(_Classifier):
    """Classification on a table: one eigenvalue (two classes), or one neuron per class with a softmax.

    ``class_weight`` is a dict or "balanced", as in scikit-learn; other settings as in :class:`SpectralRegressor`.
    """

    def _class_loss(self, classes: int) -> Loss:
        if classes > 2 and self.monotonic_cst is not None:
            raise ValueError(
                f"monotonic_cst needs two classes; got {classes}: use SpectralOrdinalClassifier if they are ordered, "
                "or sklearn.multiclass.OneVsRestClassifier(SpectralClassifier(...))"
            )
        return BinaryLog() if classes == 2 else SoftmaxLog(classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Raw scores: log-odds (rows,) for two classes, (rows, classes) for more."""
        return self._raw(X)


class SpectralOrdinalClassifier(_Classifier):
    """Ordered classes: P(y ≤ j) is a sigmoid of λ_k(A(row) + P_j), where P_j rises with j by semidefinite steps.

    So P(y ≤ j) never falls with j. The order is that of the sorted labels. As a column with a monotone constraint +1
    rises, P(y > j) never falls for any class j, nor does the predicted class, the median. Settings as in
    :class:`SpectralClassifier`; ``shape`` is that of the log-odds of P(y ≤ j), for every j.
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """The median class of each row: the first class j with P(y ≤ j) ≥ 1/2, which may not be the most probable one.

        It is as monotone as the probabilities P(y ≤ j) are, which the most probable class is not.
        """
        return super().predict(X)

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
    return np.minimum(np.searchsorted(classes, target), len(classes) - 1)
