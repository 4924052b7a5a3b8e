"""Two models side by side in one report: how well each does, by how much they differ, what each guarantees and uses."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak.atomic import write_text
from lambdak.export.javascript.engine import ENGINE, to_json
from lambdak.governance.comparison import compare
from lambdak.governance.performance.bootstrap import RESAMPLES
from lambdak.model import Model
from lambdak.report.amounts import at_most, number
from lambdak.report.document import Block, Heading, Note, Paragraph, Scripted, Section, Table
from lambdak.report.findings import Findings, Options, report_findings
from lambdak.report.html import blocks_html
from lambdak.report.live_page import check_html, laid_out, script
from lambdak.report.payload import payload
from lambdak.report.sections import front, guarantees, performance
from lambdak.table.rows import Rows, optional_read

_SCRIPTS = (
    "payload",
    *ENGINE,
    "dom",
    "svg",
    "number_scale",
    "axes",
    "charts",
    "plots",
    "controls",
    "rows",
    "words",
    "compare",
)
_TRY = """<div class="split"><div class="inputs"><div class="bar">
<label class="field" id="find-row-field">Find a row <input id="find-row" type="search" autocomplete="off"></label>
<label class="field">Start from <select id="example"></select></label>
<button type="button" id="reset">Reset</button>
<label class="field">Find a column <input id="filter" type="search" autocomplete="off"></label></div>
<p class="note" id="rows-found" role="status"></p><p class="note" id="shown" role="status"></p>
<div class="controls" id="controls" role="group" aria-label="Columns of the row" tabindex="0"></div>
<p class="note" id="more"></p></div>
<div class="results" id="both"></div></div>"""
_EFFECTS = """<p class="note">Each column alone, with all others as in the row above.</p>
<label class="field screen" id="output-field">Of <select id="output"></select></label>
<div class="grid" id="effect-charts"></div>"""


@dataclass(frozen=True, eq=False)
class Rival:
    """A model of a comparison: what it is called, and what an estimator keeps of its fit."""

    name: str
    model: Model
    effects: NDArray[np.float64] | None = None


def write_comparison(
    rivals: Sequence[Rival],
    path: str | PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    sample_weight_test: ArrayLike | None = None,
    offset_test: ArrayLike | None = None,
    exposure_test: ArrayLike | None = None,
    target: str | None = None,
    units: Mapping[str, str] | None = None,
    n_resamples: int = RESAMPLES,
    random_state: int = 0,
) -> Path:
    """Write one report of two models, and return it; arguments are those of :func:`lambdak.report.write_report`."""
    if len(rivals) != 2:
        raise ValueError(f"models must be two, by their names; got {[rival.name for rival in rivals]}")
    check_html(path)
    _check_alike(rivals)
    rows = optional_read(X, y, sample_weight, offset, exposure)
    test = optional_read(X_test, y_test, sample_weight_test, offset_test, exposure_test, suffix="_test")
    options = Options(resamples=n_resamples, seed=random_state)
    both = [report_findings(rival.model, X, rows, test, rival.effects, target, units, options) for rival in rivals]
    write_text(path, _page([rival.name for rival in rivals], both))
    return Path(path)


def _check_alike(rivals: Sequence[Rival]) -> None:
    """Refuse models that do not predict the same."""
    first, second = (model.model for model in rivals)
    kinds = [model.model.loss.predicts.value for model in rivals]
    classes = [None if model.classes is None else model.classes.tolist() for model in (first, second)]
    levels = [model.loss.quantile_levels for model in (first, second)]
    if kinds[0] != kinds[1] or classes[0] != classes[1] or levels[0] != levels[1]:
        what = classes if classes[0] != classes[1] else levels if levels[0] != levels[1] else kinds
        raise ValueError(f"models must predict the same to be compared; got {what[0]} and {what[1]}")


def _page(names: list[str], both: list[Findings]) -> str:
    first = both[0]
    sides = [
        f'<div><h2 class="key k{side}">{html.escape(name)}</h2>'
        f"{blocks_html([performance.answer(findings), guarantees.answer(findings)])}</div>"
        for side, (name, findings) in enumerate(zip(names, both, strict=True))
    ]
    sections = {
        "Try both": Section("try", "Try both", (Scripted("try", _TRY),)),
        "Metrics": Section("metrics", "Which predicts better", _metrics(names, both)),
        "Effects": Section("effects", "Effects of both", (Scripted("effects", _EFFECTS),)),
        "Importance": Section("importance", "Importance of the columns", _importance(names, both)),
        "Guarantees": Section("certificate", "What is guaranteed", _guarantees(names, both)),
    }
    merged = list(dict.fromkeys(name for findings in both for name in findings.names))
    order = list(dict.fromkeys(merged.index(findings.names[i]) for findings in both for i in findings.behaviour.first))
    payloads = [payload(findings) for findings in both]
    data = {"constants": payloads[0]["constants"], "names": names, "models": payloads, "order": order}
    return laid_out(
        f"{front.title(first)}: {names[0]} and {names[1]}", f'<div class="answers two">{"".join(sides)}</div>',
        {section.key: link for link, section in sections.items()}, list(sections.values()), to_json(data),
        script(_SCRIPTS),
    )  # fmt: skip


def _metrics(names: list[str], both: list[Findings]) -> tuple[Block, ...]:
    first, second = (assessed.assessment for assessed in both)
    if first is None or second is None:
        return (Paragraph("Not measured: give X_test and y_test, rows that neither fit has seen."),)
    blocks: list[Block] = [Paragraph(f"Measured {first.where}, the same for both.")]
    caveats = dict.fromkeys(assessed.caveat for assessed in (first, second) if assessed.caveat)
    blocks += [Note(f"{caveat} {first.remedy}", "open") for caveat in caveats]
    others = {metric.name: metric.value for metric in second.metrics}
    rows = [
        (metric.name, number(metric.value), number(others.get(metric.name, math.nan)), metric.meaning)
        for metric in first.metrics
    ]
    blocks.append(Table("Metrics of both", ("Metric", *names, "Meaning"), rows, left=(0, 3)))
    if len(first.outputs) == 1:
        blocks.append(_differences(names, both, first.rows))
    return tuple(blocks)


def _differences(names: list[str], both: list[Findings], rows: Rows) -> Table:
    """Return differences over the same resamples of rows, and which side is better beyond doubt."""
    options = both[0].options
    comparison = compare(
        both[0].model, both[1].model, rows.X, rows.given["y"], exposure=rows.given["exposure"],
        sample_weight=rows.weight, offset=rows.offset, names=names, n_resamples=options.resamples,
        random_state=options.seed,
    )  # fmt: skip
    lines = [
        (
            metric.name,
            number(metric.difference, 3),
            f"{number(metric.low, 3)} to {number(metric.high, 3)}",
            metric.better or "either",
        )
        for metric in comparison.metrics
    ]
    heads = ("Metric", f"{names[0]} minus {names[1]}", "95 % interval", "Better")
    return Table("Differences, over the same resamples of rows", heads, lines, left=(0, 3))


def _importance(names: list[str], both: list[Findings]) -> tuple[Block, ...]:
    """Return the columns that either model uses most, with both sizes of both."""
    shown = list(dict.fromkeys(findings.names[i] for findings in both for i in findings.behaviour.first))
    rows = [(name, *(text for findings in both for text in _sizes(findings, name))) for name in shown]
    heads = [f"{what}, {name}" for name in names for what in ("mean effect", "proven at most")]
    words = (
        "The mean effect is how far the column moves it on average over the data, from its baseline; the proven "
        f"bound is the most that any change of it can do. Both are in units of the {both[0].score}."
    )
    return Paragraph(words), Table("Importance", ("Column", *heads), rows)


def _sizes(findings: Findings, name: str) -> tuple[str, str]:
    if name not in findings.names:
        return "not used", "not used"
    i, what = findings.names.index(name), findings.behaviour
    return "" if what.mean is None else number(float(what.mean[i]), 3), at_most(float(what.proven[i]))


def _guarantees(names: list[str], both: list[Findings]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for name, findings in zip(names, both, strict=True):
        requested = [claim for claim in findings.certificate.claims if claim.requested]
        blocks += [Heading(name), *(guarantees.requested_claim(claim, findings) for claim in requested)]
        blocks += [] if requested else [Paragraph("No constraint was requested of this model.")]
    return tuple(blocks)
