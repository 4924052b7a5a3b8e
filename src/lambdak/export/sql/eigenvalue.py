"""From A(row) to raw scores: the eigenvalue of each pencil in closed form or by bisection, then their weighted sum."""

from __future__ import annotations

from collections.abc import Sequence

from lambdak.export.formula import Formula
from lambdak.export.sql.bisection import bisect
from lambdak.export.sql.cells import Reading
from lambdak.export.sql.influences import add_influences, chosen_output, summed
from lambdak.export.sql.matrices import ROW, Pencils, assemble
from lambdak.export.sql.script import Script, same
from lambdak.export.sql.tridiagonal import reduce
from lambdak.export.sql.vectors import kept


def add_scores(
    script: Script, formula: Formula, readings: Sequence[Reading], offsets: Sequence[str], explain: bool
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
        own = "weight * y" if formula.n_outputs == 1 else f"CASE WHEN output = {i} THEN weight * y ELSE 0 END"
        sums[f"r{i}"] = f"{script.dialect.number(float(start))} + SUM({own})"
    return sums


def _closed_form(script: Script, place: str, carried: Sequence[str]) -> None:
    """(a + c) / 2 ± √(((a − c) / 2)² + b²)."""
    half = "(a0_0 - a1_1) / 2"
    root = f"sqrt({half} * ({half}) + a1_0 * a1_0)"
    value = f"(a0_0 + a1_1) / 2 + CASE WHEN {place} = 0 THEN -{root} ELSE {root} END"
    script.select("eigenvalue", same(carried) | {"y": value})
