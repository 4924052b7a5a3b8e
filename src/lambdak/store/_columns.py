"""The encoder of a model ⇄ JSON: of each column only what cannot be derived, so that nothing can contradict itself.

Design columns [start, stop) follow from the order of the columns, the range of a curve from its knots, the design
column of missing cells from whether there is one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from lambdak.store._fields import damaged, fields, flag, items, number, shown, text, whole
from lambdak.store._values import decode, encode, is_level
from lambdak.table.columns import Column
from lambdak.table.encoder import MAX_KNOTS, TableEncoder
from lambdak.table.read import LARGEST, position_names

_FIELDS = {
    "curve": ("kind", "name", "knots", "median", "missing"),
    "linear": ("kind", "name", "center", "scale", "low", "high", "median", "missing"),
    "category": ("kind", "name", "levels"),
}
_MOST_SPREADS = 1e12  # of a linear column: no cell of n rows is further than √n of them from the mean


def encode_columns(encoder: TableEncoder) -> list[dict[str, Any]]:
    """One object per user column."""
    return [_encode_column(column) for column in encoder.columns]


def _encode_column(column: Column) -> dict[str, Any]:
    told = {
        "levels": [encode(level, "levels") for level in column.levels],
        "knots": column.knots.tolist(),
        "missing": column.missing >= 0,
    }
    return {name: told.get(name, getattr(column, name)) for name in _FIELDS[column.kind]}


def decode_columns(value: Any, clamp: bool) -> tuple[Column, ...]:
    """The columns, each with its place in the design."""
    columns: list[Column] = []
    for i, item in enumerate(items(value, "columns", 1, None)):
        start = columns[-1].stop if columns else 1
        columns.append(_decode_column(item, f"column {i}", start, clamp))
    names = {column.name for column in columns}
    if len(names) < len(columns):
        raise damaged("columns must have names that differ")
    return tuple(columns)


def _decode_column(value: Any, what: str, start: int, clamp: bool) -> Column:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise damaged(f"{what} must be of a kind out of {sorted(_FIELDS)}; got {shown(kind)}")
    parts = fields(value, what, _FIELDS[kind])
    name = text(parts["name"], f"name of {what}")
    if kind == "category":
        return _category(parts, f"{what} ({shown(name)})", start)
    return _numbers(parts, f"{what} ({shown(name)})", start, clamp)


def _category(parts: dict[str, Any], what: str, start: int) -> Column:
    levels = tuple(decode(level, f"levels of {what}") for level in items(parts["levels"], f"levels of {what}", 1))
    if not all(map(is_level, levels)):
        raise damaged(f"levels of {what} must be strings, numbers, bools, null or other")
    if len(set(levels)) < len(levels):
        raise damaged(f"levels of {what} must differ")
    missing = start + levels.index(None) if None in levels else -1
    return Column(parts["name"], "category", start, start + len(levels), levels=levels, missing=missing)


def _numbers(parts: dict[str, Any], what: str, start: int, clamp: bool) -> Column:
    missing = flag(parts["missing"], f"missing of {what}")
    median = number(parts["median"], f"median of {what}", LARGEST)
    knots, center, scale = np.empty(0), 0.0, 1.0
    if parts["kind"] == "curve":
        listed = items(parts["knots"], f"knots of {what}", 1, MAX_KNOTS)
        knots = np.array([number(knot, f"knots of {what}", LARGEST) for knot in listed])
        if any(low >= high for low, high in pairwise(knots.tolist())):
            raise damaged(f"knots of {what} must increase")
        low, high = float(knots[0]), float(knots[-1])
    else:
        center, scale, low, high = _linear(parts, what)
    if not low <= median <= high:
        raise damaged(f"median of {what} must be in its range [{low}, {high}]; got {median}")
    end = start + max(len(knots), 1)
    return Column(
        parts["name"], parts["kind"], start, end + missing, knots=knots, center=center, scale=scale, low=low, high=high,
        missing=end if missing else -1, median=median, clamp=clamp,
    )  # fmt: skip


def _linear(parts: dict[str, Any], what: str) -> tuple[float, float, float, float]:
    """Center, scale and range of a linear column."""
    names = ("center", "scale", "low", "high")
    center, scale, low, high = (number(parts[name], f"{name} of {what}", LARGEST) for name in names)
    if scale <= 0 or low > high:
        raise damaged(f"{what} must have a positive scale and a range that is not empty")
    if max(abs(low - center), abs(high - center)) > _MOST_SPREADS * scale:
        raise damaged(f"{what} must have a scale that fits to its range; got {scale}")
    return center, scale, low, high


def encode_encoder(encoder: TableEncoder) -> dict[str, Any]:
    """What the encoder is beside its columns and the settings of the estimator."""
    return {
        "clamp": encoder.clamp,
        "from_names": encoder.from_names,
        "from_sparse": encoder.from_sparse,
        "n_knots": encoder.n_knots,
    }


def decode_encoder(header: dict[str, Any], categorical_features: Any) -> TableEncoder:
    """The encoder, as it was after its fit."""
    parts = fields(header["encoder"], "encoder", ("clamp", "from_names", "from_sparse", "n_knots"))
    clamp = flag(parts["clamp"], "clamp")
    n_knots = parts["n_knots"] if parts["n_knots"] == "auto" else whole(parts["n_knots"], "n_knots", 0, MAX_KNOTS)
    if n_knots == 1:
        raise damaged("n_knots must not be 1")
    encoder = TableEncoder(n_knots, categorical_features, clamp=clamp)
    encoder.columns = decode_columns(header["columns"], clamp)
    encoder.from_names = flag(parts["from_names"], "from_names")
    encoder.from_sparse = flag(parts["from_sparse"], "from_sparse")
    if not encoder.from_names and encoder.feature_names != position_names(encoder.n_features):
        raise damaged("columns without names must be called x0, x1, …")
    kinds = {column.kind for column in encoder.columns}
    if encoder.from_sparse and (encoder.from_names or kinds != {"linear"}):
        raise damaged("columns of a sparse table must be linear and without names")
    return encoder
