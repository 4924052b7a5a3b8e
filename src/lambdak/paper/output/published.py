"""Numbers of the paper: median test RMSE of the synthetic studies, and median test log-loss on HIGGS and Criteo.

The former are read off the authors' plots to about 5 %, the latter are those of the released runs.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq

from lambdak.paper.synthetic.grid import Cell

BUDGET = 320_000  # samples
DIMS = (5, 9, 15)
REAL_BUDGET = 2**26  # samples
LARGEST = 2**28  # of Criteo
BATCH = 4096  # of the runs on data sets
TRAIN_ROWS = {"higgs": 10_000_000, "criteo": 36_672_493}
_REAL = {  # (data set, model, samples): log-loss for dims 3, 7, 11, or of a linear model
    ("higgs", "spectral", REAL_BUDGET): (0.5710, 0.5369, 0.5223),
    ("higgs", "mlp-1", REAL_BUDGET): (0.5743, 0.5305, 0.5152),
    ("higgs", "mlp-2", REAL_BUDGET): (0.5658, 0.5174, 0.5034),
    ("higgs", "mlp-3", REAL_BUDGET): (0.5743, 0.5196, 0.5044),
    ("higgs", "linear", REAL_BUDGET): (0.6377,),
    ("criteo", "spectral-continuous", REAL_BUDGET): (0.45785, 0.45344, 0.45113),
    ("criteo", "spectral-bucketed", REAL_BUDGET): (0.45713, 0.45286, 0.45073),
    ("criteo", "fm", REAL_BUDGET): (0.45538, 0.45369, 0.45780),
    ("criteo", "linear-bucketed", REAL_BUDGET): (0.46185,),
    ("criteo", "linear-continuous", REAL_BUDGET): (0.46279,),
    ("criteo", "spectral-continuous", LARGEST): (0.45723, 0.45503, 0.45646),
    ("criteo", "spectral-bucketed", LARGEST): (0.45635, 0.45438, 0.45627),
    ("criteo", "fm", LARGEST): (0.45534, 0.46012, 0.47586),
    ("criteo", "linear-bucketed", LARGEST): (0.46139,),
    ("criteo", "linear-continuous", LARGEST): (0.46238,),
}
REAL = {  # (data set, model, dim; 0 for linear models, samples): log-loss
    (name, model, dim, samples): loss
    for (name, model, samples), losses in _REAL.items()
    for dim, loss in zip((3, 7, 11) if len(losses) > 1 else (0,), losses, strict=True)
}
_GENERAL = {  # (inputs, complexity): clean and noisy, each for dims 5, 9, 15
    (1, 5): ((0.0045, 0.0026, 0.0023), (0.019, 0.014, 0.0155)),
    (1, 10): ((0.19, 0.017, 0.013), (0.19, 0.042, 0.039)),
    (1, 20): ((0.54, 0.29, 0.097), (0.54, 0.295, 0.123)),
    (2, 5): ((0.20, 0.090, 0.067), (0.21, 0.097, 0.078)),
    (2, 9): ((0.63, 0.38, 0.20), (0.63, 0.39, 0.20)),
    (2, 13): ((0.77, 0.62, 0.41), (0.77, 0.625, 0.41)),
}
_MONOTONE = {  # (inputs, complexity, fit): clean, for dims 5, 9, 15
    (1, 20, "free"): (0.035, 0.017, 0.016),
    (1, 20, "monotone"): (0.038, 0.024, 0.020),
    (2, 13, "free"): (0.275, 0.145, 0.11),
    (2, 13, "monotone"): (0.28, 0.155, 0.11),
}


def published(cell: Cell) -> float | None:
    """The paper's median for a cell, if it can be read off."""
    if cell.dim not in DIMS:
        return None
    column = DIMS.index(cell.dim)
    if cell.fit == "general":
        both = _GENERAL.get((cell.inputs, cell.complexity))
        return None if both is None else both[int(cell.noise > 0)][column]
    row = _MONOTONE.get((cell.inputs, cell.complexity, cell.fit)) if cell.noise == 0 else None
    return None if row is None else row[column]


_NAMES = {"model": "model", "dim": "dim", "lr": "rate", "train_size": "samples", "val_logloss": "validation",
          "test_logloss": "test"}  # fmt: skip


def read_released(path: Path) -> pa.Table:
    """The runs of ``higgs_scaling.parquet`` or ``criteo_scaling.parquet`` that the authors evaluated, named as ours.

    Their rates were chosen in runs of their own, so that there is one per model, dim and number of samples.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}: the authors' released results belong there")
    table = pq.read_table(path)
    evaluated = table.filter(compute.equal(table["phase"], "evaluation"))
    return evaluated.select(list(_NAMES)).rename_columns(list(_NAMES.values()))
