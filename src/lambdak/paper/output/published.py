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
BATCH = 4096  # of the runs on data sets
TRAIN_ROWS = {"higgs": 10_000_000, "criteo": 36_672_493}
REAL = {  # (data set, model, dim; 0 for linear models): log-loss
    **{("higgs", "spectral", d): loss for d, loss in ((3, 0.5710), (7, 0.5369), (11, 0.5223))},
    **{("higgs", "mlp-1", d): loss for d, loss in ((3, 0.5743), (7, 0.5305), (11, 0.5152))},
    **{("higgs", "mlp-2", d): loss for d, loss in ((3, 0.5658), (7, 0.5174), (11, 0.5034))},
    **{("higgs", "mlp-3", d): loss for d, loss in ((3, 0.5743), (7, 0.5196), (11, 0.5044))},
    ("higgs", "linear", 0): 0.6377,
    **{("criteo", "spectral-continuous", d): loss for d, loss in ((3, 0.45785), (7, 0.45344), (11, 0.45113))},
    **{("criteo", "spectral-bucketed", d): loss for d, loss in ((3, 0.45713), (7, 0.45286), (11, 0.45073))},
    **{("criteo", "fm", d): loss for d, loss in ((3, 0.45538), (7, 0.45369), (11, 0.45780))},
    ("criteo", "linear-bucketed", 0): 0.46185,
    ("criteo", "linear-continuous", 0): 0.46279,
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
