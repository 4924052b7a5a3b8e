"""Which columns ``categorical_features`` lists: names, indices or a mask, in the spelling of HistGradientBoosting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak.table.close_names import asked
from lambdak.table.read import Table


def listed_columns(categorical_features: ArrayLike | None, table: Table) -> NDArray[np.bool_]:
    """Mask (n_features,) of the columns that ``categorical_features`` lists; "from_dtype" and None list none."""
    n_features = table.shape[1]
    if categorical_features is None or isinstance(categorical_features, str):
        if categorical_features not in (None, "from_dtype"):
            raise ValueError(
                f'categorical_features must be "from_dtype", None or an array; got {categorical_features!r}'
            )
        return np.zeros(n_features, dtype=bool)
    listed = np.asarray(categorical_features)
    if listed.ndim != 1:
        raise ValueError(f'categorical_features must be "from_dtype", None or an array; got {categorical_features!r}')
    if listed.size == 0:
        return np.zeros(n_features, dtype=bool)
    if listed.dtype.kind == "b":
        if listed.shape != (n_features,):
            raise ValueError(
                "categorical_features set as a boolean mask must have shape (n_features,), "
                f"here ({n_features},); got {listed.shape}"
            )
        return listed
    return np.isin(np.arange(n_features), _positions(listed, table))


def _positions(listed: NDArray[Any], table: Table) -> list[int]:
    if listed.dtype.kind in "iu":
        if listed.min() < 0 or listed.max() >= table.shape[1]:
            raise ValueError(
                "categorical_features set as integer indices must be in [0, n_features - 1], "
                f"here [0, {table.shape[1] - 1}]; got {listed.tolist()}"
            )
        return [int(position) for position in listed]
    names = listed.tolist()
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"categorical_features must be an array-like of bool, int or str; got {names}")
    if not table.named:
        raise ValueError(
            "categorical_features should be passed as an array of integers or as a boolean mask when the model is "
            "fitted on data without feature names."
        )
    for name in names:
        if name not in table.names:
            raise ValueError(
                f"categorical_features has an item value {name!r} which is not a valid feature name of the training "
                f"data. Observed feature names: {list(table.names)}{asked(name, table.names)}"
            )
    return [table.names.index(name) for name in names]
