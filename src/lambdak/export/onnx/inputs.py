"""The inputs of a graph: one for each column, by its name, or one matrix of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from lambdak.export.formula import Formula
from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.levels import number_codes, spelled, text_codes
from lambdak.table.cell_rules import LevelRule

MATRIX = "X"
ROWS = "rows"  # what the number of rows is called in a shape


@final
@dataclass(frozen=True)
class Inputs:
    """Inputs of an ONNX graph.

    Attributes
    ----------
    infos : list
        The inputs as ONNX describes them.
    numbers : Value or None
        (rows, columns of numbers)
    codes : Value or None
        (rows, categories): design columns.
    offset : Value or None
        (rows, 1): what is added to raw scores.
    """

    infos: list[Any]
    numbers: Value | None
    codes: Value | None
    offset: Value | None


def input_names(formula: Formula) -> list[str]:
    """A name for the input of each column: its own, or its position if it has none, as ONNX requires one."""
    taken = {column.name for column in formula.columns}
    return [_free(f"column {i}", taken) if column.name == "" else _checked(column.name)
            for i, column in enumerate(formula.columns)]  # fmt: skip


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name for something else than a column: with underscores behind it until no column has it."""
    return _free(name, set(taken))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _checked(name: str) -> str:
    if "\0" in name or not is_unicode(name):
        raise ValueError(
            f"column {name!r} must have a name that UTF-8 can spell, without a zero character, for ONNX: rename it, or "
            "pass inputs='matrix' if all columns hold numbers"
        )
    return name


def is_unicode(text: str) -> bool:
    """Whether UTF-8 can spell a text: it holds no half of a surrogate pair."""
    return not any(0xD800 <= ord(sign) < 0xE000 for sign in text)


def read_inputs(
    graph: Graph, formula: Formula, names: Sequence[str], matrix: bool, missing: str | None, opset: int, offset: bool
) -> Inputs:
    """The inputs of a formula; ``names`` are those of its columns."""
    rules = [column.rule for column in formula.columns]
    levels = [rule if isinstance(rule, LevelRule) else None for rule in rules]
    kinds = [None if rule is None or not rule.take_text else object for rule in levels]
    cells = _matrix(graph, formula, kinds) if matrix else [graph.given(name) for name in names]
    numbers = [cell for cell, own in zip(cells, levels, strict=True) if own is None]
    codes = [
        _codes(graph, own, cell, column.name, missing, opset)
        for cell, own, column in zip(cells, levels, formula.columns, strict=True)
        if own is not None
    ]
    infos = (
        [_info(graph, free_name(MATRIX, ()), graph.dtype, [ROWS, len(cells)])]
        if matrix
        else [_info(graph, name, kind or graph.dtype, [ROWS, 1]) for name, kind in zip(names, kinds, strict=True)]
    )
    given = None
    if offset:
        own_name = free_name("offset", [MATRIX] if matrix else names)
        infos.append(_info(graph, own_name, graph.dtype, [ROWS, 1]))
        given = graph.given(own_name)
    return Inputs(infos, _joined(graph, numbers), _joined(graph, codes), given)


def _joined(graph: Graph, cells: Sequence[Value]) -> Value | None:
    return graph.join(cells, axis=1) if cells else None


def _matrix(graph: Graph, formula: Formula, kinds: Sequence[type | None]) -> list[Value]:
    for column, kind in zip(formula.columns, kinds, strict=True):
        if kind is not None:
            raise ValueError(
                f"inputs='matrix' needs columns of numbers only; column {column.name!r} is text: pass inputs='columns'"
            )
    whole = graph.given(MATRIX)
    return [whole.take([i], axis=1) for i in range(len(formula.columns))]


def _codes(graph: Graph, levels: LevelRule, cell: Value, name: str, missing: str | None, opset: int) -> Value:
    if not levels.take_text:
        return number_codes(graph, levels, cell, name)
    texts = spelled(levels, name, missing)
    for text in texts:
        if not is_unicode(text):
            raise ValueError(
                f"column {name!r} has the level {text!r}, which UTF-8 cannot spell: rename it before the fit"
            )
    return text_codes(graph, texts, levels.unseen, cell, opset)


def _info(graph: Graph, name: str, dtype: Any, shape: Sequence[Any]) -> Any:
    kind = graph.onnx.TensorProto.STRING if dtype is object else graph.type_of(dtype)
    return graph.onnx.helper.make_tensor_value_info(name, kind, shape)
