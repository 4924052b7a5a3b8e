r"""The numbers of a model as C: matrices side by side in lanes, constants, and the rules for the cells of a column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.packing import packed_size
from lambdak.export.c.names import literal
from lambdak.export.formula import Formula
from lambdak.table.cell_rules import CellRule, KnotRule, LevelRule, LineRule, NumberRule

_PER_LINE = 8
_MOST_LANES = 4  # two vector registers where they hold two numbers, which every 64-bit machine has


@final
@dataclass(frozen=True, eq=False)
class MatrixLanes:
    """How the matrices of a model are worked on: ``lanes`` of them side by side, block by block and member by member.

    Classes have a block of matrices each. Quantiles and cut-points share one, and differ by constants: their layers.
    """

    formula: Formula
    blocks: int
    members: int

    @classmethod
    def of(cls, formula: Formula) -> MatrixLanes:
        """Layout of the matrices of a model."""
        coefs = {id(family.coef) for family in formula.families}
        return cls(formula, len(coefs), len(formula.model.weights))

    @property
    def lanes(self) -> int:
        """Matrices side by side: 1, 2 or 4."""
        most = self.blocks * self.members
        return most if most <= 2 else _MOST_LANES

    @property
    def groups(self) -> int:
        """Turns that the matrices of a row take."""
        return -(-self.blocks * self.members // self.lanes)

    @property
    def layers(self) -> int:
        """Families of the same block."""
        return len(self.formula.families) // self.blocks

    @property
    def size(self) -> int:
        """Packed coordinates of a matrix."""
        return packed_size(self.formula.model.dim)

    @property
    def width(self) -> int:
        """Numbers of a design column: the coordinates of all lanes, and zeros up to a multiple of four."""
        return -(-self.size * self.lanes // 4) * 4

    def matrices(self) -> Float64Array:
        """(groups, design columns, width), without the constant."""
        families = self.formula.families[:: self.layers]
        return self._in_lanes(np.concatenate([family.coef[:, 1:] for family in families]))

    def constants(self) -> Float64Array:
        """(layers, groups, width)."""
        families = self.formula.families
        layers = (
            np.concatenate([family.constant for family in families[i :: self.layers]]) for i in range(self.layers)
        )
        return np.stack([self._in_lanes(layer) for layer in layers])

    def reads(self) -> list[list[tuple[int, int]]]:
        """Eigenvalue and raw score of each layer; with several blocks, the raw score of the first."""
        families = self.formula.families[: self.layers]
        return [list(zip(family.indices, family.outputs, strict=True)) for family in families]

    def _in_lanes(self, stacked: Float64Array) -> Float64Array:
        """(groups, …, width) from (matrices, …, size): the lanes of an entry are neighbours; the rest is zero."""
        in_lanes = np.zeros((self.groups * self.lanes, *stacked.shape[1:]))
        in_lanes[: len(stacked)] = stacked
        lanes = np.moveaxis(in_lanes.reshape(self.groups, self.lanes, *stacked.shape[1:]), 1, -1)
        padded = np.zeros((*lanes.shape[:-2], self.width))
        padded[..., : self.size * self.lanes] = lanes.reshape(*lanes.shape[:-2], -1)
        return padded


def tables(formula: Formula, layout: MatrixLanes) -> str:
    """All constant arrays of the C file."""
    stored = formula.model.stored_dtype
    matrices, constants, reads = layout.matrices(), layout.constants(), layout.reads()
    first_read = np.cumsum([0, *map(len, reads)]).tolist()
    listed = (
        f"  {{{index}, {output}, {_expected(index, formula.model.dim)!r}}}"
        for pairs in reads
        for index, output in pairs
    )
    return "\n\n".join([
        _array(f"stored matrices[GROUPS][{matrices.shape[1]} * WIDTH]",
               [_numbers(group.ravel().astype(stored)) for group in matrices]),
        _array("double constants[LAYERS][GROUPS][WIDTH]",
               [f"{{{_joined(_numbers(group.ravel()) for group in layer)}}}" for layer in constants]),
        f"static const eigenvalue reads[] = {{\n{_joined(listed)}}};",
        f"static const int first_read[LAYERS + 1] = {{{', '.join(map(str, first_read))}}};",
        f"static const double weights[MEMBERS] = {_numbers(formula.model.weights)};",
        f"static const double start[OUTPUTS] = {_numbers(formula.model.start)};",
        *_columns(formula),
    ])  # fmt: skip


def level_codes(rule: LevelRule) -> tuple[list[tuple[float, int]], list[tuple[str, int]]]:
    """Levels that are numbers and levels that are text, both in the order that they are searched in, with codes."""
    numbers = sorted((float(level), id_ - rule.start) for level, id_ in rule.numbers)
    texts = sorted((text, id_ - rule.start) for text, id_ in rule.texts)
    return numbers, texts


def _columns(formula: Formula) -> list[str]:
    """Knots and levels of all columns, and the list of them."""
    parts: list[str] = []
    rules = (f"  {{{_rule(column.rule, i, parts)}}}" for i, column in enumerate(formula.columns))
    listed = f"static const column columns[COLUMNS] = {{\n{_joined(rules)}}};"
    return [*parts, listed]


def _rule(rule: CellRule, i: int, parts: list[str]) -> str:
    """The fields of column ``i``; the arrays that it points at are added to ``parts``."""
    match rule:
        case LevelRule():
            return _level_rule(rule, i, parts)
        case KnotRule():
            parts.append(f"static const double knots_{i}[] = {_numbers(rule.knots)};")
            return _number_rule("CURVE", rule, 0.0, 1.0, f"knots_{i}")
        case LineRule():
            return _number_rule("LINE", rule, rule.center, rule.scale, "NULL")
        case unknown:
            assert_never(unknown)


def _number_rule(kind: str, rule: NumberRule, center: float, scale: float, knots: str) -> str:
    missing = rule.missing - 1 if rule.has_missing else -1
    whole = (rule.start - 1, rule.n_entries, missing, -1, int(rule.clamp))
    numbers = (rule.low, rule.high, rule.median, center, scale)
    cells = [kind, *map(str, whole), *map(repr, map(float, numbers)), knots]
    return f"{', '.join(cells)}, 0, 0, NULL, NULL, NULL, NULL"


def _level_rule(rule: LevelRule, i: int, parts: list[str]) -> str:
    numbers, texts = level_codes(rule)
    pointers = ["NULL"] * 4
    if texts:
        parts.append(f"static const char *const text_{i}[] = {_lines(literal(text) for text, _ in texts)};")
        parts.append(f"static const int text_code_{i}[] = {_lines(str(code) for _, code in texts)};")
        pointers[:2] = f"text_{i}", f"text_code_{i}"
    if numbers:
        parts.append(f"static const double number_{i}[] = {_numbers([number for number, _ in numbers])};")
        parts.append(f"static const int number_code_{i}[] = {_lines(str(code) for _, code in numbers)};")
        pointers[2:] = f"number_{i}", f"number_code_{i}"
    matrices = [id_ - 1 if id_ > 0 else -1 for id_ in (rule.missing, rule.unseen)]
    whole = ", ".join(map(str, [rule.start - 1, len(rule.levels), *matrices, 0]))
    return f"CATEGORY, {whole}, 0, 0, 0, 0, 1, NULL, {len(texts)}, {len(numbers)}, {', '.join(pointers)}"


def _array(declared: str, items: Sequence[str]) -> str:
    return f"static const {declared} = {{{_joined(items)}}};"


def _joined(items: Iterable[str]) -> str:
    return ",\n".join(items)


def _numbers(values: NDArray[Any] | Sequence[float]) -> str:
    """Numbers in braces, each with as many digits as give the same number back."""
    single = getattr(values, "dtype", None) == np.float32
    return _lines(map(_single if single else _double, np.asarray(values).tolist()))


def _double(x: float) -> str:
    if math.isinf(x):  # only levels
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(x) if x else "0"


def _single(x: float) -> str:
    text = f"{x:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f" if x else "0"


def _lines(items: Iterable[str]) -> str:
    """Items in braces, some on each line."""
    listed = list(items)
    lines = (", ".join(listed[i : i + _PER_LINE]) for i in range(0, len(listed), _PER_LINE))
    return f"{{{_joined(lines)}}}"


def _expected(index: int, dim: int) -> float:
    """Where eigenvalue ``index`` of a random matrix is, in standard deviations of all of them.

    Quantile (index + 1/2) / dim of the semicircle law, whose radius is 2.
    """
    low, high = -1.0, 1.0
    for _ in range(30):
        s = 0.5 * (low + high)
        if 0.5 + (s * math.sqrt(1 - s * s) + math.asin(s)) / math.pi < (index + 0.5) / dim:
            low = s
        else:
            high = s
    return low + high
