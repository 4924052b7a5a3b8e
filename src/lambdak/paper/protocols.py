"""Where the paper's text and its released runs differ: each difference is one field here, and says both sides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Whose word counts where they differ: that of the released runs, whose numbers are published, or of the text."""

    RELEASED = "released"
    TEXT = "text"


@dataclass(frozen=True)
class Conventions:
    """The choices of a study of random functions."""

    authors_functions: bool  # released: drawn by default_rng(0), default_rng(1), …; otherwise by seeds of our own
    natural_ends: bool  # released: natural splines of one input; the text: not-a-knot
    normal_values: bool  # released: standard normal values on the grid of two inputs; the text: uniform
    slices_together: bool  # released: monotone slices are standardised together; the text: each by itself
    noisy_validation: bool  # released: validation labels without noise; the text: drawn like the training set
    jitter: bool  # released: A_i = α_i I at the start; the text: plus a random diagonal


CONVENTIONS = {
    "released": Conventions(True, True, True, True, noisy_validation=False, jitter=False),
    "text": Conventions(False, False, False, False, noisy_validation=True, jitter=True),
    # Of the studies beyond the paper: its released functions, but other ones of them, and the start of its text.
    "own": Conventions(False, True, True, True, noisy_validation=True, jitter=True),
}


def study_name(name: str, protocol: str) -> str:
    """The study of the paper that follows a protocol; the released one has the plain name.

    >>> study_name("higgs", "released"), study_name("higgs", "text")
    ('higgs', 'higgs-text')
    """
    return name if protocol == Source.RELEASED else f"{name}-{protocol}"
