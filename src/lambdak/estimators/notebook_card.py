"""A fitted model as a small card for notebooks: task, score, guarantees and the columns that matter most."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.certify import promised
from lambdak.certify.summary import plain_statement
from lambdak.explain.learning_curves import LearningCurves
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.table.visible import visible

_COLUMNS = 5
_CLAIMS = 6
_NOTHING = 1e-6  # of the strongest column: rounding
_LONGEST = 90  # characters of a name
# Colours of the page, so that the card fits light and dark notebooks alike; bars are a blue that both show.
_STYLE = (
    "border:1px solid rgba(128,128,128,.45);border-radius:8px;padding:10px 14px;margin:4px 0;max-width:640px;"
    "color:inherit;background:transparent;font-family:sans-serif;font-size:13px;line-height:1.45"
)
_BAR = "display:inline-block;height:9px;border-radius:2px;background:#56B4E9;vertical-align:middle"
_FAINT = "opacity:.7"


def card_html(model: Model, curves: LearningCurves | None, sizes: NDArray[np.float64], seen: bool, rest: str) -> str:
    """The card; ``sizes`` are mean effects if ``seen``, else proven bounds; ``rest`` is HTML to unfold."""
    parts = [
        f'<div style="font-weight:600;font-size:15px">{escape(model.estimator)}</div>',
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
