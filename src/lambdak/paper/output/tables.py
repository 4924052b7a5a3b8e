"""All studies as tables: what every cell or model came to, and the scaling laws, as CSV and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from lambdak.atomic import write_text
from lambdak.paper.output.summary import write_summary
from lambdak.paper.parts import csv_text, find_studies, read_config, read_results
from lambdak.paper.protocols import Source, study_name
from lambdak.paper.real.protocol import REAL_STUDIES
from lambdak.paper.real.ratios import by_dim
from lambdak.paper.real.tightness import tighten
from lambdak.paper.real.tuning import tune
from lambdak.paper.synthetic.grid import BEYOND, STARTS, Grid
from lambdak.paper.synthetic.laws import (
    FIRST,
    NAMES,
    Curves,
    bootstrap,
    choose_form,
    exponent,
    fit_law,
    prediction_error,
    read_curves,
    rms,
)

Row = dict[str, int | float | str]


def write_laws(found: Sequence[Curves], out: Path, times: int = 200) -> tuple[Path, Path]:
    """Write the table of the best form's exponents as CSV and Markdown, ``scaling-laws`` by name, into ``out``.

    Their ranges are those of this many fits to resampled targets.
    """
    misfits = choose_form(found)
    form = next(iter(misfits))
    table = [_row(form, each, times) for each in found]
    paths = out / "scaling-laws.csv", out / "scaling-laws.md"
    for path, text in zip(paths, (csv_text(table), _markdown(misfits, table)), strict=True):
        write_text(path, text)
    return paths


def _row(form: str, curves: Curves, times: int) -> Row:
    """The exponents with the range of nine in ten resampled fits, and by which factor the law is typically off."""
    errors, cell = curves.medians(), curves.cell
    law = fit_law(form, curves, errors)
    spread = np.quantile(bootstrap(form, curves, times), [0.05, 0.95], axis=0)
    row: Row = {"inputs": cell.inputs, "fit": cell.fit, "complexity": cell.complexity, "noise": cell.noise}
    for name, value, (low, high) in zip(NAMES, law.exponents, spread.T, strict=True):
        row |= {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}
    wrong = np.log(law(np.array(curves.dims)[:, None], curves.samples) / errors)
    row["fitted"] = float(np.exp(rms(wrong[:, curves.used])))
    row["predicted"] = float(np.exp(prediction_error(form, curves)))
    return row


def _markdown(misfits: dict[str, float], table: Sequence[Row]) -> str:
    ranked = ", ".join(f"{form} {np.exp(misfit):.2f}" for form, misfit in misfits.items())
    lines = [
        "# Scaling laws",
        "",
        "The law of the error e is e^−2 = σ^−2 + r^−2, with σ the error of the best constant and r one of five forms",
        "of dim d and samples n: A d^−α n^−β (product), A d^−α + B n^−β (sum), the root of (A d^−α)² + (B n^−β)²",
        "(squares), and the latter two with d^γ before the samples' part (coupled).",
        "",
        f"How far off each form is for the largest dim when fitted to the others, as a factor: {ranked}.",
        f"Below is the best, {next(iter(misfits))}, from {FIRST:,} samples on; in brackets nine of ten fits to",
        "resampled targets. The last two columns: the typical factor between law and median, of the law fitted to",
        "all dims, and of the largest dim as the others predict it.",
        "",
        "| inputs | fit | complexity | noise | α (dim) | β (samples) | γ (coupling) | fitted | predicted |",
        "|---" * 9 + "|",
    ]
    for row in table:
        exponents = (_exponents(row, name) for name in NAMES)
        head = " | ".join(str(row[name]) for name in ("inputs", "fit", "complexity", "noise"))
        lines.append(f"| {head} | {' | '.join(exponents)} | {row['fitted']:.2f} | {row['predicted']:.2f} |")
    return "\n".join(lines) + "\n"


def _exponents(row: Row, name: str) -> str:
    value, low, high = (exponent(float(row[name + end])) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"


_TITLES = {
    "univariate": "One input: {grid}",
    "bivariate": "Two inputs: {grid}",
    "univariate-text": "One input, as the text says: {grid}",
    "bivariate-text": "Two inputs, as the text says: {grid}",
    "univariate-scaling": "One input, dims up to {dim}",
    "bivariate-scaling": "Two inputs, dims up to {dim}",
    "univariate-monotone-scaling": "One input, monotone targets, dims up to {dim}",
    "bivariate-monotone-scaling": "Two inputs, monotone targets, dims up to {dim}",
    "definite": "Four parametrisations of semidefinite matrices",
    "univariate-tridiagonal": "One input, tridiagonal matrices",
    "bivariate-tridiagonal": "Two inputs, tridiagonal matrices",
    **{
        name: f"One input, {grid.jitter:g} times the paper's jitter and {grid.gap:g} times its gap"
        for name, grid in STARTS.items()
    },
}


_LINES: dict[str, Callable[[pa.Table], Iterable[object]]] = {
    **dict.fromkeys(REAL_STUDIES, tune),
    **dict.fromkeys((study_name("influence", source) for source in Source), by_dim),
    "tightness": tighten,
}


@dataclass(frozen=True)
class Tables:
    """Files that were written, and the folders of studies that are not finished."""

    paths: tuple[Path, ...]
    unfinished: tuple[Path, ...]


def write_tables(results: Path, out: Path, profile: str | None = None, times: int = 200) -> Tables:
    """Write the tables of all finished studies, named like them, and ``scaling-laws`` of those that have some.

    Parameters
    ----------
    results
        Folder for all studies.
    out
        Folder of the tables; made if it is not there.
    profile
        "quick", "small" or "full"; None is the largest that is finished, of each study.
    times
        Fits to resampled targets, from which the ranges of the laws' exponents are taken.
    """
    out.mkdir(parents=True, exist_ok=True)
    there = {folder.name.rpartition("-")[0]: folder for folder in find_studies(results, profile)}
    done = {name: folder for name, folder in there.items() if (folder / "results.parquet").exists()}
    paths = [path for name, folder in done.items() if name in _TITLES for path in _synthetic(name, folder, out)]
    paths += [_real(_LINES[name], folder, out) for name, folder in done.items() if name in _LINES]
    curves = [each for name in BEYOND if name.endswith("scaling") and name in done for each in read_curves(done[name])]
    paths += write_laws(curves, out, times) if curves else ()
    return Tables(tuple(paths), tuple(folder for name, folder in there.items() if name not in done))


def _synthetic(name: str, folder: Path, out: Path) -> tuple[Path, Path]:
    config = read_config(folder)
    grid, profile = Grid.from_dict(config["grid"]), config["profile"]
    words = "the paper's full grid" if profile == "full" else f"the {profile} grid"
    title = _TITLES[name].format(grid=words, dim=max(grid.dims))
    return write_summary(folder, out, title, _facts(grid, config["version"]))


def _facts(grid: Grid, version: str) -> dict[str, str]:
    rates = ", ".join(f"{rate:.3g}" for rate in grid.rates)
    count = len(list(grid.cells())) * grid.models
    return {
        "models": f"{count:,}; targets: {grid.targets}, seeds: {grid.seeds}, rates: {rates}",
        "steps": f"{grid.checkpoints[-1]:,} per model, batch {grid.batch}; {grid.measured:,} validation points",
        "version": version,
    }


def _real(lines: Callable[[pa.Table], Iterable[object]], folder: Path, out: Path) -> Path:
    """A study of real data as CSV, one line per point of its curves."""
    path = out / f"{folder.name}.csv"
    write_text(path, csv_text([vars(line) for line in lines(read_results(folder))]))
    return path
