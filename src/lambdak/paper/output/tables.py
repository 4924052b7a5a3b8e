"""All studies as tables: what every cell or model came to, and the scaling laws, as CSV and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lambdak.atomic import write_text
from lambdak.paper.output.law_table import write_laws
from lambdak.paper.output.summary import write_summary
from lambdak.paper.parts import csv_text, find_studies, read_config, read_results
from lambdak.paper.protocols import Source, study_name
from lambdak.paper.real.protocol import REAL_STUDIES
from lambdak.paper.real.ratios import by_dim
from lambdak.paper.real.tightness import tighten
from lambdak.paper.real.tuning import tune
from lambdak.paper.synthetic.grid import BEYOND, STARTS, Grid
from lambdak.paper.synthetic.laws import read_curves

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
