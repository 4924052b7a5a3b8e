"""Cells of a category as design columns: which one a cell adds, or :data:`~lambdak.table.cell_rules.NOTHING`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lambdak.export.formula import is_double
from lambdak.export.onnx.graph import Graph, Value
from lambdak.table.category_levels import Kind
from lambdak.table.cell_rules import LevelRule

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
    own = graph.whole(np.append(np.array(ids)[order], np.full(len(padded) - len(ids), unseen))).take(place)
    return graph.where(graph("Equal", table.take(place), cells), own, graph.whole([unseen]))


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
