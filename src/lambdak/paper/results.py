"""The synthetic studies on disk: one part per cell, see :mod:`lambdak.paper.parts`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lambdak.paper.grid import Cell, Grid, study
from lambdak.paper.parts import claim_folder, is_whole, merge_parts, part_path, write_table
from lambdak.paper.sweep import CellResult, run_cell
from lambdak.runtime import set_num_threads


def run_study(
    name: str, profile: str, out: Path, workers: int = 1, dask: str | None = None
) -> Iterator[tuple[int, int]]:
    """Run what is missing of a study, yielding (cells done, cells) whenever one is finished.

    Parameters
    ----------
    name, profile
        "univariate" or "bivariate"; "quick", "small" or "full".
    out
        Folder for all studies.
    workers
        Processes; each trains one cell at a time with one thread, or with all of them if there is one worker.
    dask
        Address of a Dask scheduler whose workers shall do it instead. They must see the same folder.
    """
    grid, folder = study(name, profile), out.absolute() / f"{name}-{profile}"  # for workers who run elsewhere
    claim_folder(folder, {"study": name, "profile": profile, "grid": grid.to_dict()})
    cells = list(grid.cells())
    missing = [cell for cell in cells if not _is_whole(folder, cell, grid)]
    done = len(cells) - len(missing)
    yield done, len(cells)
    with _backend(dask):
        threads = 1 if workers > 1 or dask else None
        tasks = (joblib.delayed(_run_part)(grid, cell, folder, threads) for cell in missing)
        for _ in joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(tasks):
            done += 1
            yield done, len(cells)
    merge_parts(folder, [cell.name for cell in cells])


@contextmanager
def _backend(dask: str | None) -> Iterator[None]:
    if dask is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("a Dask cluster needs dask: pip install 'lambdak[dask]'") from None
    with Client(dask), joblib.parallel_config(backend="dask"):
        yield


def _is_whole(folder: Path, cell: Cell, grid: Grid) -> bool:
    return is_whole(part_path(folder, cell.name), grid.models * len(grid.checkpoints))


def _run_part(grid: Grid, cell: Cell, folder: Path, threads: int | None) -> None:
    if threads is not None:
        set_num_threads(threads)
    write_table(rows(grid, cell, run_cell(grid, cell)), part_path(folder, cell.name))


def rows(grid: Grid, cell: Cell, result: CellResult) -> pa.Table:
    """One row per model and checkpoint."""
    axes = [range(grid.targets), range(grid.seeds), grid.rates, grid.checkpoints]
    target, seed, rate, step = (part.ravel() for part in np.meshgrid(*axes, indexing="ij"))
    table = {name: np.full(len(target), value) for name, value in vars(cell).items()}
    table |= {"target": target, "seed": seed, "rate": rate, "step": step, "samples": step * grid.batch}
    table |= {"validation": result.validation.ravel(), "test": result.test.ravel()}
    return pa.table(table)


def read_cells(folder: Path) -> Iterator[tuple[Cell, Grid, CellResult]]:
    """The cells of a study that are done, from its folder."""
    path = folder / "study.json"
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no study: run `lambdak reproduce` first")
    grid = Grid.from_dict(json.loads(path.read_text())["grid"])  # as it was when it was run
    shape = (grid.targets, grid.seeds, len(grid.rates), len(grid.checkpoints))
    for cell in grid.cells():
        if _is_whole(folder, cell, grid):
            table = pq.read_table(part_path(folder, cell.name), columns=["validation", "test"])
            yield cell, grid, CellResult(*(table[name].to_numpy().reshape(shape) for name in ("validation", "test")))
