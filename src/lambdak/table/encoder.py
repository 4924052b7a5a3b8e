"""A table becomes design rows z, sparse and rectangular: A(z) = Σ_s w_s C[id_s], the constant first.

Slot 0 is the constant (id 0, weight 1). Each user column follows with its one or two active entries, see
:class:`~lambdak.table.column_contract.Column`; the design columns [start, stop) of a column lead back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, cast, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from lambdak._checks import check_dtype, check_int, freeze_arrays
from lambdak.eigen.lazy import cached_property
from lambdak.table.category_column import MAX_LEVELS
from lambdak.table.cells import refuse_text_dates
from lambdak.table.close_names import asked
from lambdak.table.column_contract import Column
from lambdak.table.column_types import column_type
from lambdak.table.design import Design
from lambdak.table.knots import MAX_KNOTS, check_n_knots
from lambdak.table.linear_column import Linear
from lambdak.table.matching import check_width, listed_columns, matched
from lambdak.table.read import Table, position_names, read_table
from lambdak.table.rows import weighted_rows
from lambdak.table.seen import ColumnSettings, RawColumn, Seen, SeenCells
from lambdak.table.sparse import fit_sparse, read_sparse, sparse_rows

__all__ = ["Column", "Design", "TableEncoder"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class TableEncoder:
    """A(x) = A_0 + Σ_i A_i(x_i): from the columns of a table to the entries of the pencil they activate.

    Takes pandas, polars and pyarrow tables, 2-D NumPy arrays, lists of rows and SciPy sparse matrices. Dates,
    durations, nested columns and infinite values are refused, with advice on what to do instead. Nothing is random,
    and an encoder never changes: :meth:`fit` returns a new one, which is fitted.

    Parameters
    ----------
    n_knots : int or "auto"
        Knots of a numeric column, at most one per distinct value. "auto" is clip(rows // 40, 4, 32); 0 makes all
        numeric columns linear.
    categorical_features : "from_dtype", None, or array of names, indices or booleans
        "from_dtype": columns of category, string or bool dtype. An array: these columns. Elsewhere, and with None,
        booleans and categories of numbers are read as numbers; strings cannot be, and so are always categories.
    linear : collection of str
        Numeric columns to be linear, by name (x0, x1, … where the table has no names). Booleans may be among them.
    min_level_count : int
        A level of a category with fewer training rows is pooled into the level OTHER.
    max_categories : int, optional
        Most levels of a category, OTHER included: if there are more, the most frequent ones stay and the others are
        pooled into OTHER, with a warning. None keeps up to 131,072 levels. Missing cells do not count.
    clamp : bool
        Whether columns of numbers are constant outside of the training range; otherwise they continue with the
        slope they have at its ends.
    straight : collection of str or int
        Names or positions of columns of numbers that continue so in any case.
    steep : collection of str, int or None
        Names or positions of columns whose slope is limited, and None for all: no two of their knots are very close.
    nodes : mapping of str or int to numbers
        By name or position of a column, numbers at which it gets knots beside its own, where they are in the training
        range. Linear columns have none.
    most_knots : mapping of str or int to int
        By name or position of a column, how many knots it has at most, whatever n_knots says.

    Attributes
    ----------
    columns : tuple of Column
        One per user column, in the order of training; empty unless fitted.
    from_names : bool
        Whether the table had names. Columns are then found by name: they may come in any order, and columns that
        were not there in training are ignored.
    from_sparse : bool
        Whether the table was sparse. Its columns are linear with center 0, and only non-zeros are active.

    Notes
    -----
    Missing cells (NaN, None, null, masked) have their own design column if there were some in training. Otherwise a
    missing number counts as the training median (as 0 in a sparse table), and a missing level as an unseen one.
    Unseen levels count as OTHER if levels were pooled in training; otherwise they get weight 0, which is the
    average level once the levels are centred.

    Examples
    --------
    >>> encoder = TableEncoder(n_knots=3).fit([[0.0, "a"], [1.0, "b"], [4.0, "a"]])
    >>> encoder.columns[0].knots, encoder.columns[1].levels
    (array([0., 1., 4.]), ('a', 'b'))
    >>> design = encoder.transform([[2.5, "b"]])
    >>> design.ids, design.weights
    (array([[0, 2, 3, 5]], dtype=int32), array([[1. , 0.5, 0.5, 1. ]], dtype=float32))
    """

    n_knots: int | str = "auto"
    categorical_features: ArrayLike | None = "from_dtype"
    linear: Collection[str] = ()
    min_level_count: int = 1
    max_categories: int | None = None
    clamp: bool = True
    straight: Collection[str | int] = ()
    steep: Collection[str | int | None] = ()
    nodes: Mapping[str | int, Sequence[float]] = field(default_factory=dict)
    most_knots: Mapping[str | int, int] = field(default_factory=dict)
    columns: tuple[Column, ...] = field(default=(), kw_only=True)
    from_names: bool = field(default=False, kw_only=True)
    from_sparse: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        checked = {
            "n_knots": check_n_knots(self.n_knots),
            "linear": (self.linear,) if isinstance(self.linear, str) else tuple(self.linear),
            "min_level_count": check_int(self.min_level_count, "min_level_count", 1, 1 << 31),
            "max_categories": _check_categories(self.max_categories),
            "clamp": bool(self.clamp),
            "straight": tuple(self.straight),
            "steep": tuple(self.steep),
            "nodes": {key: tuple(map(float, own)) for key, own in self.nodes.items()},
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        freeze_arrays(self)

    def __getstate__(self) -> dict[str, Any]:
        return {own.name: getattr(self, own.name) for own in fields(self)}  # nothing that can be computed again

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        freeze_arrays(self)

    def __repr__(self) -> str:
        state = f"{self.n_features} columns, {self.n_design} design columns" if self.columns else "not fitted"
        return f"TableEncoder({state})"

    @property
    def n_features(self) -> int:
        """Number of user columns."""
        return len(self.columns)

    @property
    def n_design(self) -> int:
        """Number of design columns, the constant included."""
        return self.columns[-1].stop if self.columns else 1

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the user columns; x0, x1, … if the table had none."""
        return tuple(column.name for column in self.columns)

    @property
    def owners(self) -> NDArray[np.int32]:
        """User column of every design column, (n_design,); -1 for the constant."""
        widths = [column.stop - column.start for column in self.columns]
        return np.concatenate([[-1], np.repeat(np.arange(self.n_features), widths)]).astype(np.int32)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """What each design column, and so each matrix of a pencil, stands for; ``input_features`` is ignored.

        >>> TableEncoder(n_knots=2).fit([[0.0, "a"], [4.0, "b"]] * 5).get_feature_names_out().tolist()
        ['constant', 'x0=0', 'x0=4', 'x1=a', 'x1=b']
        """
        names = ["constant", *(name for column in self.columns for name in column.feature_names())]
        return np.array(names, dtype=object)

    def renamed(self, names: Sequence[str]) -> TableEncoder:
        """Encoder with names for the columns of a table that had none."""
        columns = tuple(replace(column, name=name) for column, name in zip(self.columns, names, strict=True))
        return replace(self, columns=columns, from_names=True)

    def centered(self, numbers: Mapping[int, float]) -> TableEncoder:
        """Return the encoder with linear columns, by position, that are zero at these numbers."""
        columns = list(self.columns)
        for i, number in numbers.items():
            column = columns[i]
            if isinstance(column, Linear):
                columns[i] = replace(column, center=number)
        return replace(self, columns=tuple(columns))

    def nameless(self) -> TableEncoder:
        """Encoder as if the training table had been an array, whose columns are read by position."""
        return replace(self.renamed(position_names(self.n_features)), from_names=False)

    def fit(self, X: object, sample_weight: ArrayLike | None = None) -> TableEncoder:
        """Return a new encoder, with knots, levels, centers and scales chosen from ``X``.

        A row of weight w counts as w rows wherever rows are counted (so weights should not sum to 1), and a row of
        weight 0 as none: whole weights give, to the last bit, what repeating the rows gives, in any order.
        """
        if sparse.issparse(X):
            return self._fit_sparse(read_sparse(X), sample_weight)
        table = read_table(X, keep=False)
        _check_not_empty(table.shape)
        rows, mass = weighted_rows(sample_weight, table.shape[0])
        return self.fit_seen(table, (SeenCells(table.cells(i, rows), mass) for i in range(len(table.names))))

    def fit_seen(self, table: Table, seen: Iterable[Seen]) -> TableEncoder:
        """Return a new encoder from what was seen of the columns, where ``table`` only has to have their names."""
        columns = tuple(self._fit_columns(seen, listed_columns(self.categorical_features, table), table))
        return replace(self, columns=columns, from_names=table.named, from_sparse=False)

    def _fit_columns(self, seen: Iterable[Seen], listed: NDArray[np.bool_], table: Table) -> Iterator[Column]:
        self._check_linear(table, listed)
        start = 1
        for i, (own, in_list) in enumerate(zip(seen, listed, strict=True)):
            type_ = self.column_type(own.name, own.kind, bool(in_list))
            if own.kind == "text" and not in_list and not type_.is_number:
                refuse_text_dates(own.name, own.level_counts())
            column = type_.fit(own, start, self._settings_of(i, own.name))
            start = column.stop
            yield column

    def _settings_of(self, i: int, name: str) -> ColumnSettings:
        nodes = (*self.nodes.get(i, ()), *self.nodes.get(name, ()))
        spaced = not {None, i, name}.isdisjoint(self.steep)
        most = min(self.most_knots.get(key, MAX_KNOTS) for key in (i, name))
        clamp = not self.is_straight(i, name)
        return replace(self._settings, clamp=clamp, nodes=nodes, spaced=spaced, most_knots=most)

    def is_straight(self, i: int, name: str) -> bool:
        """Return whether a column continues straight outside of the training range."""
        return not self.clamp or name in self.straight or i in self.straight

    def column_type(self, name: str, kind: str, listed: bool) -> type[Column]:
        """Return the type that a column becomes, by the kind of its cells; ``listed`` in categorical_features."""
        return column_type(RawColumn(name, kind, listed), self._settings)

    @cached_property
    def _settings(self) -> ColumnSettings:
        return ColumnSettings(
            n_knots=self.n_knots if isinstance(self.n_knots, int) else None,
            linear=self.linear,
            by_dtype=isinstance(self.categorical_features, str),
            min_level_count=self.min_level_count,
            max_categories=self.max_categories or MAX_LEVELS,
            clamp=self.clamp,
        )

    def _check_linear(self, table: Table, listed: NDArray[np.bool_]) -> None:
        categories = {name for name, category in zip(table.names, listed, strict=True) if category}
        for name in self.linear:
            if name not in table.names:
                raise ValueError(
                    f"linear must name columns of the table, such as {table.names[0]!r}; got {name!r}"
                    f"{asked(name, table.names)}"
                )
            if name in categories:
                raise ValueError(f"column {name!r} is in linear and in categorical_features: keep it in one of them")

    def _fit_sparse(self, csr: Any, sample_weight: ArrayLike | None) -> TableEncoder:
        _check_not_empty(csr.shape)
        if not (self.categorical_features is None or isinstance(self.categorical_features, str)):
            raise ValueError("categorical_features must be None for sparse X; convert X with X.toarray()")
        rows, mass = weighted_rows(sample_weight, csr.shape[0])
        if self.straight:
            raise ValueError(f"columns that continue straight, {list(self.straight)}, need a dense X: use X.toarray()")
        columns = fit_sparse(csr, rows, self.clamp, mass)
        return replace(self, columns=columns, from_names=False, from_sparse=True)

    def transform(self, X: object, dtype: DTypeLike = np.float32, threads: int = 0) -> Design:
        """Design rows of ``X``, a table of any kind or one that was read, with weights in float32 or float64.

        ``threads`` = 0 takes the process's setting.
        """
        if not self.columns:
            raise ValueError("this TableEncoder is not fitted yet: call fit(X) first")
        kind = check_dtype(dtype)
        if sparse.issparse(X):
            csr = read_sparse(X)
            check_width(csr.shape[1], self.n_features)
            if self.from_sparse:
                return Design(*sparse_rows(csr, cast("tuple[Linear, ...]", self.columns), kind))
            X = csr.toarray()
        table = read_table(X, keep=False)
        short = self._short_design(table, kind)
        if short is not None:
            return short
        return self._design(table, kind, lambda column: partial(column.write_, threads=threads))

    def _short_design(self, table: Table, kind: np.dtype[np.floating]) -> Design | None:
        """The design of a short table, cell by cell; None if it is not short, or some cell needs a closer look."""
        rows = table.plain_rows(self.positions(table))
        if not rows:
            return None
        ids, weights = [], []
        for row in rows:
            own_ids, own_weights = [0], [1.0]
            for column, cell in zip(self.columns, row, strict=True):
                entries = column.cell_entries(cell, table.named)
                if entries is None:
                    return None
                own_ids += entries[0]
                own_weights += entries[1]
            ids.append(own_ids)
            weights.append(own_weights)
        return Design(np.array(ids, np.int32), np.array(weights, kind))

    def slopes(self, X: object, leftwards: bool = False) -> Design:
        """The derivative of the design with respect to each column, in the same slots, for tables with dense rows.

        At a knot it is that to the right, or ``leftwards``. A category has none: its level is given instead.
        """
        return self._design(X, np.dtype(np.float64), lambda column: partial(column.write_slopes_, leftwards=leftwards))

    def _design(
        self, X: object, kind: np.dtype[np.floating], writer: Callable[[Column], Callable[..., None]]
    ) -> Design:
        table = read_table(X, keep=False)
        positions = self.positions(table)
        ids = np.empty((table.shape[0], 1 + sum(column.n_slots for column in self.columns)), np.int32)
        weights = np.empty(ids.shape, kind)
        ids[:, 0], weights[:, 0] = 0, 1
        slot = 1
        for column, position in zip(self.columns, positions, strict=True):
            own = slice(slot, slot + column.n_slots)
            writer(column)(table.cells(position), ids[:, own], weights[:, own])
            slot = own.stop
        return Design(ids, weights)

    def positions(self, table: Table) -> list[int]:
        """Where in ``table`` each column of training is: by name if both have names, otherwise by position."""
        return matched(self.feature_names, self.from_names, table)


def _check_categories(max_categories: int | None) -> int | None:
    if max_categories is None:
        return None
    return min(check_int(max_categories, "max_categories", 1, 1 << 31), MAX_LEVELS)


def _check_not_empty(shape: tuple[int, int]) -> None:
    for what, size in (("sample", shape[0]), ("feature", shape[1])):
        if size == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
