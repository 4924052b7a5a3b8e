"""Published against ours, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from lambdak.certify import printed
from lambdak.paper.grid import STUDIES
from lambdak.paper.published import BUDGET, REAL, REAL_BUDGET, published
from lambdak.paper.summary import number, order, summarise, words
from lambdak.paper.tuning import tune


@dataclass(frozen=True)
class Comparison:
    """One published number and what we found: the median and the quartiles, or None where nothing was run yet."""

    study: str
    about: str
    published: float
    ours: tuple[float, float, float] | None = None  # low, median, high
    rate: float | None = None  # that won
    samples: int | None = None

    @property
    def verdict(self) -> str:
        """Better if our median is below the published one, within if that lies between our quartiles, else worse."""
        if self.ours is None:
            return "not run"
        low, median, high = self.ours
        if median < self.published:
            return "better"
        return "within" if low <= self.published <= high else "worse"

    def cells(self) -> list[str]:
        """The row as text."""
        if self.ours is None:
            return [self.about, number(self.published), "", "", "", "", self.verdict]
        low, median, high = self.ours
        return [
            self.about,
            number(self.published),
            number(median),
            f"{number(low)} … {number(high)}",
            f"{median / self.published:.2f}",
            "" if self.rate is None else f"{self.rate:.2g}",
            self.verdict,
        ]


def compare_synthetic(study: str, results: Path, profile: str) -> Iterator[Comparison]:
    """Every cell whose published number can be read off the paper's plots, done or not."""
    folder = results / f"{study}-{profile}"
    done = {each.cell: each for each in summarise(folder)} if folder.exists() else {}
    for cell in sorted(STUDIES[study].cells(), key=order):
        theirs, ours = published(cell), done.get(cell)
        if theirs is None:
            continue
        about = f"{words(cell)}, d = {cell.dim}"
        if ours is None:
            yield Comparison(study, about, theirs)
        else:
            yield Comparison(study, about, theirs, (ours.low, ours.median, ours.high), ours.rate, ours.samples)


def compare_real(study: str, results: Path, profile: str) -> Iterator[Comparison]:
    """Every model of a data set, after the paper's samples or as many as there are.

    Smaller profiles are run on samples or on made-up rows, whose losses say nothing beside the published ones.
    """
    path, done = results / f"{study}-{profile}" / "results.parquet", {}
    if profile == "full" and path.exists():
        curves = [curve for curve in tune(pq.read_table(path)) if curve.samples <= REAL_BUDGET]
        done = {(curve.model, curve.dim): curve for curve in sorted(curves, key=lambda curve: curve.samples)}
    for (name, model, dim), theirs in REAL.items():
        if name == study:
            about, ours = (f"{model}, d = {dim}" if dim else model), done.get((model, dim))
            if ours is None:
                yield Comparison(study, about, theirs)
            else:
                yield Comparison(study, about, theirs, (ours.low, ours.median, ours.high), ours.rate, ours.samples)


# Another data set joins the table by one more entry here: study, results folder, profile ─▶ comparisons.
SOURCES: dict[str, Callable[[str, Path, str], Iterator[Comparison]]] = {
    **dict.fromkeys(STUDIES, compare_synthetic),
    **dict.fromkeys(("higgs", "criteo"), compare_real),
}


def compare(results: Path, profile: str = "full") -> list[Comparison]:
    """All published numbers and ours, from the folder that holds the studies.

    Parameters
    ----------
    results
        Folder for all studies, in which ``lambdak reproduce`` left them.
    profile
        "quick", "small" or "full"; only the last has the paper's budget.
    """
    return [row for study, source in SOURCES.items() for row in source(study, results, profile)]


def print_comparison(rows: Sequence[Comparison]) -> str:
    """One table per study as text, with a count of the verdicts below."""
    names = ["about", "published", "ours", "quartiles", "ratio", "rate", "verdict"]
    tables = []
    for study in dict.fromkeys(row.study for row in rows):
        own = [row for row in rows if row.study == study]
        tables.append(printed(study, names, [row.cells() for row in own], _notes(own)))
    return "\n".join(tables)


def _notes(rows: Sequence[Comparison]) -> list[str]:
    verdicts = [row.verdict for row in rows]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    budgets = sorted({row.samples for row in rows if row.samples is not None})
    after = f" after {' and '.join(f'{samples:,}' for samples in budgets)} samples" if budgets else ""
    notes = [f"Median test error{after}, and the quartiles over all runs: {counts}."]
    if rows[0].study in STUDIES:
        notes.append(
            f"Published: after {BUDGET:,} samples, read off the paper's plots to about 5 %. About: target/model."
        )
    else:
        notes.append(f"Published: log-loss of the released runs after {REAL_BUDGET:,} samples.")
    return notes
