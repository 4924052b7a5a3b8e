"""How well the model does: one figure in words at the top, all metrics below, and which rows they are of."""

from __future__ import annotations

import math
from collections.abc import Mapping

from lambdak.governance.performance import Estimate
from lambdak.report.amounts import interval, number, share
from lambdak.report.contents import Contents
from lambdak.report.document import Block, Note, Paragraph, Table
from lambdak.report.html import blocks_html
from lambdak.report.measured import Measured
from lambdak.report.static.markup import card, fold, section

_TITLE = "How well it predicts"
_NOTHING = (
    "Not measured: this report was written without targets. Give X_test and y_test, rows that the fit did not see."
)
_NO_BETTER = "No better than a constant"


def performance(contents: Contents) -> str:
    """The section."""
    found = contents.measured
    if found is None:
        return section("performance", _TITLE, blocks_html([Paragraph(_NOTHING)]))
    caveat: list[Block] = [Note(f"{found.caveat} {found.remedy}", "open")] if found.caveat else []
    before = [Paragraph(f"Measured {found.where}."), *caveat]
    parts = [fold("All metrics, with their 95 % intervals", _metrics(found))]
    if found.confusion is not None:
        parts.append(fold("Actual and predicted classes", _confusion(contents, found)))
    parts.append(fold("Which rows these are", Paragraph(found.assessment.likeness.words)))
    return section("performance", _TITLE, blocks_html(before), "\n".join(parts))


def answer(contents: Contents) -> str:
    """The card at the top."""
    found = contents.measured
    if found is None:
        return card(_TITLE, "Not measured", [_NOTHING])
    big, words = _figure(contents, found)
    return card(_TITLE, big, [words, found.caveat], "" if found.source == "test" else "open")


def _figure(contents: Contents, found: Measured) -> tuple[str, str]:
    """The metric that people of the task look at first, in words, and a sentence about it with the figure."""
    known = {own.name: own for own in found.assessment.metrics}
    if contents.classes:
        return _of_classes(known, found.where, contents.classes)
    if "share between the outer quantiles" in known:
        levels, inside = contents.model.loss.quantile_levels, share(known["share between the outer quantiles"].value)
        words = f"of the targets lie between the {levels[0]:g} and {levels[-1]:g} quantile {found.where}"
        return f"{inside} inside", f"{inside} {words}; {share(levels[-1] - levels[0])} is wanted."
    if contents.model.loss.link.name == "log":
        return _of_rates(known, found.where)
    return _of_numbers(known, found, contents.unit)


def _of_classes(known: Mapping[str, Estimate], where: str, classes: list[str]) -> tuple[str, str]:
    right, usual = known["accuracy"], known["share of the largest class"]
    words = f"of the classes are right {where}{_interval(right, True)}; always naming the most frequent class"
    pairs = ""
    if "ROC AUC" in known:
        area = known["ROC AUC"].value
        pairs = f" Of two rows, one {classes[1]} and one {classes[0]}, it tells which is which in {share(area)} of the "
        pairs += f"cases (ROC AUC {number(area, 3)}); guessing does in 50 %."
    return f"{share(right.value)} right", f"{share(right.value)} {words} gives {share(usual.value)}.{pairs}"


def _of_rates(known: Mapping[str, Estimate], where: str) -> tuple[str, str]:
    explained, balance = known.get("deviance explained", known["R²"]), known.get("actual / expected")
    total = f" In total, {number(balance.value, 3)} times what was expected was observed." if balance else ""
    ends = _interval(explained, True)
    if explained.value <= 0:
        return _NO_BETTER, f"One prediction for all rows does as well {where}{ends}.{total}"
    big, name = share(explained.value), explained.name
    words = f"of the differences between rows {where} are explained ({name} {number(explained.value, 3)}){ends}"
    return f"{big} explained", f"{big} {words}.{total}"


def _of_numbers(known: Mapping[str, Estimate], found: Measured, unit: str) -> tuple[str, str]:
    fit, error = known["R²"], known["MAE"]
    off = f"Predictions are off by {number(error.value, 3)}{unit} on average {found.where}"
    usual = "" if found.usual_error is None else f"; 8 of 10 are off by at most {number(found.usual_error, 3)}{unit}"
    if math.isnan(fit.value):
        return f"off by {number(error.value, 3)}", f"{off}{usual}."
    figure = f"(R² {number(fit.value, 3)}{_interval(fit, False)})"
    if fit.value <= 0:
        return _NO_BETTER, f"{off}{usual}. The mean of all rows does as well {figure}."
    part = f"{share(fit.value)} of the differences between rows are explained {figure}."
    return f"{share(fit.value)} explained", f"{off}{usual}. {part}"


def _interval(own: Estimate, shares: bool) -> str:
    if math.isnan(own.low) or math.isnan(own.high):
        return ""
    show = share if shares else _three
    ends = f"{show(own.low)} to {show(own.high)}".replace("-", "−")
    return f" (95 % interval {ends})" if shares else f", 95 % interval {ends}"


def _three(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else number(value, 3)


def _metrics(found: Measured) -> Table:
    rows = [(own.name, number(own.value), interval(own.low, own.high), own.meaning) for own in found.assessment.metrics]
    return Table("Metrics", ("Metric", "Value", "95 % interval", "Meaning"), rows, left=(0, 3))


def _confusion(contents: Contents, found: Measured) -> Table:
    assert found.confusion is not None
    names = contents.classes
    rows = [(f"actual {name}", *map(number, row)) for name, row in zip(names, found.confusion.tolist(), strict=True)]
    return Table("Rows by actual and predicted class", ("Class", *(f"predicted {name}" for name in names)), rows)
