"""Which columns are meant: those that the user lists, and those of training in another table.

Which column of another table is which column of training: by name if both have names, otherwise by position.

Which columns ``categorical_features`` lists: names, indices or a mask, in the spelling of HistGradientBoosting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from lambdak.table.cells import Cells
from lambdak.table.close_names import asked, meant
from lambdak.table.read import Table, read_table
from lambdak.table.visible import warn_user

if TYPE_CHECKING:
    from lambdak.table.encoder import TableEncoder

Reader: TypeAlias = Callable[[int], Cells]
_NAMES_SHOWN = 5


def matched(names: Sequence[str], from_names: bool, table: Table) -> list[int]:
    """Positions in ``table`` of the columns of training, which have these ``names``, from the user or made for them."""
    if not (from_names and table.named):
        check_width(table.shape[1], len(names))
        return list(range(table.shape[1]))
    if table.names == names:
        return list(range(table.shape[1]))
    found = {name: i for i, name in enumerate(table.names)}
    missing = sorted(set(names) - set(found))
    if missing:
        unseen = sorted(set(found) - set(names))
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            + _bullets("Feature names unseen at fit time", unseen)
            + _bullets("Feature names seen at fit time, yet now missing", missing)
            + meant(missing[0], unseen).rstrip()
        )
    return [found[name] for name in names]


def check_width(width: int, wanted: int) -> None:
    """Refuse a table without names that has another number of columns."""
    if width != wanted:
        raise ValueError(
            f"X has {width} features, but lambdak is expecting {wanted} features as input: give it the columns of "
            "training, in their order"
        )


def warn_of_names(names: Sequence[str], from_names: bool, table: Table | None, target: str | None = None) -> None:
    """Warn of columns that training has not seen, and of names on one side only; None is a table that has none.

    Columns then go by position, as everywhere in scikit-learn, whose words these are. The column of the target may be
    there.
    """
    named = table is not None and table.named
    if from_names and not named:
        warn_user(
            "X does not have valid feature names, but the model was fitted with feature names: its columns are taken "
            "in the order of training"
        )
    elif named and not from_names:
        warn_user(
            "X has feature names, but the model was fitted without feature names: its columns are taken in the order "
            "of training"
        )
    elif table is not None and named and table.names != names:
        unseen = sorted(set(table.names) - set(names))
        strange = [name for name in unseen if name != target]
        if strange and len(unseen) == len(table.names) - len(names):  # otherwise some are missing, which is an error
            warn_user(f"X has columns that were not there in training, and that are ignored: {_listed(strange)}")


def _bullets(title: str, names: list[str]) -> str:
    shown = [*names[:_NAMES_SHOWN], *(["..."] if len(names) > _NAMES_SHOWN else [])]
    return title + ":\n" + "".join(f"- {name}\n" for name in shown) if names else ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(map(repr, names[:_NAMES_SHOWN])) + more


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


def column_reader(encoder: TableEncoder, X: Any) -> Reader:
    """Return a function from the position of a column of training to its cells in this table."""
    if issparse(X):
        wide = X.tocsc()
        return lambda i: read_table(wide[:, [i]].toarray()).cells(0)
    table = read_table(X, keep=False)
    positions = encoder.positions(table)
    return lambda i: table.cells(positions[i])
