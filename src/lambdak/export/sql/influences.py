"""Influences of columns on raw scores: vᵀ A_i' v of each pencil, as ``explain_local`` has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak.export.formula import Formula
from lambdak.export.sql.cells import Reading
from lambdak.export.sql.matrices import Pencils, matches
from lambdak.export.sql.script import PREFIX, Script, same, total
from lambdak.export.sql.vectors import add_outer_products, outer_name


def add_influences(script: Script, pencils: Pencils, readings: Sequence[Reading], carried: Sequence[str]) -> None:
    """Add the steps from eigenvalues to the influences i1, i2, … of each pencil, named after its columns."""
    add_outer_products(script, pencils.dim, [*carried, "y"])
    outer = [outer_name(i, j) for i in range(pencils.dim) for j in range(i + 1)]
    held = [*carried, "y", "twice"]
    cells = f"{PREFIX}cells"
    chosen = [name for reading in readings for name in _needed(reading)]
    script.select(
        "explained",
        {name: f"o.{name}" for name in [*held, *outer]} | same(chosen),
        source=f"{script.last} AS o LEFT JOIN {cells} AS c ON c.lambdak_row = o.lambdak_row",
    )
    for reading in readings:
        own, slopes = (np.flatnonzero(some.any(axis=(0, 1))).tolist() for some in pencils.at(reading))
        i, numeric = reading.position, reading.along() is not None
        own = [] if reading.column.is_number else own
        products = [f"{outer[e]} * {'s' if numeric else 'c'}{e}" for e in (slopes if numeric else own)]
        value = f"({script.dialect.settled(total(products))})" + (f" * g{i}" if numeric else "")
        chosen = [name for name in chosen if name not in _needed(reading)]
        join = f" LEFT JOIN {PREFIX}column_{i} ON {matches(pencils, reading)}"
        script.select(f"slope_{i}", same([*held, *outer, *chosen]) | {f"i{i}": value}, join=join)
        held = [*held, f"i{i}"]
    script.select("all_slopes", same(held), stored=True)  # DuckDB would copy all steps into each sum


def summed(formula: Formula, readings: Sequence[Reading]) -> dict[str, str]:
    """Sums over the pencils of each output that may be explained."""
    sums = {}
    for output in explained_outputs(formula):
        mine = "" if formula.n_outputs == 1 else f"output = {output} AND "
        sums[f"twice_{output}"] = f"MAX(CASE WHEN {mine}twice = 1 THEN 1 ELSE 0 END)"
        for i in (reading.position for reading in readings):
            own = f"weight * i{i}" if not mine else f"CASE WHEN output = {output} THEN weight * i{i} ELSE 0 END"
            sums[f"i{i}_{output}"] = f"SUM({own})"
    return sums


def chosen_output(script: Script, formula: Formula, readings: Sequence[Reading], carried: Sequence[str]) -> None:
    """Add the step to the influences on the output that is explained: the predicted class, or the middle one.

    i0 is that of a column without effect: 0, or NULL where the eigenvalue is repeated, as of all others.
    """
    raw, outputs = [f"r{i}" for i in range(formula.n_outputs)], explained_outputs(formula)
    rules = [" AND ".join(f"{raw[o]} >= {other}" for other in raw if other != raw[o]) for o in outputs[:-1]]
    columns = same([*carried, *raw])
    for i in (0, *(reading.position for reading in readings)):
        values = [
            f"CASE WHEN twice_{o} = 0 THEN {f'i{i}_{o}' if i else script.dialect.number(0.0)} END" for o in outputs
        ]
        cases = " ".join(f"WHEN {rule} THEN {value}" for rule, value in zip(rules, values, strict=False))
        columns[f"i{i}"] = f"CASE {cases} ELSE {values[-1]} END" if cases else values[-1]
    script.select("slopes", columns)


def explained_outputs(formula: Formula) -> list[int]:
    """The outputs that may be explained: of several classes all, of others the middle one."""
    count = formula.n_outputs
    return list(range(count)) if formula.model.loss.link.joint else [count // 2]


def _needed(reading: Reading) -> list[str]:
    i = reading.position
    return [f"k{i}"] if reading.along() is None else [f"k{i}", f"g{i}"]
