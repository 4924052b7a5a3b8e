"""Published against ours, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lambdak.certify.certificate import printed
from lambdak.paper.output.published import BUDGET, REAL, REAL_BUDGET, TRAIN_ROWS, published
from lambdak.paper.output.summary import Summary, order, summarise, words
from lambdak.paper.parts import read_config, read_results, study_folder
from lambdak.paper.protocols import Source, study_name
from lambdak.paper.real.tuning import Tuned, tune
from lambdak.paper.synthetic.grid import STUDIES, Cell


@dataclass(frozen=True)
class Comparison:
    """One published number and what we found: the median and the quartiles, or None where nothing was run yet."""

    study: str
    about: str
    published: float | None  # None where the paper names none
    ours: tuple[float, float, float] | None = None  # low, median, high
    rate: float | None = None  # that won
    samples: int = 0  # that ours was trained on
    rows: int = 0  # of a data set that there were to train on
    budget: int = BUDGET  # samples of the published number

    @property
    def is_real(self) -> bool:
        """Whether it is about a data set; otherwise it is about random functions."""
        return self.study in TRAIN_ROWS

    @property
    def verdict(self) -> str:
        """Better if our median is below the published one, within if that lies between our quartiles, else worse.

        Numbers after different samples are not compared, nor are those that only we have.
        """
        if self.published is None:
            return "not published"
        if self.ours is None:
            return "not run"
        if self.samples < self.budget:
            return "fewer samples"
        low, median, high = self.ours
        if median < self.published:
            return "better"
        return "within" if low <= self.published <= high else "worse"

    @property
    def names(self) -> list[str]:
        """What the cells are; the samples of random functions are the same for all of them."""
        return ["", "published", "ours", "quartiles", "samples" if self.is_real else "ratio", "rate", "verdict"]

    def cells(self) -> list[str]:
        """The row as text."""
        digits = 5 if self.is_real else 3
        theirs = "" if self.published is None else f"{self.published:.{digits}g}"
        if self.ours is None:
            return [self.about, theirs, *[""] * (len(self.names) - 3), self.verdict]
        low, median, high = (f"{loss:.{digits}g}" for loss in self.ours)
        ratio = f"{self.ours[1] / self.published:.2f}" if self.published else ""
        how = f"{self.samples:,}" if self.is_real else ratio
        rate = "" if self.rate is None else f"{self.rate:.2g}"
        return [self.about, theirs, median, f"{low} … {high}", how, rate, self.verdict]


def compare_synthetic(study: str, results: Path, profile: str | None, protocol: str) -> Iterator[Comparison]:
    """Every cell whose published number can be read off the paper's plots, done or not."""
    folder = study_folder(results, study_name(study, protocol), profile)
    done = {each.cell: each for each in summarise(folder)} if folder.exists() else {}
    for cell in sorted(STUDIES[study].cells(), key=order):
        if published(cell) is not None:
            yield _beside_ours(study, cell, done.get(cell))


def compare_cell(study: str, cell: Cell, results: Path, profile: str, protocol: str) -> Comparison:
    """One cell that was run beside its published number, which there may be none of."""
    folder = study_folder(results, study_name(study, protocol), profile)
    return _beside_ours(study, cell, next((ours for ours in summarise(folder) if ours.cell == cell), None))


def _beside_ours(study: str, cell: Cell, ours: Summary | None) -> Comparison:
    about, theirs = f"{words(cell)}, d = {cell.dim}", published(cell)
    if ours is None:
        return Comparison(study, about, theirs)
    return Comparison(study, about, theirs, (ours.low, ours.median, ours.high), ours.rate, ours.samples)


def compare_real(study: str, results: Path, profile: str | None, protocol: str) -> Iterator[Comparison]:
    """Every model of a data set: after the paper's samples or, of a smaller study, after as many as validation chose.

    The quick profile has random rows, so that its losses cannot be compared with the published ones.
    """
    folder = study_folder(results, study_name(study, protocol), profile)
    curves: list[Tuned] = []
    if (folder / "results.parquet").exists() and not folder.name.endswith("-quick"):
        curves = list(tune(read_results(folder)))
    rows = read_config(folder)["data"]["splits"]["train"][1] if curves else 0
    for (name, model, dim, budget), theirs in REAL.items():
        if name == study:
            ours = _best([curve for curve in curves if (curve.model, curve.dim) == (model, dim)], budget)
            words = [model, *([f"d = {dim}"] if dim else []), *([_power(budget)] if budget != REAL_BUDGET else [])]
            found = None if ours is None else (ours.low, ours.median, ours.high)
            rate, samples = (None, 0) if ours is None else (ours.rate, ours.samples)
            yield Comparison(study, ", ".join(words), theirs, found, rate, samples, rows if ours else 0, budget)


def _power(samples: int) -> str:
    """Write a power of two as 2^n."""
    return f"2^{samples.bit_length() - 1}"


def _best(curve: Sequence[Tuned], budget: int) -> Tuned | None:
    """The point of a model's curve after as many samples or, where there are fewer, that validation prefers."""
    affordable = [point for point in curve if point.samples <= budget]
    if not affordable:
        return None
    last = max(affordable, key=lambda point: point.samples)
    return last if last.samples == budget else min(affordable, key=lambda point: point.validation)


# Another data set joins the table by one more entry here: study, results folder, profile, protocol ─▶ comparisons.
SOURCES: dict[str, Callable[[str, Path, str | None, str], Iterator[Comparison]]] = {
    **dict.fromkeys(STUDIES, compare_synthetic),
    **dict.fromkeys(TRAIN_ROWS, compare_real),
}


def compare(results: Path, profile: str | None = None, protocol: str = Source.RELEASED) -> list[Comparison]:
    """All published numbers and ours, from the folder that holds the studies.

    Parameters
    ----------
    results
        Folder for all studies, in which ``lambdak reproduce`` left them.
    profile
        "quick", "small" or "full", of which only the last has the paper's budget; None is the largest there is.
    protocol
        "released" or "text".
    """
    return [row for study, source in SOURCES.items() for row in source(study, results, profile, protocol)]


def print_comparison(rows: Sequence[Comparison]) -> str:
    """One table per study as text, with a count of the verdicts below."""
    tables = []
    for study in dict.fromkeys(row.study for row in rows):
        of_study = [row for row in rows if row.study == study]
        tables.append(printed(study, of_study[0].names, [row.cells() for row in of_study], _notes(of_study)))
    return "\n".join(tables)


def _notes(rows: Sequence[Comparison]) -> list[str]:
    verdicts, first = [row.verdict for row in rows], rows[0]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    if not first.is_real:
        budgets = " and ".join(f"{samples:,}" for samples in sorted({row.samples for row in rows if row.ours}))
        after = f" after {budgets} samples" if budgets else ""
        return [
            f"Median test RMSE{after}, quartiles over all runs: {counts}.",
            f"Published: after {BUDGET:,} samples, read off the paper's plots to about 5 %. Rows: target/model.",
        ]
    notes = [f"Median test log-loss, and the quartiles over all runs: {counts}."]
    notes += [f"Ours: {row.rows:,} rows to train on." for row in rows if row.rows][:1]
    if "fewer samples" in verdicts:
        notes.append("How many samples to train on was chosen by validation, since there are fewer than the paper's.")
    theirs = f"{TRAIN_ROWS[first.study]:,} rows to train on, after {REAL_BUDGET:,} samples"
    larger = sorted({row.budget for row in rows if row.is_real} - {REAL_BUDGET})
    last = [f"Rows that end in {_power(count)}: after {count:,} samples." for count in larger]
    return [*notes, f"Published: the released runs, {theirs}.", *last]
