"""How well the model does, with intervals, and on which rows: whether the fit has seen them is said first."""

from __future__ import annotations

from lambdak.governance.performance import Estimate
from lambdak.report.amounts import interval, number
from lambdak.report.document import Block, Code, Note, Paragraph, Picture, Section, Table
from lambdak.report.findings import Findings
from lambdak.report.findings.assessment import Assessment, Output
from lambdak.report.findings.likeness import SEEN
from lambdak.report.pictures import curve_png

TITLE = "Performance"
_CALL = 'model.dossier("dossier.html", X_test, y_test)  # rows that the fit did not see'
_OF_OUTPUT = {"class": ("ROC AUC", "KS", "actual / expected"), "coverage": ()}


def performance(found: Findings) -> Section:
    """Metrics and pictures."""
    own = found.assessment
    if own is None:
        note = "Not measured: no rows with targets were given. This call measures it:"
        point = "Performance and calibration were not measured: give X and y that the fit did not see."
        return Section("performance", TITLE, (Note(note, "open"), Code(_CALL, "python")), open_points=(point,))
    blocks: list[Block] = [provenance(own), Paragraph(own.resampling.words), metric_table(own)]
    if len(own.outputs) > 1:
        blocks += _by_output(own)
    blocks += _pictures(own)
    points = (SEEN,) if own.likeness.seen else ()
    return Section("performance", TITLE, tuple(blocks), open_points=points)


def provenance(own: Assessment) -> Note:
    """Whether the fit has seen the rows."""
    why = own.likeness.words
    if own.likeness.seen:
        return Note(f"{SEEN} {why}", "bad")
    if own.likeness.seen is None:
        words = "Whoever wrote this document says that the fit did not see these rows; that could not be checked."
        return Note(f"{words} {why}", "open")
    return Note(f"Measured on rows that the fit did not see, as far as that can be checked. {why}", "good")


def metric_table(own: Assessment) -> Table:
    """All metrics with their intervals."""
    rows = tuple((each.name, number(each.value), interval(each.low, each.high), each.meaning) for each in own.metrics)
    return Table("Metrics", ("Metric", "Value", "95 % interval", "Meaning"), rows, left=(0, 3))


def _by_output(own: Assessment) -> list[Block]:
    """One line for each class or quantile."""
    known = [(output.name, output.performance.metrics) for output in own.outputs]
    wanted = _OF_OUTPUT.get(own.outputs[0].performance.task, ())
    names = [each.name for each in known[0][1] if not wanted or each.name in wanted]
    if wanted:
        rows = tuple((name, *(_short(_named(metrics, each)) for each in names)) for name, metrics in known)
        table = Table("Each class against all others", ("Class", *names), rows)
    else:
        rows = tuple((name, *map(_short, metrics)) for name, metrics in known)
        table = Table("Each quantile", ("Quantile", "share up to it", *names[1:]), rows)
    more = f"{own.left_out:,} more, with fewer rows, are not shown."
    return [table, *([Paragraph(more)] if own.left_out else [])]


def _named(metrics: tuple[Estimate, ...], name: str) -> Estimate:
    return next(each for each in metrics if each.name == name)


def _short(own: Estimate) -> str:
    return f"{number(own.value)} ({interval(own.low, own.high)})"


def _pictures(own: Assessment) -> list[Block]:
    """Curves of the first output; quantiles have none but their calibration."""
    first = own.outputs[0]
    if first.performance.task == "coverage":
        return []
    of = "" if len(own.outputs) == 1 else f" of {first.name}"
    words = f"Predicted and observed{of}, from the lowest predictions to the highest"
    shown: list[Block] = [Picture("lift", words, curve_png(first.performance, "lift"))]
    if first.performance.task == "class":
        if 0 < first.performance.actual < first.performance.exposure:
            shown.append(_picture(first, "roc", f"ROC curve{of}: how well the class is told from the others"))
    elif any(each.name == "Gini" for each in first.performance.metrics):
        shown.append(_picture(first, "lorenz", "Lorenz curve: how well predictions order the rows"))
    return shown


def _picture(own: Output, what: str, caption: str) -> Picture:
    return Picture(what, caption, curve_png(own.performance, what), wide=False)
