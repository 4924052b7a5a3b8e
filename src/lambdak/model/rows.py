"""Rows as a model reads them: a table or one row, a column by name or position, and what is added to raw scores.

An offset is added to the raw score of a row; the logarithm of an exposure is one where the link is log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak.losses import LOG, Loss
from lambdak.model.model import Model
from lambdak.model.readout import dense_rows
from lambdak.table.close_names import asked, shown_names
from lambdak.table.read import Table, named_array, read_table
from lambdak.table.rows import Rows, log_exposure, optional_rows

_SEVERAL = (list, tuple, np.ndarray)


def given_table(model: Model, X: Any) -> Table:
    """Return the table that a user gives; a mapping or a one-dimensional array is one row."""
    return _one_row(model, X) if is_one_row(X) else read_table(dense_rows(X))


def is_one_row(X: Any) -> bool:
    """Return whether this is a single row, and no table."""
    if isinstance(X, Mapping) or getattr(X, "ndim", 2) == 1:
        return True
    return isinstance(X, list | tuple) and not any(isinstance(cell, _SEVERAL) for cell in X)


def _one_row(model: Model, row: Any) -> Table:
    """Return the table of one row: cells by name where there are names, otherwise in the order of the columns."""
    cells = np.empty((1, len(row)), object)
    if not hasattr(row, "keys"):
        cells[0] = list(row)
        return read_table(cells)
    if isinstance(row, Mapping) and any(isinstance(cell, _SEVERAL) for cell in row.values()):
        raise TypeError("a mapping is one row, column → cell; got several cells of a column: make it a table first, as "
                        "with pandas.DataFrame(X)")  # fmt: skip
    names = [str(name) for name in row.keys()]  # noqa: SIM118 (of a pandas Series, too)
    missing = [name for name in model.encoder.feature_names if name not in names]
    if missing:
        raise ValueError(
            f"row must have a cell for every column; {shown_names(missing)} is missing: a row of a table is X.iloc[i], "
            "a table with one row X.iloc[[i]]"
        )
    cells[0] = [row[name] for name in row.keys()]  # noqa: SIM118
    return named_array(cells, names)


def column_named(model: Model, name: Any) -> int:
    """Return the position of a column of the model, by its name or position."""
    return column_place(model.encoder.feature_names, name)


def column_place(names: Sequence[str], name: Any) -> int:
    """Return the position of a column among these, by its name or position."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < len(names):
        return int(name)
    if name not in names:
        raise ValueError(
            f"column must be one of the model's columns, {shown_names(names)}; got {name!r}{asked(name, names)}"
        )
    return names.index(name)


def model_target(model: Model, rows: Rows) -> NDArray[Any]:
    """Return the targets of rows as the model predicts them: rates, where totals are given with an exposure."""
    if rows.exposure is None or model.classes is not None or model.loss.quantile_levels:
        return rows.target
    return rows.rates


def check_offset(loss: Loss, name: str = "offset") -> None:
    """Refuse an offset where the loss has none, with the way out."""
    if loss.no_offset:
        raise ValueError(f"{name} cannot be given with loss={loss.name!r} of several outputs: {loss.no_offset}")


def check_exposure(loss: Loss, offset: Any = None, name: str = "exposure") -> None:
    """Refuse an exposure beside an offset, and where the link is not log."""
    other = name.replace("exposure", "offset")
    if offset is not None:
        raise ValueError(
            f"{name} and {other} must not both be given, as an exposure is an offset of its logarithm: give "
            f"{other}={other} + np.log({name})"
        )
    if loss.link is not LOG:
        raise ValueError(
            f"{name} needs a loss with a log link, which are 'poisson', 'gamma' and 'tweedie'; got {loss.name!r}: "
            f"divide y by it and give it as sample_weight, or give {other}"
        )


def row_offset(
    loss: Loss, offset: ArrayLike | None, exposure: ArrayLike | None, rows: int | None = None, suffix: str = ""
) -> Any:
    """Return the offset of each row, from it or from an exposure, or None; an offset is checked if ``rows`` are known.

    ``suffix`` is what the names of both end with, for errors.
    """
    if exposure is not None:
        check_exposure(loss, offset, f"exposure{suffix}")
        return log_exposure(exposure, rows, f"exposure{suffix}", suffix)
    if offset is not None:
        check_offset(loss, f"offset{suffix}")
    return offset if rows is None else optional_rows(offset, rows, f"offset{suffix}", suffix)
