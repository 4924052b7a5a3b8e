"""A finished study as a small table: the test error of every cell at the largest budget, as Markdown and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from lambdak.atomic import write_text
from lambdak.paper.parts import csv_text
from lambdak.paper.synthetic.grid import FITS, Cell
from lambdak.paper.synthetic.results import read_cells
from lambdak.paper.synthetic.selection import select


@dataclass(frozen=True)
class Summary:
    """Test RMSE of a cell after all its samples: median and quartiles of the rate that won by validation."""

    cell: Cell
    samples: int
    rate: float
    low: float
    median: float
    high: float

    def __str__(self) -> str:
        """Median [quartiles], as in 0.0045 [0.0031, 0.0062]."""
        return f"{number(self.median)} [{number(self.low)}, {number(self.high)}]"


def number(value: float) -> str:
    """Return a number with three significant digits.

    >>> number(0.0045), number(0.1234), number(12.34)
    ('0.0045', '0.123', '12.3')
    """
    return f"{value:.3g}"


def summarise(folder: Path) -> Iterator[Summary]:
    """The cells of a study that are done, from its folder."""
    for cell, grid, result in read_cells(folder):
        curve = select(result)
        yield Summary(
            cell,
            grid.checkpoints[-1] * grid.batch,
            grid.rates[curve.rate[-1]],
            *(float(part[-1]) for part in (curve.low, curve.median, curve.high)),
        )


def words(cell: Cell) -> str:
    """Kind of target and of model, and all else about a cell but its dim.

    >>> words(Cell(1, "monotone", 20, 0.1, 5))
    'monotone/monotone, c = 20, noisy'
    """
    fit = FITS[cell.fit]
    return f"{fit.target}/{fit.model}, c = {cell.complexity}, {'noisy' if cell.noise else 'clean'}"


def order(cell: Cell) -> tuple[float, ...]:
    """Sorts cells as the paper lists them."""
    return list(FITS).index(cell.fit), cell.complexity, cell.noise, cell.dim


def as_csv(summaries: Iterable[Summary]) -> str:
    """One line per cell."""
    return csv_text([asdict(each.cell) | {k: v for k, v in vars(each).items() if k != "cell"} for each in summaries])


def as_markdown(title: str, summaries: Iterable[Summary], facts: Mapping[str, str]) -> str:
    """Cells by dims, each median [quartiles], with facts about the run above."""
    found = list(summaries)
    dims = sorted({each.cell.dim for each in found})
    rows: dict[str, dict[int, Summary]] = {}
    for each in sorted(found, key=lambda one: order(one.cell)):
        rows.setdefault(words(each.cell), {})[each.cell.dim] = each
    budget = " and ".join(f"{samples:,}" for samples in sorted({each.samples for each in found}))
    lines = [f"# {title}", "", *(f"- {name}: {value}" for name, value in facts.items())]
    what = f"Test RMSE after {budget} samples: median [quartiles] of the rate that won by validation, complexity c."
    lines += ["", what, ""]
    lines += ["| target/model | " + " | ".join(f"d = {dim}" for dim in dims) + " |", "|---" * (len(dims) + 1) + "|"]
    for about, cells in rows.items():
        lines.append(f"| {about} | " + " | ".join(str(cells.get(dim, "")) for dim in dims) + " |")
    return "\n".join(lines) + "\n"


def write_summary(folder: Path, out: Path, title: str, facts: Mapping[str, str] | None = None) -> tuple[Path, Path]:
    """Write the summary of the study in ``folder`` as CSV and Markdown, named like it, into ``out``.

    Parameters
    ----------
    folder
        A study, such as ``results/univariate-full``.
    out
        Where to write.
    title
        Heading of the Markdown table.
    facts
        What the caller measured: time, models at once, steps per second.
    """
    summaries = list(summarise(folder))
    if not summaries:
        raise FileNotFoundError(f"no cell of {folder} is done: run `lambdak reproduce` first")
    out.mkdir(parents=True, exist_ok=True)
    paths = out / f"{folder.name}.csv", out / f"{folder.name}.md"
    for path, text in zip(paths, (as_csv(summaries), as_markdown(title, summaries, facts or {})), strict=True):
        write_text(path, text)
    return paths
