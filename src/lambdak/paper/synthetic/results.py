"""The synthetic studies on disk: one part per cell, see :mod:`lambdak.paper.parts`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lambdak.paper.parts import Piece, is_whole, make_parts, part_path, read_config, run_pieces
from lambdak.paper.synthetic.grid import Cell, Grid, study
from lambdak.paper.synthetic.sweep import CellResult, run_cell


def run_study(
    name: str, profile: str, out: Path, workers: int = 1, dask: str | None = None
) -> Iterator[tuple[int, int]]:
    """Run what is missing of a study, yielding (cells done, cells) whenever one is finished.

    Parameters
    ----------
    name, profile
        One of ``grid.STUDIES`` or ``grid.BEYOND``; "quick", "small" or "full".
    out
        Folder for all studies.
    workers, dask
        As in :func:`lambdak.paper.parts.run_pieces`.
    """
    config, pieces = _pieces(name, profile)
    return run_pieces(out / f"{name}-{profile}", config, list(pieces.values()), workers, dask)


def chosen_cell(name: str, profile: str, **axes: object) -> Cell:
    """The cell of a study with this fit, complexity, noise and dim; one that the study does not have is an error."""
    cells = list(study(name, profile).cells())
    for axis, value in axes.items():
        known = sorted({getattr(cell, axis) for cell in cells})
        if value not in known:
            raise ValueError(
                f"{axis} must be one of {', '.join(map(str, known))} in the {profile} profile of {name}; got {value}"
            )
    return next(cell for cell in cells if all(getattr(cell, axis) == value for axis, value in axes.items()))


def run_one(name: str, profile: str, cell: Cell, out: Path) -> Iterator[tuple[int, int]]:
    """Run one cell of a study, yielding as :func:`run_study`, which later continues with the others."""
    config, pieces = _pieces(name, profile)
    return make_parts(out / f"{name}-{profile}", config, [pieces[cell]])


def _pieces(name: str, profile: str) -> tuple[dict[str, object], dict[Cell, Piece]]:
    """What a study is, and the parts of its cells."""
    grid = study(name, profile)
    config: dict[str, object] = {"study": name, "profile": profile, "grid": grid.to_dict()}
    return config, {cell: Piece(cell.name, _n_rows(grid), partial(_make, grid, cell)) for cell in grid.cells()}


def _n_rows(grid: Grid) -> int:
    return grid.models * len(grid.checkpoints)


def _make(grid: Grid, cell: Cell, threads: int) -> pa.Table:
    return rows(grid, cell, run_cell(grid, cell, threads))


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
    grid = Grid.from_dict(read_config(folder)["grid"])  # as it was when it was run
    shape = (grid.targets, grid.seeds, len(grid.rates), len(grid.checkpoints))
    for cell in grid.cells():
        path = part_path(folder, cell.name)
        if is_whole(path, _n_rows(grid)):
            table = pq.read_table(path, columns=["validation", "test"])
            yield cell, grid, CellResult(*(table[name].to_numpy().reshape(shape) for name in ("validation", "test")))
