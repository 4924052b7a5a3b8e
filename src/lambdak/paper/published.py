"""Numbers of the paper, read off the authors' plots to about 5 %: median test RMSE after 320,000 samples."""

from __future__ import annotations

from lambdak.paper.grid import Cell

BUDGET = 320_000  # samples
DIMS = (5, 9, 15)
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
    place = DIMS.index(cell.dim)
    if cell.fit == "general":
        both = _GENERAL.get((cell.inputs, cell.complexity))
        return None if both is None else both[int(cell.noise > 0)][place]
    row = _MONOTONE.get((cell.inputs, cell.complexity, cell.fit)) if cell.noise == 0 else None
    return None if row is None else row[place]
