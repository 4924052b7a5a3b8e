"""What the model does: which columns matter, how, and which act together."""

from __future__ import annotations

import math

from lambdak.explain import ColumnEffect
from lambdak.model.outward import upwards
from lambdak.report.amounts import number, plural
from lambdak.report.document import (
    MOST_LINES,
    Block,
    Fold,
    Gallery,
    Heading,
    Paragraph,
    Picture,
    Section,
    Table,
    shortened,
)
from lambdak.report.findings import Findings
from lambdak.report.pictures import effect_png, strengths_png

_MOST_PAIRS = 10
_DIRECTIONS = {1: "never falls (proven)", -1: "never rises (proven)", 0: "may rise and fall"}
_PAIRS = (
    "joint is the root mean square of what the effect of both columns together adds to the sum of their own effects, "
    "over pairs of rows; share is Friedman and Popescu's H, the same relative to the whole effect of both."
)


def behaviour(found: Findings) -> Section:
    """Importance, effects and interactions."""
    short, whole = shortened(_importance(found))
    blocks: list[Block] = [
        Paragraph(_intro(found)),
        short,
        Picture("strengths", "What each column can do at most, and the most that it was seen to do",
                strengths_png(found.explanation)),
        Heading("Effects"),
        Paragraph(_reading(found)),
        _effects(found),
    ]  # fmt: skip
    pairs = _pairs(found)
    return Section("behaviour", "What the model does", (*blocks, *pairs), whole)


def _intro(found: Findings) -> str:
    unit = found.subject.model.loss.link.units
    if found.importance is None:
        return f"No rows were given: columns are in the order of what they can do at most, in units of {unit}."
    return (
        "The mean effect of a column is the mean absolute change of the raw score when its cell is replaced by the "
        f"baseline (the median, or the average level), over the rows of this document, in units of {unit}. The proven "
        "bound is what it can do at most, to any row."
    )


def _importance(found: Findings) -> Table:
    names, size = found.subject.names, found.importance
    total = 0.0 if size is None else float(size.sum())
    rows = []
    for place, i in enumerate(found.by_strength, 1):
        effect = found.explanation[names[i]]
        mean = "not given" if size is None else number(float(size[i]))
        part = f"{100 * float(size[i]) / total:.1f} %" if size is not None and total else "not given"
        rows.append((str(place), names[i], mean, part, upwards(effect.proven), _direction(effect)))
    labels = ("", "Column", "Mean effect", "Share of all", "Proven bound", "As the column rises, the raw score")
    return Table("Importance of the columns", labels, tuple(rows), left=(1, 5))


def _direction(effect: ColumnEffect) -> str:
    return _DIRECTIONS[effect.sign] if effect.kind == "number" else "is a category"


def _reading(found: Findings) -> str:
    rows = found.explanation.rows
    seen = f"over {plural(rows, 'row')}" if rows else "of the baseline"
    what = "" if found.explanation.output == "prediction" else f" of {found.explanation.output}"
    return (
        f"Each picture shows how the raw score{what} changes along one column: the line is the mean {seen}, the grey "
        "band holds 90 % of the rows, and no row, seen or unseen, can leave the light blue region: that is proven. A "
        "change of the model's output is no proof that changing the column changes the outcome."
    )


def _effects(found: Findings) -> Gallery:
    chosen = [found.subject.names[i] for i in found.by_strength[:MOST_LINES]]
    return Gallery(tuple(
        Picture(f"effect-{place}", f"Effect of {name}", effect_png(found.explanation[name]), wide=False)
        for place, name in enumerate(chosen, 1)
    ))  # fmt: skip


def _pairs(found: Findings) -> list[Block]:
    if found.subject.model.dim == 1:
        return [Heading("Interactions"), Paragraph("The model is additive: no two columns interact.")]
    pairs = sorted(found.explanation.interactions, key=lambda own: -own.joint if math.isfinite(own.joint) else math.inf)
    known = [own for own in pairs if math.isfinite(own.joint)][:_MOST_PAIRS]
    if not known:
        return [
            Heading("Interactions"),
            Paragraph("Which columns act together is observed on rows, which were not given."),
        ]
    rows = tuple((own.first, own.second, number(own.joint), number(own.h_statistic)) for own in known)
    table = Table("Pairs of columns that act together most", ("Column", "Column", "Joint", "Share"), rows, left=(0, 1))
    return [Heading("Interactions"), table, Fold("How interactions are measured", _PAIRS)]
