"""Raw scores in SQL.

Matrices of one row, which are numbers: a raw score is the sum of an effect of each column, in plain arithmetic.

From A(row) to raw scores: the eigenvalue of each pencil in closed form or by bisection, then their weighted sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np

from lambdak._types import Float64Array
from lambdak.export.formula import Formula
from lambdak.export.sql.cells import NEAR, ColumnReading, readings
from lambdak.export.sql.influences import add_influences, chosen_output, explained_outputs, kept, summed
from lambdak.export.sql.matrices import ROW, Pencils, assemble
from lambdak.export.sql.script import Script, same, total
from lambdak.export.sql.tridiagonal import bisect, reduce
from lambdak.table.cell_rules import NOTHING, KnotRule, LevelRule, LineRule
from lambdak.table.column_contract import Column
from lambdak.table.visible import visible


def add_effects(script: Script, formula: Formula, carried: Sequence[str], explain: bool) -> None:
    """Add the steps from cells to the raw scores, r0 and so on, and to the influences of columns."""
    sets = {id(family.coef): i for i, family in enumerate(formula.families)}
    effects = {sets[id(family.coef)]: _effects(formula, family.coef) for family in formula.families}
    columns, joins, notes = same(carried), "", {}
    terms: dict[int, list[str]] = {i: [] for i in effects}
    own_readings = used_readings(script, formula)
    for reading in own_readings:
        names = [f"f{reading.position}_{i}" for i in effects]
        chosen, join = reading.choose(script, [choices(reading, effect) for effect in effects.values()])
        columns |= dict(zip(names, chosen, strict=True))
        notes[names[0]] = f"what column {visible(repr(reading.column.name))} adds"
        joins += join
        for i, name in zip(effects, names, strict=True):
            terms[i].append(name)
    slopes = _slopes(script, formula, own_readings, effects, sets, columns) if explain else {}
    script.select("effects", columns | slopes, join=joins, notes=notes)
    say, model, raw = script.dialect.number, formula.model, {}
    for family in formula.families:
        constant = model.scale * float(model.weights @ family.constant[:, 0])
        for output in family.outputs:
            start = say(float(model.start[output]) + constant)
            raw[f"r{output}"] = total([start, *terms[sets[id(family.coef)]]])
    in_order = {f"r{i}": raw[f"r{i}"] for i in range(formula.n_outputs)}
    script.select("raw", same([*carried, *slopes]) | in_order)
    if explain:
        chosen_output(script, formula, own_readings, carried)


def _slopes(
    script: Script,
    formula: Formula,
    own_readings: Sequence[ColumnReading],
    effects: dict[int, Float64Array],
    sets: dict[int, int],
    adds: dict[str, str],
) -> dict[str, str]:
    """How fast the raw score of each output that may be explained grows with each column; what a level adds."""
    of = {output: sets[id(family.coef)] for family in formula.families for output in family.outputs}
    columns = {}
    for output in explained_outputs(formula):
        columns[f"twice_{output}"] = "0"
        for reading in own_readings:
            effect, name = effects[of[output]], f"i{reading.position}_{output}"
            added = adds[f"f{reading.position}_{of[output]}"]
            columns[name] = _slope(script, reading, effect) if reading.column.is_number else added
    return columns


def _slope(script: Script, reading: ColumnReading, effect: Float64Array) -> str:
    rule, say = reading.rule, script.dialect.number
    if isinstance(rule, LevelRule) or reading.along() is None:
        return say(0.0)
    ends = effect[rule.start : rule.start + rule.n_entries]
    rises = ends if isinstance(rule, LineRule) else np.diff(ends)
    rates = [*map(say, np.clip(rises / rule.lengths(), -1e300, 1e300).tolist())]
    chosen, _ = reading.choose(script, [[*rates, say(0.0)][: len(reading.positions)]])
    return f"g{reading.position} * {chosen[0]}"


def used_readings(script: Script, formula: Formula) -> list[ColumnReading]:
    """The columns that have an effect."""

    def matters(column: Column) -> bool:
        return any(family.coef[:, column.start : column.stop].any() for family in formula.families)

    return readings(formula.columns, script.dialect, matters)


def choices(reading: ColumnReading, effect: Float64Array) -> list[str]:
    """The effect of each piece or level, where ``own`` are the effects of design columns (P,)."""
    say, along = reading.dialect.number, reading.along() or []
    values = [0.0 if id_ == NOTHING else float(effect[id_]) for id_ in reading.positions]
    match reading.rule:
        case LineRule():
            pieces = [f"{say(values[0])} * ({along[0]})"]
        case KnotRule() as rule:
            slopes = np.diff(effect[rule.start : rule.start + rule.n_entries]).tolist()
            pieces = [
                say(value) if not slope else f"{say(value)} + {say(slope)} * ({share})"
                for value, slope, share in zip(values, slopes, along, strict=False)
            ]
        case LevelRule():
            pieces = []
        case unknown:
            assert_never(unknown)
    return [*pieces, *map(say, values[len(pieces) :])]


def _effects(formula: Formula, coef: Float64Array) -> Float64Array:
    """What each design column adds to a raw score, (P,); nothing so small that its products would underflow."""
    effects = formula.model.scale * np.tensordot(formula.model.weights, coef[..., 0], 1)
    return np.where(np.abs(effects) < NEAR * np.abs(effects).max(initial=0.0), 0.0, effects)


def add_scores(
    script: Script, formula: Formula, readings: Sequence[ColumnReading], offsets: Sequence[str], explain: bool
) -> None:
    """Add the steps from cells to the raw scores r0, r1, … of each row, and to the influences of its columns."""
    pencils = Pencils.of(formula)
    assemble(script, pencils, readings, offsets, explain)
    place = "place" if pencils.one_index is None else str(pencils.one_index)
    carried = [*pencils.carried, *offsets, *(["block"] if explain else [])]
    if pencils.dim == 2 and not explain:
        _closed_form(script, place, carried)
    else:
        reduce(script, pencils.dim, carried, explain)
        bisect(script, pencils.dim, place, [*carried, *(kept(pencils.dim) if explain else [])], explain)
    sums = _sums(script, formula) | {name: f"MIN({name})" for name in offsets}
    if explain:
        add_influences(script, pencils, readings, carried)
        sums |= summed(formula, readings)
    script.select("raw", same(ROW[:1]) | sums, end="\n  GROUP BY lambdak_row")
    if explain:
        chosen_output(script, formula, readings, ["lambdak_row", *offsets])


def _sums(script: Script, formula: Formula) -> dict[str, str]:
    sums = {}
    for i, start in enumerate(formula.model.start):
        term = "weight * y" if formula.n_outputs == 1 else f"CASE WHEN output = {i} THEN weight * y ELSE 0 END"
        sums[f"r{i}"] = f"{script.dialect.number(float(start))} + SUM({term})"
    return sums


def _closed_form(script: Script, place: str, carried: Sequence[str]) -> None:
    """(a + c) / 2 ± √(((a − c) / 2)² + b²)."""
    half = "(a0_0 - a1_1) / 2"
    root = f"sqrt({half} * ({half}) + a1_0 * a1_0)"
    value = f"(a0_0 + a1_1) / 2 + CASE WHEN {place} = 0 THEN -{root} ELSE {root} END"
    script.select("eigenvalue", same(carried) | {"y": value})
