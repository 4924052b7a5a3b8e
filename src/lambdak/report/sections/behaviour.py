"""What the model does: which columns matter, how, and which act together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lambdak.explain import ColumnEffect
from lambdak.model.outward import upwards
from lambdak.report.amounts import cell, number, plural
from lambdak.report.document import (
    MOST_LINES,
    Block,
    Fold,
    Gallery,
    Heading,
    Paragraph,
    Picture,
    Scripted,
    Section,
    Table,
    shortened,
)
from lambdak.report.findings import Findings
from lambdak.report.pictures import effect_png, strengths_png

_ADDITIVE = "The model is additive: no two columns interact."
_MOST_PAIRS = 10
_DIRECTIONS = {1: "never falls (proven)", -1: "never rises (proven)", 0: "may rise and fall"}
_MOST_PAGE_PAIRS = 8
_NEGLIGIBLE = 0.01  # of the largest effect of a pair
_PAGE_PAIRS = (
    "What two columns do together beyond the sum of what each does alone: root mean square over the data, in units "
    "of the {score}."
)
_PAIRS = (
    "joint is the root mean square of what the effect of both columns together adds to the sum of their own effects, "
    "over pairs of rows; share is Friedman and Popescu's H, the same relative to the whole effect of both."
)


def dossier(findings: Findings) -> Section:
    """Return the importance of the columns, their effects, and which of them act together."""
    short, whole = shortened(_importance(findings))
    blocks: list[Block] = [
        Paragraph(_intro(findings)),
        short,
        Picture("strengths", "What each column can do at most, and the most that it was seen to do",
                strengths_png(findings.explanation)),
        Heading("Effects"),
        Paragraph(_reading(findings)),
        _effects(findings),
    ]  # fmt: skip
    pairs = _pairs(findings)
    return Section("behaviour", "What the model does", (*blocks, *pairs), whole)


def _intro(findings: Findings) -> str:
    link = findings.model.loss.link
    unit = "factors of the prediction" if link.name == "log" else f"units of {link.units}"
    if findings.importance is None:
        return f"No rows were given: columns are in the order of what they can do at most, in {unit}."
    return (
        "The mean effect of a column is the mean absolute change of the raw score when its cell is replaced by the "
        f"baseline (the median, or the average level), over the rows of this document, in {unit}. The proven "
        "bound is what it can do at most, to any row."
    )


def _importance(findings: Findings) -> Table:
    names, size = findings.names, findings.importance
    total = 0.0 if size is None else float(size.sum())
    rows = []
    for place, i in enumerate(findings.by_strength, 1):
        effect = findings.explanation[names[i]]
        mean = "not given" if size is None else findings.size(float(size[i]))
        part = f"{100 * float(size[i]) / total:.1f} %" if size is not None and total else "not given"
        rows.append((str(place), names[i], mean, part, _bound(findings, effect), _direction(effect)))
    unit = findings.size_unit
    labels = (
        "",
        "Column",
        f"Mean effect{unit}",
        "Share of all",
        f"Proven bound{unit}",
        "As the column rises, the raw score",
    )
    return Table("Importance of the columns", labels, tuple(rows), left=(1, 5))


def _bound(findings: Findings, effect: ColumnEffect) -> str:
    """Return what a column can do at most, as the certificate writes it; a factor under a log link."""
    log = findings.model.loss.link.name == "log"
    return findings.limit(effect.proven) if log else upwards(effect.proven)


def _direction(effect: ColumnEffect) -> str:
    """Return which way a column goes, and what else was promised of it."""
    way = _DIRECTIONS[effect.sign] if effect.kind == "number" else "is a category"
    return "; ".join([way, *(f"promised: {words}" for words in effect.promised)])


def _reading(findings: Findings) -> str:
    rows = findings.explanation.rows
    seen = f"over {plural(rows, 'row')}" if rows else "of the baseline"
    what = "" if findings.explanation.output == "prediction" else f" of {findings.explanation.output}"
    return (
        f"Each picture shows how the raw score{what} changes along one column: the line is the mean {seen}, the grey "
        "band holds 90 % of the rows, and no row, seen or unseen, can leave the light blue region: that is proven. A "
        "change of the model's output is no proof that changing the column changes the outcome."
    )


def _effects(findings: Findings) -> Gallery:
    chosen = [findings.names[i] for i in findings.by_strength[:MOST_LINES]]
    return Gallery(tuple(
        Picture(f"effect-{place}", f"Effect of {name}", effect_png(findings.explanation[name]), wide=False)
        for place, name in enumerate(chosen, 1)
    ))  # fmt: skip


def _pairs(findings: Findings) -> list[Block]:
    if findings.model.dim == 1:
        return [Heading("Interactions"), Paragraph(_ADDITIVE)]
    pairs = sorted(
        findings.explanation.interactions, key=lambda pair: -pair.joint if math.isfinite(pair.joint) else math.inf
    )
    strongest = [pair for pair in pairs if math.isfinite(pair.joint)][:_MOST_PAIRS]
    if not strongest:
        return [
            Heading("Interactions"),
            Paragraph("Which columns act together is observed on rows, which were not given."),
        ]
    rows = tuple((pair.first, pair.second, number(pair.joint), number(pair.h_statistic)) for pair in strongest)
    table = Table("Pairs of columns that act together most", ("Column", "Column", "Joint", "Share"), rows, left=(0, 1))
    return [Heading("Interactions"), table, Fold("How interactions are measured", (Paragraph(_PAIRS),))]


# ---- on a page -------------------------------------------------------------------------------------------------------


def importance(findings: Findings) -> Section:
    """Return every column, the strongest first: what scripts draw, and the numbers behind folds."""
    what = findings.behaviour
    mean = "" if what.mean is None else "how far the column moves predictions on average over the data, and "
    words = f"The longer, the more the column matters: {mean}the most that any change of it can do to any row (proven)."
    blocks: list[Block] = [Paragraph(words)]
    flagged = [findings.names[i] for i in findings.identifiers]
    if flagged:
        blocks.append(
            Paragraph(f"Looks like an identifier, which names rows instead of describing them: {', '.join(flagged)}.")
        )
    first = _sizes(findings, what.first, "Importance")
    blocks += [Scripted("importance"), Fold("Importance as numbers", (_units(findings), first))]
    rest = [i for i in what.order if i not in what.first and i not in what.idle]
    if rest:
        title = f"The other {plural(len(rest), 'column').removeprefix('1 ')}"
        blocks.append(Fold(title, (_sizes(findings, rest, "Importance, the rest"),)))
    if what.idle:
        title = f"{plural(len(what.idle), 'column')} without any effect, whatever they hold"
        blocks.append(Fold(title, (Paragraph(", ".join(findings.names[i] for i in what.idle)),)))
    return Section("importance", "Importance of the columns", tuple(blocks))


def _units(findings: Findings) -> Paragraph:
    mean = "The mean effect is that of the column's own value instead of its baseline. "
    log = findings.model.loss.link.name == "log"
    units = "Numbers are factors of the prediction." if log else f"Numbers are in units of the {findings.score}."
    return Paragraph(f"{'' if findings.behaviour.mean is None else mean}{units}")


def _sizes(findings: Findings, columns: Sequence[int], caption: str) -> Table:
    what, place = findings.behaviour, {i: n for n, i in enumerate(findings.behaviour.order, 1)}
    rows = [
        (str(place[i]), findings.names[i], "" if what.mean is None else findings.size(float(what.mean[i])),
         findings.limit(float(what.proven[i])))
        for i in columns
    ]  # fmt: skip
    unit = findings.size_unit
    return Table(caption, ("Place", "Column", f"Mean effect{unit}", f"Proven at most{unit}"), rows, left=(1,))


def effects(findings: Findings) -> Section:
    """Return the strongest columns in a table behind what scripts draw."""
    what = findings.behaviour
    rows = [_ends(findings.names[i], what.effects[i]) for i in what.first]
    about = "" if what.output == "prediction" else f" of {what.output}"
    words = f"Mean change of the {findings.score}{about} over the data, from the baseline of the column."
    names = ("Column", "As it rises", "Lowest at", "Change there", "Highest at", "Change there")
    table = Table("Effects", names, rows, (0, 1, 2, 4))
    fold = Fold("Effects as numbers", (Paragraph(words), table))
    return Section("effects", "Effect of each column", (Scripted("effects"), fold))


def _ends(name: str, effect: ColumnEffect) -> tuple[str, ...]:
    """Return a column, its direction, and where its effect is least and largest."""
    ends = [int(effect.effect.argmin()), int(effect.effect.argmax())]
    texts = [text for at in ends for text in (_cell(effect.x[at]), number(float(effect.effect[at]), 3))]
    return (name, _direction(effect), *texts)


def _cell(value: Any) -> str:
    return cell(value) if isinstance(value, int | float) else str(value)


def interactions(findings: Findings) -> Section:
    """Return the pairs of columns that act together most, behind what scripts draw."""
    title, pairs = "Columns that act together", findings.behaviour.pairs
    if findings.model.dim == 1:
        return Section("interactions", title, (Paragraph(_ADDITIVE), Scripted("interactions")))
    if not pairs:
        words = "Which columns act together is observed on rows, and this report was written without any."
        return Section("interactions", title, (Paragraph(words), Scripted("interactions")))
    strongest = sorted(pairs, key=lambda pair: -pairs[pair])[:_MOST_PAGE_PAIRS]
    least = _NEGLIGIBLE * pairs[strongest[0]]
    names = findings.names
    rows = [(names[i], names[j], number(pairs[i, j], 3)) for i, j in strongest if pairs[i, j] > least]
    table = Table("Pairs of columns that act together most", ("Column", "Column", "Joint effect"), rows, (0, 1))
    note = Paragraph("Two columns act together where what one of them does depends on the other.")
    numbers = Fold("The strongest pairs as numbers", (Paragraph(_PAGE_PAIRS.format(score=findings.score)), table))
    return Section("interactions", title, (note, Scripted("interactions"), numbers))
