"""What the words of the page mean."""

from __future__ import annotations

import html

from lambdak.report.static.markup import section

_WORDS = (
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
        "How the raw score changes at this row when this column alone rises by a tenth of its training range; where "
        "there is no room above, when it falls, with the sign reversed. For a level or a missing value: the raw score "
        "minus the one with the average level or the median.",
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


def reading() -> str:
    """The section."""
    words = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in _WORDS)
    inside = f"<details><summary>What the words mean</summary><dl>{words}</dl></details>"
    return section("reading", "How to read this page", inside)
