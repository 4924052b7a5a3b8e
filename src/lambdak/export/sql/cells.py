"""From the cells of a row to what they select: the level or the piece of a column, and how far along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never, final

from lambdak.export.formula import is_double
from lambdak.export.sql.dialects import TABLE, Dialect
from lambdak.export.sql.script import Script
from lambdak.table.category_levels import Kind
from lambdak.table.cell_rules import NOTHING, CellRule, KnotRule, LevelRule, LineRule, NumberRule
from lambdak.table.cells import LARGEST
from lambdak.table.column_contract import Column

MOST_CASES = 50  # levels up to which a CASE tells them apart; more are looked up in a table
_MOST_PIECES = 32  # the same of pieces; more are halved first
_FAR = 1e100  # ranges from the training range: beyond this all numbers count as this far
NEAR = 1e-60  # of a range or of the largest matrix: nothing smaller counts


@final
@dataclass(frozen=True)
class ColumnReading:
    """One column of the model in the query, where its cell is called x followed by its position."""

    column: Column
    position: int
    dialect: Dialect

    @property
    def x(self) -> str:
        """The cell: a number, text, or NULL if it is missing."""
        return f"x{self.position}"

    @property
    def x_number(self) -> str:
        """The cell if it is a number, where a category has levels of both kinds."""
        return f"n{self.position}"

    @property
    def rule(self) -> CellRule:
        """How its cells select design columns."""
        return self.column.rule

    # ---- reading -----------------------------------------------------------------------------------------------

    def read(self) -> dict[str, str]:
        """The cell, read from a row of the table."""
        cell = f"{TABLE}.{self.dialect.name(self.column.name)}"
        if isinstance(self.rule, NumberRule):
            may_be_boolean = {*self._nodes} <= {0.0, 1.0}
            return {self.x: (self.dialect.boolean_cell if may_be_boolean else self.dialect.number_cell)(cell)}
        levels = self.levels
        if levels.take_numbers and levels.take_text:
            number, text = self.dialect.mixed_cell(cell)
            return {self.x: text} | ({} if number == "NULL" else {self.x_number: number})
        if levels.take_text or self._numbers_as_text:
            return {self.x: self.dialect.text_cell(cell)}
        boolean = Kind.BOOLEAN in levels.kinds
        return {self.x: (self.dialect.boolean_cell if boolean else self.dialect.number_cell)(cell)}

    @property
    def _nodes(self) -> list[float]:
        """The numbers between which the column is straight."""
        match self.rule:
            case KnotRule() as rule:
                return list(map(float, rule.knots))
            case LineRule() as rule:
                return [rule.low, rule.high]
            case LevelRule():
                return []
            case unknown:
                assert_never(unknown)

    def settle(self) -> str:
        """A number within its range, with what replaces a missing one; a level as it is."""
        rule, say = self.rule, self.dialect.number
        if isinstance(rule, LevelRule):
            return self.x
        span = _span(rule)
        far = 0.0 if rule.clamp else _FAR * span
        low, high = max(rule.low - far, -LARGEST), min(rule.high + far, LARGEST)
        near = f" WHEN abs({self.x}) < {say(NEAR * span)} THEN {say(0.0)}" if self.dialect.fails_at_ends else ""
        within = f"CASE WHEN {self.x} < {say(low)} THEN {say(low)} WHEN {self.x} > {say(high)} THEN {say(high)}{near}"
        other = self.x if rule.has_missing else f"COALESCE({self.x}, {say(rule.median)})"
        return f"{within} ELSE {other} END"

    # ---- choosing ----------------------------------------------------------------------------------------------

    @property
    def levels(self) -> LevelRule:
        """Levels of the category, and the design columns that they add."""
        assert isinstance(self.rule, LevelRule)
        return self.rule

    @property
    def _numbers_as_text(self) -> bool:
        """Whether numbers are so large that a double cannot tell them apart."""
        return any(isinstance(number, int) and not is_double(number) for number, _ in self.levels.numbers)

    @property
    def positions(self) -> list[int]:
        """The design column of each choice: pieces or levels, then "missing"; :data:`NOTHING` for none."""
        match self.rule:
            case LevelRule() as rule:
                rest = [NOTHING] if NOTHING in (rule.missing, rule.unseen) else []
                return [*range(rule.start, rule.stop), *rest]
            case LineRule() | KnotRule() as rule:
                missing = [rule.missing] if rule.has_missing else []
                return [*range(rule.start, rule.start + n_pieces(rule)), *missing]
            case unknown:
                assert_never(unknown)

    def choose(self, script: Script, results: Sequence[Sequence[str]]) -> tuple[list[str], str]:
        """Expressions that choose among ``results``, one for each position, and the join that they need."""
        if isinstance(self.rule, LevelRule):
            return self._choose_level(script, results)
        return [self._choose_piece(each) for each in results], ""

    def _choose_piece(self, values: Sequence[str]) -> str:
        rule = self.rule
        assert isinstance(rule, LineRule | KnotRule)
        pieces = n_pieces(rule)
        cuts = [self.dialect.number(knot) for knot in self._nodes[1:-1]]
        chosen = halved(self.x, cuts, values[:pieces])
        return f"CASE WHEN {self.x} IS NULL THEN {values[pieces]} ELSE {chosen} END" if rule.has_missing else chosen

    def along(self) -> list[str] | None:
        """How far along each piece the number is, 0 to 1 within it; None for a column without slope."""
        rule = self.rule
        if isinstance(rule, LevelRule) or not len(rule.lengths()):
            return None
        lows = rule.knots.tolist() if isinstance(rule, KnotRule) else [rule.center]
        steps = [self._share(low, length) for low, length in zip(lows, rule.lengths().tolist(), strict=False)]
        return [*steps, self.dialect.number(0.0)] if rule.has_missing else steps

    def moves(self) -> str:
        """1 where a small change of the number has an effect, else 0: known only before :meth:`settle`."""
        rule, say = self.rule, self.dialect.number
        assert isinstance(rule, NumberRule)
        if not rule.clamp:
            return f"CASE WHEN {self.x} IS NULL THEN 0 ELSE 1 END"
        if rule.low == rule.high:
            return "0"
        return f"CASE WHEN {self.x} >= {say(rule.low)} AND {self.x} <= {say(rule.high)} THEN 1 ELSE 0 END"

    def rate(self) -> str:
        """How fast the share of :meth:`along` grows with the number."""
        rule = self.rule
        assert isinstance(rule, LineRule | KnotRule)
        rates = [min(1 / length, 1e300) for length in rule.lengths().tolist()]
        rates = [*rates, 0.0] if rule.has_missing else rates
        return f"g{self.position} * {self._choose_piece([*map(self.dialect.number, rates)])}"

    def _share(self, low: float, length: float) -> str:
        assert isinstance(self.rule, LineRule | KnotRule)
        low = 0.0 if abs(low) < NEAR * _span(self.rule) else low
        return f"({self.x} - {self.dialect.number(low)}) / {self.dialect.number(length)}"

    def _choose_level(self, script: Script, results: Sequence[Sequence[str]]) -> tuple[list[str], str]:
        levels, start = self.levels, self.levels.start
        place = {id_: i for i, id_ in enumerate(self.positions)}
        missing, unseen = place[levels.missing], place[levels.unseen]
        entries = [*self._texts(), *self._numbers()]
        if len(entries) > MOST_CASES:
            return self._look_up(script, results, entries, missing, unseen)
        chosen = []
        for values in results:
            cases = [f"WHEN {x} = {literal} THEN {values[id_ - start]}" for x, literal, id_ in entries]
            cases.insert(0, f"WHEN {self._absent} THEN {values[missing]}")
            chosen.append(f"CASE {' '.join(cases)} ELSE {values[unseen]} END")
        return chosen, ""

    def _look_up(
        self,
        script: Script,
        results: Sequence[Sequence[str]],
        entries: Sequence[tuple[str, str, int]],
        missing: int,
        unseen: int,
    ) -> tuple[list[str], str]:
        """Expressions that choose among ``results`` by the level, and the joins of tables for text and for numbers."""
        start, i, joins = self.levels.start, self.position, ""
        found: list[list[str]] = [[] for _ in results]
        for x in dict.fromkeys(x for x, _, _ in entries):
            names = [f"{x}_{r}" for r in range(len(results))]
            pairs = [(literal, id_ - start) for each, literal, id_ in entries if each == x]
            rows = ([literal, *(values[place] for values in results)] for literal, place in pairs)
            table = script.values(f"levels_{i}_{x[0]}", [f"{x}_level", *names], rows)
            joins += f"\n  LEFT JOIN {table} ON {x}_level = {x}"
            for each, name in zip(found, names, strict=True):
                each.append(name)
        chosen = []
        for values, column in zip(results, found, strict=True):
            known = ", ".join([*column, values[unseen]])
            chosen.append(f"CASE WHEN {self._absent} THEN {values[missing]} ELSE COALESCE({known}) END")
        return chosen, joins

    @property
    def _absent(self) -> str:
        both = self.x_number in self.read()
        return f"{self.x} IS NULL AND {self.x_number} IS NULL" if both else f"{self.x} IS NULL"

    def _texts(self) -> list[tuple[str, str, int]]:
        return [(self.x, self.dialect.text(text), id_) for text, id_ in self.levels.texts]

    def _numbers(self) -> list[tuple[str, str, int]]:
        """Levels that are numbers; as text, where the cell is text."""
        levels = self.levels
        if self.x_number in self.read():
            return [(self.x_number, self.dialect.number(number), id_) for number, id_ in levels.numbers]
        if not levels.take_text and not self._numbers_as_text:
            return [(self.x, self.dialect.number(number), id_) for number, id_ in levels.numbers]
        known = {text for text, _ in levels.texts}
        for number, _ in levels.numbers:
            if str(number) in known or (self._numbers_as_text and isinstance(number, float)):
                raise self._alike(f"the level {number!r}")
        if Kind.LOOK_ALIKE in levels.kinds:
            raise self._alike("a level, kept or pooled,")
        return [(self.x, self.dialect.text(str(number)), id_) for number, id_ in levels.numbers]

    def _alike(self, what: str) -> ValueError:
        return ValueError(
            f"column {self.column.name!r} has {what} beside others that {self.dialect.title} cannot tell from it in "
            "one column: convert its levels to strings before the fit"
        )


def halved(x: str, cuts: Sequence[str], values: Sequence[str]) -> str:
    """values[i] for the i-th of the pieces between ``cuts``; of many, the right half is found first."""
    if len(values) > _MOST_PIECES:
        middle = len(values) // 2
        low, high = halved(x, cuts[: middle - 1], values[:middle]), halved(x, cuts[middle:], values[middle:])
        return f"CASE WHEN {x} < {cuts[middle - 1]} THEN {low} ELSE {high} END"
    if len(values) == 1:
        return values[0]
    cases = " ".join(f"WHEN {x} < {cut} THEN {value}" for cut, value in zip(cuts, values, strict=False))
    return f"CASE {cases} ELSE {values[-1]} END"


def readings(columns: Sequence[Column], dialect: Dialect, used: Callable[[Column], bool]) -> list[ColumnReading]:
    """The columns that matter, counted from 1."""
    return [ColumnReading(column, i, dialect) for i, column in enumerate(columns, 1) if used(column)]


def n_pieces(rule: LineRule | KnotRule) -> int:
    """Choices among the numbers of a column: the pieces of a curve, or one."""
    return max(rule.n_pieces, 1) if isinstance(rule, KnotRule) else 1


def _span(rule: LineRule | KnotRule) -> float:
    """The size of a column's numbers that its weights are relative to."""
    return rule.scale if isinstance(rule, LineRule) else (rule.high - rule.low) or 1.0
