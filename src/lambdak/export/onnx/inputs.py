"""The inputs of a graph, and levels as design columns.

The inputs of a graph: one for each column, by its name, or one matrix of numbers.

Cells of a category as design columns: which one a cell adds, or :data:`~lambdak.table.cell_rules.NOTHING`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.export.formula import Formula, is_double
from lambdak.export.onnx.graph import Graph, Value
from lambdak.table.category_levels import Kind
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
    numbers = [cell for cell, listed in zip(cells, levels, strict=True) if listed is None]
    codes = [
        _codes(graph, listed, cell, column.name, missing, opset)
        for cell, listed, column in zip(cells, levels, formula.columns, strict=True)
        if listed is not None
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


ML_DOMAIN = "ai.onnx.ml"
ONE_BY_ONE = 32  # levels up to which a cell is compared with all of them; beyond, they are searched
TEXT_EQUALITY = 19  # the operator set in which text can be compared


def spelled(levels: LevelRule, name: str, missing: str | None) -> dict[str, int]:
    """Design columns by text; numbers among text are spelled as Python does, 1 or 2.5, and booleans are 1 and 0."""
    texts = dict(levels.texts)
    if Kind.LOOK_ALIKE in levels.kinds:
        raise ValueError(
            f"column {name!r} must not have a number and a text that look alike, as ONNX is given both as text; one of "
            "them is pooled: rename such cells before the fit"
        )
    for number, id_ in levels.numbers:
        if repr(number) in texts:
            raise ValueError(
                f"column {name!r} must not have a number and a text that look alike, as ONNX is given both as text; "
                f"got the levels {number!r} and {repr(number)!r}: rename one of them before the fit"
            )
        texts[repr(number)] = id_
    if missing is None:
        return texts
    if missing in texts:
        raise ValueError(
            f"missing must be a text that is no level; got {missing!r}, a level of column {name!r}: pass another text, "
            "such as missing='(missing)', or missing=None if no cell is missing"
        )
    return texts | {missing: levels.missing}


def text_codes(graph: Graph, texts: dict[str, int], unseen: int, cells: Value, opset: int) -> Value:
    """Design columns (rows, 1) of text (rows, 1)."""
    if len(texts) > ONE_BY_ONE or opset < TEXT_EQUALITY:
        return graph(
            "LabelEncoder", cells, domain=ML_DOMAIN, keys_strings=list(texts), values_int64s=list(texts.values()),
            default_int64=unseen,
        )  # fmt: skip
    if not texts:
        return graph.where(graph("Equal", cells, graph.texts([""])), graph.whole([unseen]), graph.whole([unseen]))
    return _matched(graph, graph("Equal", cells, graph.texts(list(texts))), list(texts.values()), unseen)


def number_codes(graph: Graph, levels: LevelRule, cells: Value, name: str) -> Value:
    """Design columns (rows, 1) of numbers (rows, 1), NaN where one is missing."""
    numbers, ids = _held(levels, name, graph.dtype)
    if not ids:
        codes = graph.whole([levels.unseen])
    elif len(numbers) <= ONE_BY_ONE:
        codes = _matched(graph, graph("Equal", cells, graph.number(numbers)), ids, levels.unseen)
    else:
        codes = _searched(graph, numbers, ids, levels.unseen, cells)
    return graph.where(graph("IsNaN", cells), graph.whole([levels.missing]), codes)


def _matched(graph: Graph, equal: Value, ids: list[int], unseen: int) -> Value:
    """From comparisons (rows, levels), of which at most one is true."""
    found = graph.where(equal, graph.whole(np.array(ids) - unseen), graph.whole([0]))
    return found.reduce("Sum", 1) + graph.whole([unseen])


def _searched(graph: Graph, numbers: Any, ids: list[int], unseen: int, cells: Value) -> Value:
    """Design columns (rows, 1) of numbers, by halving: a table would be as long as the numbers are large."""
    order = np.argsort(numbers)
    steps = int(np.ceil(np.log2(len(numbers))))
    padded = np.full(1 << steps, np.inf)
    padded[: len(numbers)] = np.asarray(numbers)[order]
    table = graph.number(padded)
    place = graph.where(graph("IsNaN", cells), graph.whole([0]), graph.whole([0]))  # (rows, 1)
    for step in reversed(range(steps)):
        ahead = place + graph.whole([1 << step])
        place = graph.where(graph("LessOrEqual", table.take(ahead), cells), ahead, place)
    sorted_ids = graph.whole(np.append(np.array(ids)[order], np.full(len(padded) - len(ids), unseen))).take(place)
    return graph.where(graph("Equal", table.take(place), cells), sorted_ids, graph.whole([unseen]))


def _held(levels: LevelRule, name: str, dtype: np.dtype[np.floating]) -> tuple[Any, list[int]]:
    """Numbers as the type holds them, and their design columns."""
    whole = [number for number, _ in levels.numbers if not is_double(number)]
    with np.errstate(over="ignore"):
        numbers = np.array([] if whole else [float(number) for number, _ in levels.numbers]).astype(dtype)
    if whole or len(set(numbers.tolist())) < len(numbers) or not np.isfinite(numbers).all():
        what = f"such as {whole[0]!r}" if whole else "which are too close or too large"
        raise ValueError(
            f"column {name!r} has levels that {dtype} does not hold apart, {what}: make them text before the fit"
            + ("" if whole or dtype == np.float64 else ", or export with dtype='float64'")
        )
    return numbers, [id_ for _, id_ in levels.numbers]
