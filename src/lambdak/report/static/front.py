"""The top of the page: what is predicted, how well, and what is guaranteed."""

from __future__ import annotations

import html
from importlib.metadata import version

import numpy as np

from lambdak.model.rows import model_target
from lambdak.report.amounts import number, plural, share
from lambdak.report.contents import Contents
from lambdak.report.static import guarantees, performance
from lambdak.report.static.markup import card

_MOST_CLASSES = 4  # that are named


def title(contents: Contents) -> str:
    """The heading of the page."""
    if contents.named:
        return f"Prediction of {contents.target}{contents.per}"
    names = _class_names(contents)
    return f"Prediction of {names or 'the target'}"


def front(contents: Contents) -> str:
    """Three answers side by side."""
    cards = [_subject(contents), performance.answer(contents), guarantees.answer(contents)]
    about = (
        f"{contents.model.estimator}, written by lambdak {version('lambdak')}. The model runs inside this page: "
        "nothing is sent anywhere."
    )
    return f'<div class="answers">{"".join(cards)}</div>\n<p class="note" id="about">{html.escape(about)}</p>'


def _subject(contents: Contents) -> str:
    columns = plural(len(contents.names), "column")
    what = contents.target + contents.per if contents.named else _class_names(contents) or "the target"
    return card("What it predicts", what, [
        f"{_kind(contents)}, from {columns} of a table.", _observed(contents),
    ])  # fmt: skip


def _class_names(contents: Contents) -> str:
    """The classes by their names, if they are few: what is predicted where the target has no name."""
    names = contents.classes
    return f"{', '.join(names[:-1])} or {names[-1]}" if 2 <= len(names) <= _MOST_CLASSES else ""


def _kind(contents: Contents) -> str:
    names = contents.classes
    if names:
        named = f" ({', '.join(names)})" if len(names) <= _MOST_CLASSES else ""
        return f"One of {len(names)} {'ordered ' if contents.ordered else ''}classes{named}"
    levels = contents.model.loss.quantile_levels
    if levels:
        return f"{'Quantiles' if len(levels) > 1 else 'The quantile'} {', '.join(f'{level:g}' for level in levels)}"
    return f"A number{f', in{contents.unit}' if contents.unit else ''}{contents.per}"


def _observed(contents: Contents) -> str:
    """What was observed of the target in the data."""
    rows = contents.rows
    if rows is None or rows.y is None:
        return ""
    if contents.classes:
        labels = np.asarray(contents.model.classes).tolist()
        counts = [(np.asarray(rows.y) == label).mean() for label in labels]
        named = [f"{name} {share(float(own))}" for name, own in zip(contents.classes, counts, strict=True)]
        return f"In the data: {', '.join(named[:_MOST_CLASSES])}{', …' if len(named) > _MOST_CLASSES else ''}."
    target = np.asarray(model_target(contents.model, rows), np.float64)
    low, below, middle, above, high = (number(float(each), 3) for each in np.quantile(target, [0, 0.25, 0.5, 0.75, 1]))
    if rows.exposure is not None:
        total, units = float(np.asarray(rows.y, np.float64).sum()), float(rows.exposure.sum())
        return f"In the data: {number(total)} in {number(units)} units of exposure."
    return f"In the data: {low} to {high}{contents.unit}, half of it between {below} and {above}, median {middle}."
