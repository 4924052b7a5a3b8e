r"""A model as flat arrays of numbers and texts, for languages that read their constants from strings.

Matrices come in blocks: those of quantiles and cut-points share one, and classes have one each. The files of such
languages are templates with parts to fill in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.eigen.lazy import cached_property
from lambdak.export.formula import Formula, is_double
from lambdak.losses import Predicts
from lambdak.losses.links import CLOGLOG
from lambdak.model.readout import Family
from lambdak.table.cell_rules import CellRule, KnotRule, LevelRule, LineRule
from lambdak.table.column_contract import Column

CURVE, LINE, CATEGORY = range(3)


@final
@dataclass(frozen=True, eq=False)
class FlatModel:
    """Arrays of a formula; design columns are counted from zero, the constant."""

    formula: Formula

    @cached_property
    def blocks(self) -> list[NDArray[np.floating]]:
        """Return the matrices (members, design columns, D) of each block, as they are stored."""
        coefs = {id(family.coef): family.coef for family in self.formula.families}
        return [coef.astype(self.formula.model.stored_dtype) for coef in coefs.values()]

    @property
    def families(self) -> list[tuple[int, Family]]:
        """Return each family with the position of its block."""
        blocks = list(dict.fromkeys(id(family.coef) for family in self.formula.families))
        return [(blocks.index(id(family.coef)), family) for family in self.formula.families]

    @property
    def reads(self) -> NDArray[np.int32]:
        """Return block, family, eigenvalue and raw score, (reads, 4), family by family."""
        listed = [
            (block, position, index, output)
            for position, (block, family) in enumerate(self.families)
            for index, output in zip(family.indices, family.outputs, strict=True)
        ]
        return np.array(listed, np.int32)

    @property
    def constants(self) -> Float64Array:
        """Return the constants (families, members, D)."""
        return np.stack([family.constant for family in self.formula.families])

    @cached_property
    def _rules(self) -> list[tuple[list[int], list[float], Float64Array]]:
        return [_flat_rule(column.rule) for column in self.formula.columns]

    @property
    def whole(self) -> NDArray[np.int32]:
        """Return (columns, 8): kind, first, count, missing, unseen, clamp, whether it takes text and numbers."""
        return np.array([whole for whole, _, _ in self._rules], np.int32)

    @property
    def numbers(self) -> Float64Array:
        """Return (columns, 5): low, high, median, center, scale."""
        return np.array([numbers for _, numbers, _ in self._rules], np.float64)

    @property
    def knots(self) -> Float64Array:
        """Return the knots of all columns, one after another."""
        return np.concatenate([knots for _, _, knots in self._rules])

    @property
    def text_levels(self) -> list[tuple[int, str, int]]:
        """Return column, level and design column of all levels that are text."""
        return [(i, text, id_) for i, rule in self._level_rules for text, id_ in rule.texts]

    @property
    def number_levels(self) -> list[tuple[int, float, int]]:
        """Return column, level and design column of all levels that are numbers."""
        return [(i, float(level), id_) for i, rule in self._level_rules for level, id_ in rule.numbers]

    @property
    def links(self) -> list[str]:
        """Return the names of the templates that make up the inverse link."""
        loss = self.formula.model.loss
        if loss.predicts is Predicts.ORDERED_CLASSES:
            return ["logistic", "ordered_classes"]
        if loss.predicts is not Predicts.CLASSES:
            return ["limited", loss.link.name]
        if loss.link is CLOGLOG:
            return ["limited", "event"]
        return ["softmax"] if loss.link.joint else ["limited", "logistic", "two_classes"]

    @property
    def _level_rules(self) -> list[tuple[int, LevelRule]]:
        rules = ((i, column.rule) for i, column in enumerate(self.formula.columns))
        return [(i, rule) for i, rule in rules if isinstance(rule, LevelRule)]


def _flat_rule(rule: CellRule) -> tuple[list[int], list[float], Float64Array]:
    """Return the whole numbers, the numbers and the knots of one column."""
    match rule:
        case LevelRule():
            takes = [int(rule.take_text), int(rule.take_numbers or not rule.kinds)]
            whole = [CATEGORY, rule.start, len(rule.levels), rule.missing, rule.unseen, 0, *takes]
            return whole, [0.0, 0.0, 0.0, 0.0, 1.0], np.empty(0)
        case KnotRule():
            whole = [CURVE, rule.start, rule.n_entries, rule.missing, -1, int(rule.clamp), 0, 1]
            return whole, [rule.low, rule.high, rule.median, 0.0, 1.0], rule.knots
        case LineRule():
            whole = [LINE, rule.start, rule.n_entries, rule.missing, -1, int(rule.clamp), 0, 1]
            return whole, [rule.low, rule.high, rule.median, rule.center, rule.scale], np.empty(0)
        case unknown:
            assert_never(unknown)


def filled(text: str, parts: Mapping[str, object]) -> str:
    """Return a template with its parts, which are templates themselves; what stands for none of them stays.

    >>> filled("a = @scale@; // @author", {"scale": 2})
    'a = 2; // @author'
    """
    for _ in range(2):
        text = re.sub(r"@([a-z_]+)@", lambda match: str(parts.get(match[1], match[0])), text)
    return text


def check_levels(columns: Sequence[Column]) -> None:
    """Refuse levels that no double equals."""
    for column in columns:
        for level in column.known_levels:
            if isinstance(level, int) and not is_double(level):
                raise ValueError(
                    f"column {column.name!r} has the level {level}, which no double equals: convert the column to "
                    "strings before the fit"
                )
