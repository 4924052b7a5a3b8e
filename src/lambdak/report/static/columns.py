"""What columns do: importance, effects in words, pairs that act together, and what the data hold of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lambdak.explain.column_effect import ColumnEffect
from lambdak.report.amounts import at_most, cell, number, plural, share
from lambdak.report.contents import Contents
from lambdak.report.document import Paragraph, Table
from lambdak.report.html import blocks_html
from lambdak.report.static.markup import fold, section

_MOST_PAIRS = 8
_DIRECTIONS = {1: "never falls (proven)", -1: "never rises (proven)", 0: "may rise and fall"}
_NEGLIGIBLE = 0.01  # of the largest effect of a pair
_PAIRS = (
    "What two columns do together beyond the sum of what each does alone: root mean square over the data, in units "
    "of the {score}."
)


def importance(contents: Contents) -> str:
    """The section about importance; every column, the strongest first, in a table."""
    found = contents.behaviour
    mean = "" if found.mean is None else "how far the column moves predictions on average over the data, and "
    words = f"The longer, the more the column matters: {mean}the most that any change of it can do to any row (proven)."
    flagged = [contents.names[i] for i in (contents.data or {}).get("identifiers", ())]
    notes = [Paragraph(words)]
    if flagged:
        notes.append(
            Paragraph(f"Looks like an identifier, which names rows instead of describing them: {', '.join(flagged)}.")
        )
    rest = [i for i in found.order if i not in found.first and i not in found.idle]
    tables = [fold("Importance as numbers", _units(contents), _importance(contents, found.first, "Importance"))]
    if rest:
        tables.append(
            fold(
                f"The other {plural(len(rest), 'column').removeprefix('1 ')}",
                _importance(contents, rest, "Importance, the rest"),
            )
        )
    if found.idle:
        words = ", ".join(contents.names[i] for i in found.idle)
        tables.append(
            fold(f"{plural(len(found.idle), 'column')} without any effect, whatever they hold", Paragraph(words))
        )
    return section("importance", "Importance of the columns", blocks_html(notes), "\n".join(tables))


def _units(contents: Contents) -> Paragraph:
    mean = "The mean effect is that of the column's own value instead of its baseline. "
    return Paragraph(f"{'' if contents.behaviour.mean is None else mean}Numbers are in units of the {contents.score}.")


def _importance(contents: Contents, columns: Sequence[int], caption: str) -> Table:
    found, place = contents.behaviour, {i: n for n, i in enumerate(contents.behaviour.order, 1)}
    rows = [
        (str(place[i]), contents.names[i], "" if found.mean is None else number(float(found.mean[i]), 3),
         at_most(float(found.proven[i])))
        for i in columns
    ]  # fmt: skip
    return Table(caption, ("Place", "Column", "Mean effect", "Proven at most"), rows, left=(1,))


def effects(contents: Contents) -> str:
    """The section about effects: the strongest columns in a table; the page draws them."""
    found = contents.behaviour
    rows = [_effect(contents, i, found.effects[i]) for i in found.first]
    about = "" if found.output == "prediction" else f" of {found.output}"
    words = f"Mean change of the {contents.score}{about} over the data, from the baseline of the column."
    table = Table(
        "Effects",
        ("Column", "As it rises", "Lowest at", "Change there", "Highest at", "Change there"),
        rows,
        (0, 1, 2, 4),
    )
    return section("effects", "Effect of each column", "", fold("Effects as numbers", Paragraph(words), table))


def _effect(contents: Contents, i: int, own: ColumnEffect) -> tuple[str, ...]:
    low, high = int(own.effect.argmin()), int(own.effect.argmax())
    direction = _DIRECTIONS[own.sign] if own.kind == "number" else "is a category"
    ends = [text for at in (low, high) for text in (_cell(own.x[at]), number(float(own.effect[at]), 3))]
    return (contents.names[i], direction, *ends)


def _cell(own: Any) -> str:
    return cell(own) if isinstance(own, int | float) else str(own)


def interactions(contents: Contents) -> str:
    """The section about pairs of columns."""
    title, pairs = "Columns that act together", contents.behaviour.pairs
    if contents.model.dim == 1:
        return section(
            "interactions", title, blocks_html([Paragraph("The model is additive: no two columns interact.")])
        )
    if not pairs:
        words = "Which columns act together is observed on rows, and this report was written without any."
        return section("interactions", title, blocks_html([Paragraph(words)]))
    strongest = sorted(pairs, key=lambda pair: -pairs[pair])[:_MOST_PAIRS]
    least = _NEGLIGIBLE * pairs[strongest[0]]
    names = contents.names
    rows = [(names[i], names[j], number(pairs[i, j], 3)) for i, j in strongest if pairs[i, j] > least]
    table = Table("Pairs of columns that act together most", ("Column", "Column", "Joint effect"), rows, (0, 1))
    note = Paragraph("Two columns act together where what one of them does depends on the other.")
    numbers = fold("The strongest pairs as numbers", Paragraph(_PAIRS.format(score=contents.score)), table)
    return section("interactions", title, blocks_html([note]), numbers)


def data(contents: Contents) -> str:
    """The section about the data."""
    title, found = "Data", contents.data
    if found is None:
        return section("data", title, blocks_html([Paragraph("This report was written without data.")]))
    order = [i for i in contents.behaviour.order if i < len(found["summary"])]
    rows = [_summary(contents, i, found["summary"][i]) for i in order]
    names = ("Column", "Missing", "Content")
    parts = [blocks_html([Paragraph(f"{plural(found['rows'], 'row')} and {plural(len(contents.names), 'column')}.")])]
    parts.append(fold("What the columns hold", Table("Columns", names, rows, (0, 2))))
    return section("data", title, "\n".join(parts))


def _summary(contents: Contents, i: int, own: dict[str, Any]) -> tuple[str, ...]:
    name, unit = contents.names[i], contents.units.get(contents.names[i], "")
    return (f"{name} ({unit})" if unit else name, share(own["missing"]) if own["missing"] else "none", _content(own))


def _content(own: dict[str, Any]) -> str:
    if "top" in own:
        rest = f", … ({own['distinct']} levels)" if own["distinct"] > len(own["top"]) else ""
        return ", ".join(f"{each['level']} {share(each['share'])}" for each in own["top"]) + rest
    if "low" not in own:
        return "nothing"
    low, high, median = (cell(float(own[name])) for name in ("low", "high", "median"))
    return f"{low} to {high}, median {median}"
