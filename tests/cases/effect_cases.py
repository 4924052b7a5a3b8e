"""Changes of scores from the reference of a column to a cell, rebuilt by hand."""

from __future__ import annotations

import numpy as np
from score_cases import cell_weights, matrices, score_by_hand


def change(model, row, i, cell, output):
    """From the reference to the cell: the median of a number, the average (unseen) level of a category."""
    column = model.model_.encoder.columns[i]
    if column.kind != "category":
        ends = ([*row[:i], each, *row[i + 1 :]] for each in (column.median, cell))
        low, high = (score_by_hand(model, own, output) for own in ends)
        return high - low
    total = 0.0
    for weight, member in zip(
        model.model_.weights,
        range(output % model.model_.outputs.pencils, len(model.model_.coef), model.model_.outputs.pencils),
        strict=True,
    ):
        C = matrices(model, member)
        A = C[0] + (C[model.model_.encoder.n_design + output] if model.model_.outputs.levels else 0.0)
        for j, (other, own) in enumerate(zip(model.model_.encoder.columns, row, strict=True)):
            if j != i:
                A = A + np.tensordot(cell_weights(other, own), C[other.start : other.stop], 1)
        level = np.tensordot(cell_weights(column, cell), C[column.start : column.stop], 1)
        k = model.model_.outputs.indices[output if len(model.model_.outputs.indices) > 1 else 0]
        total += weight * (np.linalg.eigvalsh(A + level)[k] - np.linalg.eigvalsh(A)[k])
    return model.model_.scale * total
