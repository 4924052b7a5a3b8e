"""Where the paper's text and its released runs differ: each difference is one field here, and says both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import NamedTuple


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


class Seeds(NamedTuple):
    """Seeds of the order of the rows, and of the model's start: all of one kind with all of the other."""

    data: tuple[int, ...]
    starts: tuple[int, ...]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of a seed of the order and a seed of the start."""
        return product(self.data, self.starts)

    def first(self, data: int, starts: int) -> Seeds:
        """At most so many of each kind."""
        return Seeds(self.data[:data], self.starts[:starts])


@dataclass(frozen=True)
class CriteoColumns:
    """How the columns of Criteo become ids and weights."""

    squared: bool  # released: a number x weighs ln(1 + x), standardised; the text: ln(1 + x)²
    signs_apart: bool  # released: positive numbers are weights, zero and each negative one an id; the text: all weights
    unseen_rare: bool  # released: levels that training never saw share the id of RARE; the text: of MISSING
    rare_buckets: bool  # released: each bucket of a number has an id; the text: seldom ones are RARE, as of categories
    counted: float  # released: this share of the training rows is looked at for levels and moments; the text: all


@dataclass(frozen=True)
class RealConventions:
    """The choices of a study of real data."""

    tuning: Seeds  # released: 8 starts choose the rate; the text: "several", of which we take 5
    evaluation: Seeds  # released: 4 × 6 fresh runs are reported; the text: "several", of which we take 5
    even_powers: bool  # released: some powers of two are the sample counts; the text: none named, so all of them
    shuffled: bool  # released: HIGGS is split in order, 500,000 rows to test; the text: 80/10/10 of shuffled rows
    jitter: bool  # released: A_i = α_i I at the start; the text: plus a random diagonal
    columns: CriteoColumns


REAL_CONVENTIONS = {
    "released": RealConventions(
        Seeds((0,), tuple(range(8))),
        Seeds((1, 2, 3, 4), (3, 4, 5, 6, 7, 8)),
        even_powers=True,
        shuffled=False,
        jitter=False,
        columns=CriteoColumns(squared=False, signs_apart=True, unseen_rare=True, rare_buckets=False, counted=0.1),
    ),
    "text": RealConventions(
        Seeds((0,), tuple(range(5))),
        Seeds((1,), (5, 6, 7, 8, 9)),
        even_powers=False,
        shuffled=True,
        jitter=True,
        columns=CriteoColumns(squared=True, signs_apart=False, unseen_rare=False, rare_buckets=True, counted=1.0),
    ),
}


def study_name(name: str, protocol: str) -> str:
    """The study of the paper that follows a protocol; the released one has the plain name.

    >>> study_name("higgs", "released"), study_name("higgs", "text")
    ('higgs', 'higgs-text')
    """
    return name if protocol == Source.RELEASED else f"{name}-{protocol}"


def study_command(name: str) -> str:
    """What runs the study of this name.

    >>> study_command("higgs-text")
    'lambdak reproduce higgs --protocol text'
    """
    plain = name.removesuffix(f"-{Source.TEXT}")
    return f"lambdak reproduce {plain}" + (f" --protocol {Source.TEXT}" if plain != name else "")
