"""How fitted estimators look: a card in a notebook, learning curves, and two of them side by side in a report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lambdak._types import Float64Array, FloatArray
from lambdak.estimators.methods import ModelMethods
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.influence import strengths
from lambdak.table.close_names import with_names_suggested
from lambdak.table.shown import FRAME, HEADING
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.explain.learning_curves import LearningCurves


_COLUMNS = 5
_CLAIMS = 6
_NOTHING = 1e-6  # of the strongest column: rounding
_LONGEST = 90  # characters of a name
_STYLE = FRAME.format(width=640)  # bars are a blue that light and dark notebooks show
_BAR = "display:inline-block;height:9px;border-radius:2px;background:#56B4E9;vertical-align:middle"
_FAINT = "opacity:.7"


def card_html(model: Model, curves: LearningCurves | None, sizes: NDArray[np.float64], seen: bool, rest: str) -> str:
    """The card; ``sizes`` are mean effects if ``seen``, else proven bounds; ``rest`` is HTML to unfold."""
    parts = [
        f'<div style="{HEADING}">{escape(model.estimator)}</div>',
        f"<div>{_text(task_words(model))}</div>",
        *([] if curves is None else [f"<div>{_text(score_words(curves))}</div>"]),
        *_guarantees(model),
        *_columns(model, sizes, seen),
        f'<details style="margin-top:8px"><summary style="cursor:pointer;{_FAINT}">settings</summary>{rest}</details>',
    ]
    return f'<div class="lambdak-card" style="{_STYLE}">{"".join(parts)}</div>'


def task_words(model: Model) -> str:
    """What the model predicts, from how many columns."""
    loss, labels = model.loss, [] if model.classes is None else [str(label) for label in model.classes.tolist()]
    few = ", ".join(labels[:6]) + (f" and {len(labels) - 6} more" if len(labels) > 6 else "")
    words = {
        Predicts.NUMBERS: f"predicts a number ({loss.name.replace('_', ' ')})",
        Predicts.QUANTILES: "predicts quantiles " + ", ".join(f"{level:g}" for level in loss.quantile_levels),
        Predicts.CLASSES: f"predicts one of {len(labels)} classes: {few}",
        Predicts.ORDERED_CLASSES: f"predicts one of {len(labels)} ordered classes: {few}",
    }[loss.predicts]
    return f"{words}; {len(model.encoder.columns):,} columns"


def score_words(curves: LearningCurves) -> str:
    """How well the members did on rows that they had not seen."""
    value = float(curves.validation.min(axis=0).mean())
    if curves.metric.startswith("share of the variance"):
        return f"explains {100 * (1 - value):.0f} % of the target's variance on validation rows (mean of the members)"
    name, _, unit = curves.metric.partition(", ")
    return f"{name} {value:.3g}{unit and ' '}{unit} on validation rows (mean of the members)"


def _guarantees(model: Model) -> Iterator[str]:
    from lambdak.certify import promised
    from lambdak.certify.summary import plain_statement

    claims = list(promised(model))
    if not claims:
        yield f'<div style="{_FAINT}">no guarantee was requested; bounds of all columns: certify()</div>'
        return
    proven = sum(claim.proven for claim in claims)
    yield f'<div style="margin-top:6px">{proven} of {len(claims)} requested guarantees proven, for every row:</div>'
    for claim in claims[:_CLAIMS]:
        mark = "✓" if claim.proven else "✗ not proven:"
        yield f'<div style="padding-left:12px">{mark} {_text(plain_statement(claim, model.loss.link.units))}</div>'
    if len(claims) > _CLAIMS:
        yield f'<div style="padding-left:12px;{_FAINT}">… and {len(claims) - _CLAIMS} more: certify()</div>'


def _columns(model: Model, sizes: NDArray[np.float64], seen: bool) -> Iterator[str]:
    acting = [int(i) for i in np.argsort(-sizes, kind="stable") if sizes[i] > _NOTHING * sizes.max()]
    order = acting[:_COLUMNS]
    if not order:
        return
    what = "mean effect on training rows" if seen else "the most a column can do, proven"
    yield f'<div style="margin-top:6px">Strongest columns ({what}):</div>'
    for i in order:
        bar = f'<span style="{_BAR};width:{round(180 * sizes[i] / sizes[order[0]])}px"></span>'
        name = _text(model.encoder.columns[i].name)
        yield f'<div style="padding-left:12px">{bar} {name}</div>'
    left = len(acting) - len(order)
    if left > 0:
        yield f'<div style="padding-left:12px;{_FAINT}">… and {left:,} more: explain_global(X)</div>'


def _text(words: Any) -> str:
    text = visible(str(words))
    return escape(text if len(text) <= 2 * _LONGEST else f"{text[: 2 * _LONGEST - 1]}…")


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


@with_names_suggested
def compare_report(
    path: str | os.PathLike[str], models: Mapping[str, ModelMethods], X: Any = None, y: Any = None, *,
    sample_weight: Any = None, offset: Any = None, exposure: Any = None,
    X_test: Any = None, y_test: Any = None, sample_weight_test: Any = None, offset_test: Any = None,
    exposure_test: Any = None,
    target: str | None = None, units: Mapping[str, str] | None = None, n_resamples: int = 200, random_state: int = 0,
) -> Path:  # fmt: skip
    """Write one HTML file in which two models run side by side, and return its path.

    Parameters
    ----------
    path : path
        The HTML file.
    models : mapping
        Two fitted estimators that predict the same, by their names.
    X, y
        Rows to start from; all other arguments are as in :meth:`~lambdak.SpectralRegressor.report`.
    X_test, y_test
        Rows that neither fit has seen, to measure both on.

    Examples
    --------
    >>> import lambdak
    >>> lambdak.compare_report("both.html", {"plain": plain, "monotone": monotone}, X, y)  # doctest: +SKIP
    """
    from lambdak.report.comparison import Rival, write_comparison

    rivals = [Rival(name, own._fitted, **own._reported()) for name, own in models.items()]
    return write_comparison(
        rivals, path, X, y, sample_weight=sample_weight, offset=offset, exposure=exposure, X_test=X_test, y_test=y_test,
        sample_weight_test=sample_weight_test, offset_test=offset_test, exposure_test=exposure_test, target=target,
        units=units, n_resamples=n_resamples, random_state=random_state,
    )  # fmt: skip
