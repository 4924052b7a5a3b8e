"""How well the model does, with intervals, and on which rows: whether the fit has seen them is said first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from lambdak.governance.performance import Coverage, Estimate, Segments
from lambdak.report.amounts import count, interval, number, share
from lambdak.report.document import (
    Answer,
    Block,
    Code,
    Fold,
    Gallery,
    Mark,
    Note,
    Paragraph,
    Picture,
    Scripted,
    Section,
    Table,
    Tone,
)
from lambdak.report.findings import Findings
from lambdak.report.findings.assessment import Assessment, Output
from lambdak.report.findings.fit import SEEN
from lambdak.report.findings.headline import Figure, class_shares, headline
from lambdak.report.pictures import curve_png, drawn_png

TITLE, PAGE_TITLE = "Performance", "How well it predicts"
_CALL = (
    'model.dossier("dossier.html", X_test, y_test, X_train=X_train, y_train=y_train)  # rows that the fit did not see'
)
_NOTHING = (
    "Not measured: this report was written without targets. Give X_test and y_test, rows that the fit did not see."
)
_COMPARE = "With X_train and y_train they are compared row by row."
_NO_BETTER = "No better than a constant"
_OF_OUTPUT = {"class": ("ROC AUC", "KS", "actual / expected"), "coverage": ()}


def dossier(findings: Findings) -> Section:
    """Return metrics and pictures, and whether the fit has seen the rows."""
    assessment = findings.assessment
    if assessment is None:
        note = "Not measured: no rows with targets were given. This call measures it:"
        point = "Performance and calibration were not measured: give X and y that the fit did not see."
        return Section("performance", TITLE, (Note(note, "open"), Code(_CALL, "python")), open_points=(point,))
    blocks: list[Block] = [provenance(assessment), Paragraph(assessment.resampling.words), metric_table(assessment)]
    if len(assessment.outputs) > 1:
        blocks += _by_output(assessment)
    blocks += _pictures(assessment)
    points = {"seen": (SEEN,), "unclear": (f"Whether the fit saw the rows is not known. {_COMPARE}",)}
    return Section("performance", TITLE, tuple(blocks), open_points=points.get(assessment.source, ()))


def provenance(assessment: Assessment) -> Note:
    """Whether the fit has seen the rows."""
    why = assessment.likeness.words
    if assessment.source == "seen":
        return Note(f"{SEEN} {why}", "bad")
    if assessment.source == "unclear":
        return Note(f"{assessment.caveat} {why} {_COMPARE}", "open")
    return Note(f"Measured on rows that the fit did not see, as far as that can be checked. {why}", "good")


def metric_table(assessment: Assessment) -> Table:
    """Return the table of all metrics with their intervals."""
    rows = tuple(
        (metric.name, number(metric.value), interval(metric.low, metric.high), metric.meaning)
        for metric in assessment.metrics
    )
    return Table("Metrics", ("Metric", "Value", "95 % interval", "Meaning"), rows, left=(0, 3))


def _by_output(assessment: Assessment) -> list[Block]:
    """Return a table with one line for each class or quantile."""
    by_output = [(output.name, output.performance.metrics) for output in assessment.outputs]
    wanted = _OF_OUTPUT.get(assessment.outputs[0].performance.task, ())
    names = [each.name for each in by_output[0][1] if not wanted or each.name in wanted]
    if wanted:
        rows = tuple((name, *(_short(_named(metrics, each)) for each in names)) for name, metrics in by_output)
        table = Table("Each class against all others", ("Class", *names), rows)
    else:
        rows = tuple((name, *map(_short, metrics)) for name, metrics in by_output)
        table = Table("Each quantile", ("Quantile", "share up to it", *names[1:]), rows)
    more = f"{assessment.left_out:,} more, with fewer rows, are not shown."
    return [table, *([Paragraph(more)] if assessment.left_out else [])]


def _named(metrics: tuple[Estimate, ...], name: str) -> Estimate:
    return next(each for each in metrics if each.name == name)


def _short(metric: Estimate) -> str:
    return f"{number(metric.value)} ({interval(metric.low, metric.high)})"


def _pictures(assessment: Assessment) -> list[Block]:
    """Curves of the first output; quantiles have none but their calibration."""
    first = assessment.outputs[0]
    if first.performance.task == "coverage":
        return []
    of = "" if len(assessment.outputs) == 1 else f" of {first.name}"
    words = f"Predicted and observed{of}, from the lowest predictions to the highest"
    shown: list[Block] = [Picture("lift", words, curve_png(first.performance, "lift"))]
    if first.performance.task == "class":
        if 0 < first.performance.actual < first.performance.exposure:
            shown.append(_picture(first, "roc", f"ROC curve{of}: how well the class is told from the others"))
    elif any(each.name == "Gini" for each in first.performance.metrics):
        shown.append(_picture(first, "lorenz", "Lorenz curve: how well predictions order the rows"))
    return shown


def _picture(output: Output, what: str, caption: str) -> Picture:
    return Picture(what, caption, curve_png(output.performance, what), wide=False)


# ---- on a page -------------------------------------------------------------------------------------------------------


def page(findings: Findings) -> Section:
    """Return where the model was measured, what its scripts draw, and all metrics behind folds."""
    measured = findings.assessment
    if measured is None:
        return Section("performance", PAGE_TITLE, (Paragraph(_NOTHING), Scripted("performance")))
    caveat = [Note(f"{measured.caveat} {measured.remedy}", "open")] if measured.caveat else []
    blocks: list[Block] = [Paragraph(f"Measured {measured.where}."), *caveat, Scripted("performance")]
    blocks.append(Fold("All metrics, with their 95 % intervals", (metric_table(measured),)))
    if findings.coverage is not None:
        blocks.append(Fold("How often intervals hold", tuple(_distribution(findings.coverage))))
    if measured.confusion is not None:
        blocks.append(Fold("Actual and predicted classes", (_confusion(findings.classes, measured.confusion),)))
    blocks.append(Fold("Which rows these are", (Paragraph(measured.likeness.words),)))
    return Section("performance", PAGE_TITLE, tuple(blocks))


def answer(findings: Findings) -> Answer:
    """Return how well the model does in one figure, for the top of a page."""
    measured = findings.assessment
    if measured is None:
        return Answer(PAGE_TITLE, "Not measured", [_NOTHING])
    big, words = _figure(findings, measured)
    wrong: Tone = "bad" if any(figure.no_better for figure in headline(measured)) else "plain"
    return Answer(PAGE_TITLE, big, [words, measured.caveat], "open" if measured.source == "seen" else wrong)


def _figure(findings: Findings, measured: Assessment) -> tuple[str, str]:
    """Return the metric that people of the task look at first, in words, and a sentence about it with the figure."""
    known, figures = {metric.name: metric for metric in measured.metrics}, headline(measured)
    if "share between the outer quantiles" in known:
        levels, inside = findings.model.loss.quantile_levels, share(known["share between the outer quantiles"].value)
        words = f"of the targets lie between the {levels[0]:g} and {levels[-1]:g} quantile {measured.where}"
        return f"{inside} inside", f"{inside} {words}; {share(levels[-1] - levels[0])} is wanted."
    if findings.model.outputs.quantile_levels:
        (level,) = findings.model.outputs.quantile_levels
        below = share(known[f"share up to the {level:g} quantile"].value)
        return f"{below} below", f"{below} of the targets are at most at the {level:g} quantile {measured.where}."
    lines = [_beside(figure, findings.unit) for figure in figures]
    sentence = " ".join([f"Measured {measured.where}:", *lines, *_more(findings, measured, known)])
    if all(figure.no_better for figure in figures):
        return _NO_BETTER, sentence
    first = next((figure for figure in figures if not math.isnan(figure.metric.value)), figures[-1])
    return f"{first.metric.name.removeprefix('ROC ')} {_three(first.metric.value)}", sentence


def _beside(figure: Figure, unit: str) -> str:
    """Return a metric with its interval, beside what is reached without a model."""
    metric, unit = figure.metric, unit if figure.of_target else ""
    base = f"; {figure.without}: {_three(figure.base)}{unit}" if figure.without else ""
    return f"{metric.name[0].upper()}{metric.name[1:]} {_three(metric.value)}{unit}{_ends(metric)}{base}."


def _more(findings: Findings, measured: Assessment, known: Mapping[str, Estimate]) -> list[str]:
    """Return the base rate of classes, the balance of totals, or how far off most predictions of numbers are."""
    if findings.classes:
        shares = zip(findings.classes, class_shares(measured).tolist(), strict=True)
        rare, part = min(shares, key=lambda pair: pair[1]) if len(findings.classes) > 2 else [*shares][1]
        return [f"Base rate: {share(part)} of the rows are {rare}."]
    balance = known.get("actual / expected") if findings.model.loss.link.name == "log" else None
    if balance is not None:
        first = measured.outputs[0].performance
        mean = number(first.actual / first.exposure, 3)
        base = f"Base rate: {mean}{findings.unit}{findings.per}."
        return [base, f"In total, {_three(balance.value)} times what was expected was observed."]
    usual = measured.usual_error
    return [] if usual is None else [f"8 of 10 are off by at most {number(usual, 3)}{findings.unit}."]


def _ends(metric: Estimate) -> str:
    if math.isnan(metric.low) or math.isnan(metric.high):
        return ""
    return f" (95 % interval {_three(metric.low)} to {_three(metric.high)})".replace("-", "−")


def _three(value: float) -> str:
    return f"{value:.3f}" if 0.01 <= abs(value) < 1 else number(value, 3)


def _confusion(classes: list[str], confusion: NDArray[np.intp]) -> Table:
    rows = [(f"actual {name}", *map(number, row)) for name, row in zip(classes, confusion.tolist(), strict=True)]
    return Table("Rows by actual and predicted class", ("Class", *(f"predicted {name}" for name in classes)), rows)


_MOST_SHOWN = 4  # outputs whose pictures and tables are in the section
_CALIBRATION = (
    "Rows are sorted by their prediction and cut into groups of about the same weight. In each group, the mean "
    "prediction should lie within the 95 % interval of what was observed; by chance alone, about one group in twenty "
    "lies outside."
)


def calibration(findings: Findings) -> Section:
    """Return whether predictions are as high as what was observed: a picture and a table for each output."""
    assessment = findings.assessment
    if assessment is None:
        return Section("calibration", "Calibration", (Note("Not measured: no rows with targets were given.", "open"),))
    tables = [_groups(output) for output in assessment.outputs]
    pictures = Gallery(tuple(map(_calibration_picture, assessment.outputs[:_MOST_SHOWN])))
    blocks: list[Block] = [Paragraph(_CALIBRATION), _overall(assessment), pictures]
    if findings.coverage is not None:
        blocks += [*_distribution(findings.coverage), Gallery(tuple(_coverage_pictures(findings)))]
    return Section("calibration", "Calibration", (*blocks, *tables[:_MOST_SHOWN]), tuple(tables[_MOST_SHOWN:]))


def _distribution(coverage: Coverage) -> list[Block]:
    """Return how often targets are where the distribution says, in words and a table."""
    kind = (
        "Intervals end at levels that were counted on rows that members had not seen: the stated share is expected of "
        "rows like those."
        if coverage.calibrated
        else "Intervals end at quantiles of nominal levels; no rows were counted."
    )
    rows = tuple(
        (f"{share(wanted)}", share(observed), number(width))
        for wanted, observed, width in zip(
            coverage.coverages, coverage.observed.tolist(), coverage.widths.tolist(), strict=True
        )
    )
    return [Paragraph(kind), Table("Coverage of intervals", ("Wanted", "Targets inside", "Mean width"), rows)]


def _coverage_pictures(findings: Findings) -> Iterator[Picture]:
    """Yield levels of targets, coverage by level and interval, and coverage by the most important column."""
    coverage = findings.coverage
    assert coverage is not None
    captions = {
        "pit": "Levels of targets in their own distributions: all bars are as high if the distributions are right",
        "levels": "Share of targets up to the quantile of each level",
        "intervals": "Share of targets inside intervals",
    }
    for what, caption in captions.items():
        yield Picture("coverage", caption, drawn_png(coverage.plot(what)), wide=False)
    column = findings.names[findings.by_strength[0]]
    yield Picture("coverage", f"Coverage of the 90 % interval by {column}", drawn_png(coverage.by(column).plot()))


def _overall(assessment: Assessment) -> Table:
    rows = []
    for output in assessment.outputs:
        whole = output.performance.calibration()
        bands = whole.bands
        outside = sum(_outside(bands, i) is True for i in range(len(bands)))
        exposure = bands.exposure.sum()
        rows.append((
            output.name, number(float(bands.expected.sum() / exposure)), number(float(bands.actual.sum() / exposure)),
            number(whole.balance), _slope(output), f"{outside} of {len(bands)}",
        ))  # fmt: skip
    names = (
        "",
        "Mean prediction",
        "Observed mean",
        "Observed / predicted",
        "Slope",
        "Groups outside of their interval",
    )
    return Table("Calibration as a whole", names, tuple(rows))


def _slope(output: Output) -> str:
    """Slope of observed against predicted, as text; a quantile has none, as its share is the same in all rows."""
    return "does not apply" if output.performance.task == "coverage" else number(output.performance.calibration().slope)


def _calibration_picture(output: Output) -> Picture:
    what = "lift" if output.performance.task == "coverage" else "calibration"
    caption = f"Calibration: {output.name}. With perfect calibration, observed is as predicted"
    return Picture("calibration", caption, curve_png(output.performance, what), wide=False)


def _groups(output: Output) -> Table:
    bands = output.performance.lift()
    verdicts = {True: Mark("outside", "bad"), False: Mark("inside", "good"), None: "not defined"}
    rows = []
    for i, name in enumerate(bands.names):
        ends = interval(float(bands.observed_low[i]), float(bands.observed_high[i]))
        rows.append((
            name, count(bands.rows[i]), number(float(bands.predicted[i])), number(float(bands.observed[i])), ends,
            verdicts[_outside(bands, i)],
        ))  # fmt: skip
    names = ("Group", "Rows", "Mean prediction", "Observed mean", "95 % interval of observed", "Prediction is")
    return Table(f"Calibration in groups: {output.name}", names, tuple(rows), left=(0, 5))


def _outside(bands: Segments, i: int) -> bool | None:
    """Whether a prediction lies outside of the interval of what was observed; None where there is no interval."""
    if not bands.observed_low[i] <= bands.observed_high[i]:
        return None
    return not bands.observed_low[i] <= bands.predicted[i] <= bands.observed_high[i]
