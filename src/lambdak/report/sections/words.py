"""What the words of a page and of a dossier mean, and the appendix of a dossier."""

from __future__ import annotations

from collections.abc import Sequence

from lambdak.report.document import Fold, Glossary, Section, Table
from lambdak.report.findings import Findings
from lambdak.report.sections import supervision

_WORDS = (
    ("Raw score", "What the model adds up before the last step (the link) turns it into a prediction."),
    ("Proven", "Shown to hold for every possible row by a computation that can be checked independently."),
    ("95 % interval", "In 95 of 100 repetitions with other rows, the interval would hold the true figure."),
    ("Actual / expected", "What was observed in total over what was predicted in total."),
    ("Gini", "How well the predictions order the rows; 0 is not at all. Normalised: 1 is a perfect order."),
    ("PSI", "Population stability index: how far the distribution of a column has moved between two tables."),
    ("Segment", "The rows with one level of a category, or with one part of the range of a number."),
)
_PAGE_WORDS = (
    (
        "Raw score",
        "What the model computes first. It is the prediction itself, or the logarithm of the prediction, or, for "
        "classes, log-odds, from which the probabilities follow. Where the two differ, influences and bounds are in "
        "units of the raw score.",
    ),
    (
        "Typical row",
        "The row of the data whose cells are, on average, the least far from those of all others: a real row.",
    ),
    (
        "Baseline",
        "What a row is compared with: the median of each column of numbers, the average over the levels of each "
        "category. It need not be a row of the data.",
    ),
    (
        "Influence",
        "How the raw score changes at this row when this column alone rises by a tenth of its usual range (that of "
        "training, without far tails); where there is no room above, when it falls, with the sign reversed. For a "
        "level or a missing value: the raw score minus the one with the average level or the median.",
    ),
    (
        "Slope",
        "How fast the raw score changes with a column at this very row, per unit of the column; at a knot, where two "
        "pieces meet, to its right. A steep piece may be short: the slope says nothing about values further away.",
    ),
    (
        "Proven",
        "True for every value in the stated range: it follows from the model's numbers, not from trying values out "
        "(by Weyl's inequality for eigenvalues). Rounding errors are allowed for.",
    ),
    (
        "Band",
        "From where the row is now, and over the range that is drawn, this column alone cannot move the raw score out "
        "of its band, whatever the values of the other columns are.",
    ),
    (
        "Eigenvalue, matrix, member",
        "Every column of the table contributes a symmetric matrix that depends on its value. The matrices are added "
        "up, and the raw score is read from one eigenvalue of the sum. Several such models (members) are averaged.",
    ),
    (
        "Gap",
        "Distance of the eigenvalue that is read to its nearest neighbour. Where it is zero, the slope is not a "
        "single number, and a proven range of it is given instead.",
    ),
)


def page(findings: Findings) -> Section:
    """Return how to read a page."""
    return Section("reading", "How to read this page", (Fold("What the words mean", (Glossary(_PAGE_WORDS),)),))


def appendix(sections: Sequence[Section]) -> Section:
    """Return where topics of supervisors are, the words of a dossier, and whole tables that sections cut short."""
    words = Table("Words", ("Word", "Meaning"), _WORDS, left=(0, 1))
    whole = tuple(table for section in sections for table in section.appendix)
    return Section("appendix", "Appendix", (*supervision.blocks(), words, *whole))
