"""The effect of a protected column and of its proxies: measured on rows, and proven for every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._checks import check_per_row
from lambdak.eigen.blas import single_threaded_blas
from lambdak.governance.fairness.assessment import Fairness, JointBound
from lambdak.governance.fairness.flips import flipped, prediction_bound, score_bound
from lambdak.governance.fairness.groups import Proxy, proxies_of
from lambdak.model import Model
from lambdak.model.influence import box, together
from lambdak.model.readout import readouts
from lambdak.model.rows import column_named, given_table
from lambdak.optimize.changes.goals import chosen
from lambdak.optimize.changes.rows import model_of
from lambdak.optimize.changes.targets import Approval, approval_of, by_output
from lambdak.table.category_levels import shown
from lambdak.table.rows import optional_rows

PROXY = 0.3  # an association from which on a column counts as a proxy, if none are named


def fairness(
    model: Any,
    X: Any,
    column: Any,
    y: Any = None,
    *,
    threshold: float | None = None,
    target: Any = None,
    proxies: Sequence[Any] | None = None,
    output: Any = None,
    offset: ArrayLike | None = None,
) -> Fairness:
    """Flip a protected column of every row, and bound what it and its proxies can do to any row.

    Parameters
    ----------
    model : fitted estimator or Model
    X : table
        Rows to measure on.
    column : str
        The protected column. The model must have it: a column that was left out has no effect of its own, but its
        proxies do.
    y : array, optional
        Targets of the rows, for metrics by group.
    threshold, target, output, offset
        What an approval is, as in :func:`lambdak.optimize.reasons`. Of two classes ``target`` is the second one by
        default; a regression without a threshold has no decisions.
    proxies : sequence of str, optional
        Columns that move together with the protected one in the joint bound; by default those with an association of
        0.3 or more on X.

    Examples
    --------
    >>> from lambdak import SpectralClassifier
    >>> X = [[income, sex] for income in range(60) for sex in ("f", "m")]
    >>> y = [int(income > 30) for income, _ in X]
    >>> model = SpectralClassifier(effort="fast", random_state=0, max_influence={"x1": 0.1}).fit(X, y)
    >>> found = fairness(model, X, "x1", threshold=0.5)
    >>> found.effect.max() <= found.alone.prediction <= 0.025 + 1e-9
    True
    """
    fitted = model_of(model)
    i, table = column_named(fitted, column), given_table(fitted, X)
    design = fitted.encoder.transform(table, np.float64)
    offsets = optional_rows(offset, len(design), "offset")
    added = np.zeros(len(design)) if offsets is None else np.asarray(offsets, np.float64)
    approval, cells = _approval(fitted, target, threshold, output), table.cells(fitted.encoder.positions(table)[i])
    found, largest = proxies_of(fitted, table, i), float(np.abs(added).max(initial=0.0))
    with single_threaded_blas():
        flips = flipped(fitted, approval, design, added, i, cells, output)
        raw = by_output(fitted.scores(design, offsets))
        effect = np.ptp(flips.predictions, axis=0) if len(flips.levels) else np.zeros(len(design))
        return Fairness(
            column=fitted.encoder.feature_names[i],
            measure=chosen(fitted, output).words if approval is None else approval.what,
            approval=None if approval is None else approval.goal.words,
            flips=flips,
            effect=effect,
            alone=_bound(fitted, [i], largest),
            proxies=found,
            together=_bound(fitted, [i, *_chosen(fitted, i, found, proxies)], largest),
            limited=not all(each.bounded for each in fitted.encoder.columns),
            factor=fitted.loss.link.name == "log",
            _groups=_groups(fitted, i, cells),
            _now=None if approval is None else approval.reached(raw),
            _predictions=chosen(fitted, output).predictions(raw)
            if approval is None
            else approval.measured(fitted, raw),
            _positive=_positive(approval, y, len(design)),
            _like=X,
        )


def _approval(model: Model, target: Any, threshold: float | None, output: Any) -> Approval | None:
    if model.classes is None:
        return None if threshold is None and target is None else approval_of(model, target, threshold, output)
    labels = np.asarray(model.classes).tolist()
    return approval_of(model, labels[-1] if target is None and len(labels) == 2 else target, threshold, output)


def _bound(model: Model, columns: Sequence[int], offset: float) -> JointBound:
    """The smaller one of two bounds: the sum over the columns, and the largest corner of all their changes.

    ``offset`` is the size of the largest one.
    """
    names = tuple(model.encoder.feature_names[i] for i in columns)
    scores = []
    for output in readouts(model):
        corner = box(output, dict.fromkeys(columns, None))[0] if len(columns) > 1 else np.inf
        scores.append(score_bound(output, min(together(output, columns), corner), offset))
    return JointBound(names, max(scores), prediction_bound(model, scores))


def _chosen(model: Model, i: int, found: Sequence[Proxy], proxies: Any) -> list[int]:
    """Positions of the proxies, those that the user names or those with a strong association."""
    if proxies is None:
        return [column_named(model, proxy.column) for proxy in found if proxy.association >= PROXY]
    listed = [proxies] if isinstance(proxies, str | int) else list(proxies)
    return [column for column in dict.fromkeys(column_named(model, name) for name in listed) if column != i]


def _groups(model: Model, i: int, cells: Any) -> list[str]:
    """The level of each row, as text; numbers in the halves below and from their median on."""
    if not model.encoder.columns[i].is_number:
        codes, levels = cells.levels()
        return [shown(levels[code]) for code in codes]
    numbers = cells.numbers()
    middle = float(np.nanmedian(numbers)) if (~np.isnan(numbers)).any() else np.nan
    words = {True: f"{middle:g} or more", False: f"below {middle:g}"}
    return ["missing" if np.isnan(number) else words[bool(number >= middle)] for number in numbers]


def _positive(approval: Approval | None, y: Any, rows: int) -> NDArray[np.bool_] | None:
    """Whether the target of each row would have been an approval."""
    if y is None or approval is None:
        return None
    return approval.observed(check_per_row(np.asarray(y), rows, "y"))
