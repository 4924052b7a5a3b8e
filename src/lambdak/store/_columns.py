"""The encoder of a model ⇄ JSON: of each column only what cannot be derived, so that nothing can contradict itself.

Design columns [start, stop) follow from the order of the columns, the range of a curve from its knots, the design
column of missing cells from whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from lambdak.store._fields import damaged, fields, flag, items, number, shown, text, whole
from lambdak.store._values import decode, encode, is_level
from lambdak.table.category_levels import Kind
from lambdak.table.cell_rules import LineRule
from lambdak.table.cells import LARGEST
from lambdak.table.column_contract import OMITTED, Column, Saved
from lambdak.table.column_types import COLUMNS
from lambdak.table.encoder import TableEncoder
from lambdak.table.knots import MAX_KNOTS
from lambdak.table.read import position_names


def encode_columns(encoder: TableEncoder) -> list[dict[str, Any]]:
    """One object per user column."""
    return [_encode_column(column) for column in encoder.columns]


def _encode_column(column: Column) -> dict[str, Any]:
    saved = {
        name: encode(value, name)
        for name, value in column.saved().items()
        if column.saved_as[name] not in OMITTED or value != OMITTED[column.saved_as[name]]
    }
    return {"kind": column.kind, "name": column.name, **saved}


def decode_columns(value: Any, clamp: bool, straight: Collection[str | int] = ()) -> tuple[Column, ...]:
    """The columns, each with its design columns."""
    columns: list[Column] = []
    for i, item in enumerate(items(value, "columns", 1, None)):
        start = columns[-1].stop if columns else 1
        free = i in straight or (isinstance(item, dict) and item.get("name") in straight)
        columns.append(_decode_column(item, f"column {i}", start, clamp and not free))
    names = {column.name for column in columns}
    if len(names) < len(columns):
        raise damaged("columns must have names that differ")
    return tuple(columns)


def _decode_column(value: Any, what: str, start: int, clamp: bool) -> Column:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in COLUMNS:
        raise damaged(f"{what} must be of a kind in {sorted(COLUMNS)}; got {shown(kind)}")
    contract = COLUMNS[kind]
    absent = {key: OMITTED[form] for key, form in contract.saved_as.items() if form in OMITTED}
    parts = fields(absent | value, what, ("kind", "name", *contract.saved_as))
    name = text(parts["name"], f"name of {what}")
    what = f"{what} ({shown(name)})"
    saved = {key: _READERS[form](parts[key], f"{key} of {what}") for key, form in contract.saved_as.items()}
    try:
        return contract.restored(start, clamp, {"name": name, **saved}, what)
    except ValueError as error:
        raise damaged(str(error)) from None


def _number(value: Any, what: str) -> float:
    return number(value, what, LARGEST)


def _numbers(value: Any, what: str) -> list[float]:
    return [_number(item, what) for item in items(value, what, 1, MAX_KNOTS)]


def _levels(value: Any, what: str) -> list[Any]:
    levels = [decode(level, what) for level in items(value, what, 1)]
    if not all(map(is_level, levels)):
        raise damaged(f"{what} must be strings, numbers, booleans, null or other")
    return levels


def _kinds(value: Any, what: str) -> list[str]:
    kinds = [text(kind, what) for kind in items(value, what, 0, len(Kind))]
    if kinds != sorted({*kinds} & {*Kind}):
        raise damaged(f"{what} must be some of {[*map(str, Kind)]}, in alphabetical order")
    return kinds


def _order(value: Any, what: str) -> list[Any]:
    return [decode(level, what) for level in items(value, what)]


def _maybe(value: Any, what: str) -> bool | None:
    return None if value is None else flag(value, what)


def _some(value: Any, what: str) -> list[float]:
    return [_number(item, what) for item in items(value, what)]


_READERS: dict[Saved, Callable[[Any, str], Any]] = {
    Saved.FLAG: flag,
    Saved.NUMBER: _number,
    Saved.NUMBERS: _numbers,
    Saved.LEVELS: _levels,
    Saved.KINDS: _kinds,
    Saved.ORDER: _order,
    Saved.MAYBE: _maybe,
    Saved.SOME: _some,
}


def encode_encoder(encoder: TableEncoder) -> dict[str, Any]:
    """The rest of the encoder: what neither its columns nor the settings of the estimator say."""
    return {
        "clamp": encoder.clamp,
        "from_names": encoder.from_names,
        "from_sparse": encoder.from_sparse,
        "n_knots": encoder.n_knots,
    }


def decode_encoder(
    header: dict[str, Any], categorical_features: Any, straight: Collection[str | int] = ()
) -> TableEncoder:
    """The encoder, as it was after its fit."""
    parts = fields(header["encoder"], "encoder", ("clamp", "from_names", "from_sparse", "n_knots"))
    clamp = flag(parts["clamp"], "clamp")
    n_knots = parts["n_knots"] if parts["n_knots"] == "auto" else whole(parts["n_knots"], "n_knots", 0, MAX_KNOTS)
    if n_knots == 1:
        raise damaged("n_knots must not be 1")
    encoder = TableEncoder(
        n_knots,
        categorical_features,
        clamp=clamp,
        straight=straight,
        columns=decode_columns(header["columns"], clamp, straight),
        from_names=flag(parts["from_names"], "from_names"),
        from_sparse=flag(parts["from_sparse"], "from_sparse"),
    )
    if not encoder.from_names and encoder.feature_names != position_names(encoder.n_features):
        raise damaged("columns without names must be called x0, x1, …")
    for column in encoder.columns if encoder.from_sparse else ():
        rule = column.rule
        if encoder.from_names or not isinstance(rule, LineRule):
            raise damaged("columns of a sparse table must be linear and without names")
        if rule.center or not rule.low <= 0 <= rule.high:
            raise damaged(f"column {shown(column.name)} of a sparse table must have the center 0, within its range")
    return encoder
