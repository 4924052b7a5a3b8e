"""What all methods of a fitted estimator start from: its frozen model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from lambdak.model import Model
from lambdak.model.known_target import KnownTarget
from lambdak.model.rows import row_offset
from lambdak.table.close_names import suggests_names

if TYPE_CHECKING:
    from lambdak.store import SavedModel, SavedTraining
    from lambdak.table.rows import Rows


class Fitted:
    """An estimator that holds a frozen model once it is fitted."""

    model_: Model
    n_iter_: int
    _parameters: dict[str, Any]
    _target: KnownTarget = KnownTarget()
    _observers: ClassVar[list[Callable[[Any], None]]] = []  # that are told of every fit

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        suggests_names(cls)

    @property
    def _fitted(self) -> Model:
        if "model_" not in vars(self):  # the check takes longer than a prediction
            check_is_fitted(self, "model_")
        return self.model_

    def _observed(self) -> Self:
        """Tell the observers of a fit that it has ended."""
        for observer in self._observers:
            observer(self)
        return self

    def _offset(self, offset: Any, exposure: Any) -> Any:
        """Return an offset of which an exposure, if there is one, is part."""
        return offset if exposure is None else row_offset(self._fitted.loss, offset, exposure)

    def _saved(self, training_state: bool = False) -> SavedModel:
        from lambdak.store import SavedModel

        training = self._saved_training() if training_state else None
        return SavedModel(self._fitted, self._parameters, self.n_iter_, training, self._target)

    def _saved_training(self) -> SavedTraining:
        """What training needs to continue."""
        raise NotImplementedError

    def _refitted(self, seed: int, rows: Rows) -> Model:
        """A model that is fitted like this one, to these rows and with another seed."""
        raise NotImplementedError
