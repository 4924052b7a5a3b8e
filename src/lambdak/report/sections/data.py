"""The rows that the document speaks of, and those that the model was fitted to, as far as they are known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.report.amounts import cell, count, number, plural, share
from lambdak.report.document import Block, Fold, Heading, Paragraph, Section, Table, said, shortened
from lambdak.report.findings import Findings
from lambdak.report.findings.table import Described
from lambdak.table.category_levels import shown
from lambdak.table.column_contract import Column

_MOST_CLASSES = 30
_HASH = (
    "SHA-256 of the names, kinds and cells of the model's columns, column by column in their order: numbers as "
    "float64, all other cells as JSON. It does not depend on the library that holds the table. The layout is that of "
    "lambdak.table.content_hash, so that anybody can compute it again. The target's is that of a table with this "
    "column alone."
)


def dossier(findings: Findings) -> Section:
    """Return the tables, their columns and their target."""
    blocks: list[Block] = [_statements(findings)]
    points: tuple[str, ...] = ()
    tables = [("Rows of this document", findings.data), ("Training rows", findings.training_data)]
    given = [(name, described) for name, described in tables if described is not None]
    if not given:
        note = "No rows were given: this document says only what the model itself keeps."
        blocks.append(Paragraph(note))
        points = ("No data were given: X and y.",)
    else:
        blocks += [_tables(given), Fold("How the hash is computed", (Paragraph(_HASH),))]
    short, whole = shortened(_columns(findings), findings.by_strength)
    blocks += [Heading("Columns"), short]
    blocks += _targets(given)
    return Section("data", "Data", tuple(blocks), whole, points)


_SAID = {
    "data_source": "Where the rows come from, and which period they cover",
    "target_meaning": "What the target is, and how it was observed",
    "exclusions": "What was left out, and why",
}


def _statements(findings: Findings) -> Table:
    rows = tuple((title, said(getattr(findings.words, name))) for name, title in _SAID.items())
    return Table("Statements of the owner", ("", "Statement"), rows, left=(0, 1))


def _tables(given: list[tuple[str, Described]]) -> Table:
    """Return sizes, weights and checksums of the tables, side by side."""
    lines = {
        "Rows": [count(len(described.rows)) for _, described in given],
        "Columns": [count(described.rows.X.shape[1]) for _, described in given],
        "Weights": [_summed(described.rows.weight) for _, described in given],
        "Exposure": [_summed(described.rows.exposure) for _, described in given],
        "Offset": ["none" if described.rows.offset is None else "given" for _, described in given],
        "SHA-256 of the table": [described.sha256 for _, described in given],
        "SHA-256 of the target": [described.target_sha256 or "no target" for _, described in given],
    }
    names = ("", *(name for name, _ in given))
    return Table("Tables", names, tuple((name, *cells) for name, cells in lines.items()), left=tuple(range(len(names))))


def _summed(values: NDArray[np.float64] | None) -> str:
    return "none: every row counts once" if values is None else f"given, {number(float(values.sum()))} in total"


def _columns(findings: Findings) -> Table:
    """Return the table of the columns of the model, one line for each."""
    described = findings.data or findings.training_data
    rows = []
    for i, column in enumerate(findings.model.encoder.columns):
        here = ("not given", "not given") if described is None else _here(described.columns[i])
        rows.append((column.name, _kind(column), *here, _in_training(column)))
    names = ("Column", "Type", "Missing", "Range or levels in these rows", "Range or levels in training")
    return Table("Columns of the model", names, tuple(rows), left=(0, 1, 3, 4))


def _kind(column: Column) -> str:
    return "number" if column.is_number else "category"


def _here(summary: dict[str, Any]) -> tuple[str, str]:
    missing = share(summary["missing"])
    if "low" in summary:
        low, median, high = (number(float(summary[name])) for name in ("low", "median", "high"))
        return missing, f"{low} to {high}, median {median}"
    if "top" not in summary:
        return missing, "no number"
    top = ", ".join(f"{each['level']} {share(each['share'])}" for each in summary["top"])
    more = summary["distinct"] - len(summary["top"])
    return missing, f"{plural(summary['distinct'], 'level')}: {top}" + (f", {more:,} more" if more > 0 else "")


def _in_training(column: Any) -> str:
    gaps = ", some missing" if column.missing >= 0 else ", none missing"
    if not column.is_number:
        return plural(sum(isinstance(level, str | int | float) for level in column.levels), "level") + gaps
    if column.low == column.high:
        return f"always {number(column.low)}{gaps}"
    return f"{number(column.low)} to {number(column.high)}, median {number(column.median)}{gaps}"


def _targets(given: list[tuple[str, Described]]) -> list[Block]:
    known = [(name, described) for name, described in given if described.rows.y is not None]
    if not known:
        return []
    y = [np.asarray(described.rows.y) for _, described in known]
    heading = Heading(f"Target: {known[0][1].rows.target_name}")
    numbers = all(each.dtype.kind in "fiu" and len(np.unique(each)) > _MOST_CLASSES for each in y)
    table = _numbers_table if numbers else _counts_table
    return [heading, table([name for name, _ in known], y)]


def _numbers_table(names: list[str], targets: list[Any]) -> Table:
    rows = []
    for name, y in zip(names, targets, strict=True):
        values = y.astype(np.float64)
        with np.errstate(over="ignore"):
            known = (values.min(), *np.quantile(values, [0.25, 0.5, 0.75]), values.max(), values.mean(), values.std())
        rows.append((name, *map(number, map(float, known)), share(float((values == 0).mean()))))
    labels = ("", "Least", "25 %", "Median", "75 %", "Largest", "Mean", "Standard deviation", "Zero")
    return Table("Distribution of the target", labels, tuple(rows))


def _counts_table(names: list[str], targets: list[Any]) -> Table:
    counts = [Counter(map(shown, y.tolist())) for y in targets]
    labels = list(
        dict.fromkeys(label for counter in counts for label in sorted(counter, key=lambda each: (len(each), each)))
    )
    rows = []
    for label in labels[:_MOST_CLASSES]:
        cells = [f"{counter[label]:,} ({share(counter[label] / counter.total())})" for counter in counts]
        rows.append((label, *cells))
    return Table("Distribution of the target", ("Value", *names), tuple(rows))


# ---- on a page -------------------------------------------------------------------------------------------------------


def page(findings: Findings) -> Section:
    """Return what the columns hold, behind a fold."""
    examples = findings.examples
    if examples is None:
        return Section("data", "Data", (Paragraph("This report was written without data."),))
    summaries = examples["summary"]
    rows = [_line(findings, i, summaries[i]) for i in findings.behaviour.order if i < len(summaries)]
    size = Paragraph(f"{plural(examples['rows'], 'row')} and {plural(len(findings.names), 'column')}.")
    table = Table("Columns", ("Column", "Missing", "Content"), rows, (0, 2))
    return Section("data", "Data", (size, Fold("What the columns hold", (table,))))


def _line(findings: Findings, i: int, summary: dict[str, Any]) -> tuple[str, ...]:
    name, unit = findings.names[i], findings.units.get(findings.names[i], "")
    missing = share(summary["missing"]) if summary["missing"] else "none"
    return f"{name} ({unit})" if unit else name, missing, _content(summary)


def _content(summary: dict[str, Any]) -> str:
    if "top" in summary:
        rest = f", … ({summary['distinct']} levels)" if summary["distinct"] > len(summary["top"]) else ""
        return ", ".join(f"{top['level']} {share(top['share'])}" for top in summary["top"]) + rest
    if "low" not in summary:
        return "nothing"
    low, high, median = (cell(float(summary[name])) for name in ("low", "high", "median"))
    return f"{low} to {high}, median {median}"
