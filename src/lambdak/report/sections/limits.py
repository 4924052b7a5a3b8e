"""Where not to trust the model: outside of what training saw, where nothing is proven, and where it does worst."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lambdak.report.amounts import count, number, share
from lambdak.report.document import Block, Bullets, Heading, Mark, Paragraph, Section, Table, shortened
from lambdak.report.findings import Findings
from lambdak.report.findings.assessment import FEWEST_ROWS, WeakSegment
from lambdak.report.sections.method import beyond_training
from lambdak.table.cells import Cells
from lambdak.table.matching import column_reader

_MOST_SEGMENTS = 10
_ALWAYS = (
    "The model describes what went together in the training rows. It does not say what would happen if somebody "
    "changed a column.",
    "It knows only the columns that the section on data lists. What they do not say, it cannot use.",
    "It takes for granted that new rows come about as the training rows did; monitoring should notice if they do not.",
)


def dossier(findings: Findings) -> Section:
    """Limits in general, outside of training, of what is proven, and in segments."""
    outside, whole = _outside(findings)
    not_proven, more = _not_proven(findings)
    blocks: list[Block] = [
        Bullets(_ALWAYS),
        Heading("Outside of what training saw"),
        Bullets(tuple(_beyond(findings))),
        *outside,
        Heading("What is not guaranteed"),
        *not_proven,
        Heading("Rounding"),
        Paragraph(_rounding(findings)),
        Heading("Weakest segments"),
        *_weakest(findings),
    ]
    return Section("limits", "Limits", tuple(blocks), (*whole, *more))


def _beyond(findings: Findings) -> Iterator[str]:
    columns = findings.model.encoder.columns
    yield from beyond_training(columns)
    if any(not column.is_number for column in columns):
        yield "A level that training did not see counts as the pooled level, if levels were pooled, else as an average."
    if any(column.missing < 0 for column in columns):
        yield "Where no cell was missing in training, a missing number counts as the training median."


def _outside(findings: Findings) -> tuple[list[Block], tuple[Table, ...]]:
    """How many cells of the rows are outside, column by column."""
    if findings.data is None:
        return [], ()
    read = column_reader(findings.model.encoder, findings.data.rows.X)
    rows = []
    for i, column in enumerate(findings.model.encoder.columns):
        cells = read(i)
        below, above, unseen = _counts(column, cells)
        if below or above or unseen:
            total = below + above + unseen
            rows.append(
                (
                    total,
                    (column.name, count(below), count(above), count(unseen), share(total / len(findings.data.rows))),
                )
            )
    if not rows:
        return [Paragraph("No cell of the rows of this document is outside of what training saw.")], ()
    rows.sort(key=lambda line: -line[0])
    names = ("Column", "Below the range", "Above the range", "Levels that are new", "Share of rows")
    table = Table("Cells of these rows outside of what training saw", names, tuple(line for _, line in rows))
    short, whole = shortened(table)
    return [short], whole


def _counts(column: Any, cells: Cells) -> tuple[int, int, int]:
    if column.is_number:
        x = cells.numbers()
        return int((x < column.low).sum()), int((x > column.high).sum()), 0
    codes, levels = cells.levels()
    known = set(column.levels)
    new = np.array([level is not None and level not in known for level in levels], bool)
    return 0, 0, int(new[codes].sum())


def _not_proven(findings: Findings) -> tuple[list[Block], tuple[Table, ...]]:
    claims = [claim for claim in findings.certificate.claims if not claim.proven]
    general = (
        "No guarantee says that predictions are right: guarantees are about how predictions depend on columns. What "
        "is not listed among the guarantees is not guaranteed."
    )
    if not claims:
        return [Paragraph(general)], ()
    rows = tuple((claim.subject, claim.statement, "yes" if claim.requested else "no") for claim in claims)
    words = "The following was examined and is not proven; that is no proof of the contrary."
    short, whole = shortened(Table("Not proven", ("About", "Statement", "Requested"), rows, left=(0, 1, 2)))
    return [Paragraph(general), Paragraph(words), short], whole


def _rounding(findings: Findings) -> str:
    margins = [claim.margin for claim in findings.certificate.claims if claim.margin is not None]
    size = f" by at most {max(margins):.1e}" if margins else ""
    return (
        f"A raw score that a computer prints differs from the exact one that is proven{size}. Bounds include this; two "
        "raw scores that should be in order may be out of order by twice as much, and no more."
    )


def _weakest(findings: Findings) -> list[Block]:
    assessment, segments = findings.assessment, findings.segments
    if assessment is None:
        return [Paragraph("Not searched: no rows with targets were given.")]
    if not segments:
        return [Paragraph(f"Not searched: no level or range has {FEWEST_ROWS} rows.")]
    far = sum(segment.distance > 1 for segment in segments)
    words = (
        f"Segments with at least {FEWEST_ROWS} rows were compared, one column at a time: {count(len(segments))}. "
        f"In {far:,} of them the mean prediction lies outside of the 95 % interval of what was observed; by chance "
        f"alone about {count(round(0.05 * len(segments)))} would."
    )
    shown = segments[:_MOST_SEGMENTS]
    several = len(assessment.outputs) > 1
    rows = tuple(_line(segment, several) for segment in shown)
    names = (*(["Output"] if several else []), "Column", "Cells", "Rows", "Mean prediction", "Observed mean",
             "95 % interval of observed", "Observed / predicted", "Prediction is")  # fmt: skip
    left = (0, 1, 2, len(names) - 1) if several else (0, 1, len(names) - 1)
    return [Paragraph(words), Table("Segments with the largest differences", names, rows, left=left)]


def _line(segment: WeakSegment, several: bool) -> tuple[str, ...]:
    ends = f"{number(segment.observed - segment.half_width)} to {number(segment.observed + segment.half_width)}"
    ratio = number(segment.observed / segment.predicted) if segment.predicted else "not defined"
    verdict = Mark("outside", "bad") if segment.distance > 1 else Mark("inside", "good")
    first = (segment.output,) if several else ()
    return (
        *first,
        segment.column,
        segment.cells,
        count(segment.rows),
        number(segment.predicted),
        number(segment.observed),
        ends,
        ratio,
        verdict,
    )
