"""How a fitted estimator looks: a card in a notebook, above scikit-learn's diagram, and its learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lambdak._types import Float64Array, FloatArray
from lambdak.model import Model
from lambdak.model.influence import strengths

if TYPE_CHECKING:
    from lambdak.explain.learning_curves import LearningCurves


class FittedViews:
    """Views of an estimator that stand before scikit-learn's own, which they contain."""

    model_: Model
    loss_curve_: FloatArray
    validation_curve_: FloatArray
    _effects: Float64Array | None

    def _repr_html_inner(self) -> str:
        own: Any = super()
        return self._card(str(own._repr_html_inner()))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        own: Any = super()
        bundle = dict(own._repr_mimebundle_(**kwargs))
        return bundle | {"text/html": self._card(bundle["text/html"])} if "text/html" in bundle else bundle

    def _card(self, diagram: str) -> str:
        """A fitted model as a card that contains scikit-learn's diagram; that alone, if it is not fitted."""
        if "model_" not in vars(self):
            return diagram
        from lambdak.estimators.notebook_card import card_html

        curves = self._learning_curves() if "loss_curve_" in vars(self) else None
        seen = self._effects
        sizes = np.asarray(strengths(self.model_) if seen is None else seen)
        return card_html(self.model_, curves, sizes, seen is not None, diagram)

    def plot_history(self, ax: Any = None) -> Any:
        """Draw the learning curves: a metric on training and validation rows by epoch, with what was kept.

        The metric belongs to the loss: the share of the variance that is not explained, log loss, or a deviance.
        Returns the Axes.
        """
        return self._learning_curves().plot(ax)

    def _learning_curves(self) -> LearningCurves:
        from lambdak.explain.learning_curves import LearningCurves

        check_is_fitted(self, "model_")
        if "loss_curve_" not in vars(self):
            raise AttributeError(
                "plot_history needs the curves of a fit, which a saved model does not hold: fit the model again"
            )
        return LearningCurves.of(self.model_.loss, self.loss_curve_, self.validation_curve_)
