"""Targets of a large table, which are checked batch by batch: numbers, or labels whose classes are known at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight

from lambdak._checks import check_weight
from lambdak._types import Float64Array
from lambdak.losses import Loss

Labels = Mapping[Any, float]  # rows of each label


class LargeTargets(ABC):
    """Targets of a large table, numbers or labels, which are checked batch by batch."""

    counts_labels: bool  # whether labels are counted in the first pass

    @abstractmethod
    def checked(self, y: NDArray[Any]) -> NDArray[Any]:
        """The targets of a batch, if they are what they should be."""

    @abstractmethod
    def resolved(self, labels: Labels) -> KnownTargets:
        """Loss, classes and codes of the target, from the rows of all labels in the whole table."""


@dataclass(frozen=True)
class KnownTargets(ABC):
    """A loss, the classes behind codes, and how targets are kept in records."""

    loss: Loss
    classes: NDArray[Any] | None
    kept_as: str

    def saved(self) -> list[Any]:
        """What codes and weights depend on, as plain data."""
        return [self.kept_as, None if self.classes is None else self.classes.tolist()]

    @abstractmethod
    def coded(self, y: NDArray[Any], weight: Float64Array | None) -> tuple[NDArray[Any], Float64Array | None]:
        """Return targets as numbers or codes, and their weights."""


@final
@dataclass(frozen=True)
class NumberTargets(LargeTargets):
    """Targets of a regression."""

    loss: Loss
    counts_labels = False

    def checked(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of a batch, if the loss takes them."""
        return self.loss.check_target(y)

    def resolved(self, labels: Labels) -> KnownTargets:
        """Return targets that stay what they are."""
        return _KnownNumbers(self.loss, None, "float64")


@final
@dataclass(frozen=True)
class _KnownNumbers(KnownTargets):
    def coded(self, y: NDArray[Any], weight: Float64Array | None) -> tuple[NDArray[Any], Float64Array | None]:
        return y, weight


@final
@dataclass(frozen=True)
class ClassTargets(LargeTargets):
    """Labels of classes: ``check`` says which are labels at all, ``loss`` takes the number of classes."""

    check: Callable[[NDArray[Any]], NDArray[Any]]
    loss: Callable[[int], Loss]
    codes: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]  # of labels among classes
    class_weight: Mapping[Any, float] | str | None = None
    counts_labels = True

    def checked(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of a batch, if that is what they are."""
        return self.check(y)

    def resolved(self, labels: Labels) -> KnownTargets:
        """Return targets whose classes are all labels, in order."""
        classes = np.array(sorted(labels))
        if len(classes) < 2:
            raise ValueError(f"y must have at least two classes; got {len(classes)} class: {classes.tolist()}")
        kept = "uint8" if len(classes) <= 256 else "int32"
        return _KnownClasses(self.loss(len(classes)), classes, kept, self.codes, self._weights(labels, classes))

    def _weights(self, labels: Labels, classes: NDArray[Any]) -> Float64Array | None:
        """The weight of each class, by their rows if they are to be balanced."""
        if self.class_weight is None:
            return None
        if self.class_weight == "balanced":
            counts = np.array([labels[label] for label in classes.tolist()], np.float64)
            return np.asarray(counts.sum() / (len(counts) * counts))
        return check_weight(compute_sample_weight(self.class_weight, classes), len(classes))


@final
@dataclass(frozen=True)
class _KnownClasses(KnownTargets):
    codes: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
    weights: Float64Array | None

    def saved(self) -> list[Any]:
        return [*super().saved(), None if self.weights is None else self.weights.tolist()]

    def coded(self, y: NDArray[Any], weight: Float64Array | None) -> tuple[NDArray[Any], Float64Array | None]:
        codes = self.codes(np.asarray(self.classes), y)
        if self.weights is None:
            return codes, weight
        of_class = self.weights[codes]
        return codes, of_class if weight is None else of_class * weight
