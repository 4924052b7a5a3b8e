r"""Eigenvectors in SQL, and the influences that follow from them.

The eigenvector of each pencil: of T by a twisted factorisation, then reflected back; and v vᵀ.

With pivots f of T − λ from the top and g from the bottom, v is 1 where |f_i + g_i − (d_i − λ)| is least, and its other
entries follow from there: v_i = −(o_i / f_i) v_{i+1} upwards and v_i = −(o_{i−1} / g_i) v_{i−1} downwards.

Influences of columns on raw scores: vᵀ A_i' v of each pencil, as ``explain_local`` has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lambdak.export.formula import Formula
from lambdak.export.sql.cells import ColumnReading
from lambdak.export.sql.matrices import Pencils, entry, matches
from lambdak.export.sql.script import PREFIX, Script, same, total
from lambdak.export.sql.tridiagonal import AT_ONCE, ROUNDS, pivots, pivots_below
from lambdak.pencil import REPEATED_TOL

_LEAST_PIVOT = "1e-100"


def add_outer_products(script: Script, dim: int, carried: Sequence[str]) -> None:
    """Add the steps to u0_0, u1_0, …: what entries of a matrix are multiplied with for vᵀ A v; and ``twice``.

    ``twice`` is 1 where the eigenvalue is repeated, and 0 elsewhere.
    """
    held = [*carried, *_reflections(dim), "y"]
    _mark_repeated(script, dim, held)
    held = [*held, "twice"]
    _factorise(script, dim, held)
    _twist(script, dim, held)
    _reflect_back(script, dim, [*carried, *_reflections(dim), "twice"])
    products = {f"u{i}_{j}": f"z{i} * z{j}" if i == j else f"2 * z{i} * z{j}" for i in range(dim) for j in range(i + 1)}
    script.select("outer", same([*carried, "twice"]) | products)


def kept(dim: int) -> list[str]:
    """The columns of T and of its reflections that the steps need."""
    return [*_reflections(dim), *(f"o{i}" for i in range(dim - 1))]


def _reflections(dim: int) -> list[str]:
    return [name for j in range(dim - 2) for name in (*(f"v{j}_{i}" for i in range(j + 1, dim)), f"b{j}")]


def _mark_repeated(script: Script, dim: int, held: Sequence[str]) -> None:
    """Add the step that finds eigenvalues closer to λ than rounding can tell."""
    size = 1.0 if script.dialect.lists else 2.0**ROUNDS  # the step has been halved that often
    far = f"h * {script.dialect.number(2 * REPEATED_TOL * size)}"
    band = [name for i in range(dim) for name in (f"d{i}", f"e{i}", f"o{i}")][:-2]
    sides = {"low": f"y - {far}", "high": f"y + {far}"}
    script.select("sides", same([*held, *band]) | sides | {f"below_{side}": "0" for side in sides})
    for first in range(0, dim, AT_ONCE):
        counted: dict[str, str] = {}
        for side in sides:
            steps = pivots(script.dialect, first, min(first + AT_ONCE, dim), side, f"q_{side}")
            counted |= {f"below_{side}": f"below_{side} + {pivots_below(steps)}", f"q_{side}": steps[-1]}
        script.select(f"sides_{first}", same([*held, *band, *sides]) | counted)
    close = "CASE WHEN below_high - below_low > 1 THEN 1 ELSE 0 END"
    script.select("repeated", same([*held, *band]) | {"twice": close})


def _factorise(script: Script, dim: int, held: Sequence[str]) -> None:
    """Add the steps to the pivots of T − λ from both ends."""
    band = [name for i in range(dim) for name in (f"d{i}", f"e{i}", f"o{i}")][:-2]
    done: list[str] = []
    for i in range(dim):
        back = dim - 1 - i
        ahead = f"d{i} - y" + (f" - e{i - 1} / f{i - 1}" if i else "")
        behind = f"d{back} - y" + (f" - e{back} / g{back + 1}" if i else "")
        new = {name: _kept_away(value) for name, value in ((f"f{i}", ahead), (f"g{back}", behind))}
        script.select(f"pivot_{i}", same([*held, *band, *done]) | new)
        done += list(new)


def _kept_away(pivot: str) -> str:
    return f"CASE WHEN abs({pivot}) < {_LEAST_PIVOT} THEN {_LEAST_PIVOT} ELSE {pivot} END"


def _twist(script: Script, dim: int, held: Sequence[str]) -> None:
    """Add the steps to the eigenvector of T, z."""
    settled = script.dialect.settled
    pairs = [f"{side}{i}" for i in range(dim) for side in "fg"]
    off = [f"o{i}" for i in range(dim - 1)]
    sizes = {f"w{i}": f"abs(f{i} + g{i} - (d{i} - y))" for i in range(dim)}
    script.select("twists", same([*held, *pairs, *off]) | sizes)
    cases = " ".join(
        f"WHEN {' AND '.join(f'w{i} <= w{j}' for j in range(i + 1, dim))} THEN {i}" for i in range(dim - 1)
    )
    script.select("twist", same([*held, *pairs, *off]) | {"r": f"CASE {cases} ELSE {dim - 1} END"})
    done: list[str] = []
    for i in range(dim):
        back, one, none = dim - 1 - i, script.dialect.number(1.0), script.dialect.number(0.0)
        up = settled(f"-(o{back} / f{back}) * u{back + 1}") if i else none
        down = settled(f"-(o{i - 1} / g{i}) * w{i - 1}") if i else none
        new = {
            f"u{back}": f"CASE WHEN r = {back} THEN {one} ELSE {up} END",
            f"w{i}": f"CASE WHEN r = {i} THEN {one} ELSE {down} END",
        }
        script.select(f"entry_{i}", same([*held, *pairs, *off, "r", *done]) | new)
        done += list(new)
    both = {f"z{i}": f"CASE WHEN r > {i} THEN u{i} ELSE w{i} END" for i in range(dim)}
    script.select("vector", same(held) | both)
    norm = f"sqrt({total([f'{name} * {name}' for name in both])})"
    script.select("norm", same([*held, *both]) | {"size": norm})
    script.select("unit", same(held) | {name: settled(f"{name} / size") for name in both})


def _reflect_back(script: Script, dim: int, held: list[str]) -> None:
    """Add the steps from the eigenvector of T to that of A."""
    vector = [f"z{i}" for i in range(dim)]
    for j in range(dim - 3, -1, -1):
        rows = range(j + 1, dim)
        along = total([f"v{j}_{i} * z{i}" for i in rows])
        script.select(f"along_{j}", same([*held, *vector]) | {"c": f"b{j} * ({along})"})
        turned = {f"z{i}": script.dialect.settled(f"z{i} - c * v{j}_{i}") for i in rows}
        script.select(f"turned_{j}", same([*held, *vector]) | turned)


def outer_name(i: int, j: int) -> str:
    """The name of what an entry of A is multiplied with."""
    return "u" + entry(i, j)[1:]


def add_influences(script: Script, pencils: Pencils, readings: Sequence[ColumnReading], carried: Sequence[str]) -> None:
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
        entries, slopes = (np.flatnonzero(some.any(axis=(0, 1))).tolist() for some in pencils.at(reading))
        i, numeric = reading.position, reading.along() is not None
        entries = [] if reading.column.is_number else entries
        products = [f"{outer[e]} * {'s' if numeric else 'c'}{e}" for e in (slopes if numeric else entries)]
        value = f"({script.dialect.settled(total(products))})" + (f" * g{i}" if numeric else "")
        chosen = [name for name in chosen if name not in _needed(reading)]
        join = f" LEFT JOIN {PREFIX}column_{i} ON {matches(pencils, reading)}"
        script.select(f"slope_{i}", same([*held, *outer, *chosen]) | {f"i{i}": value}, join=join)
        held = [*held, f"i{i}"]
    script.select("all_slopes", same(held), stored=True)  # DuckDB would copy all steps into each sum


def summed(formula: Formula, readings: Sequence[ColumnReading]) -> dict[str, str]:
    """Sums over the pencils of each output that may be explained."""
    sums = {}
    for output in explained_outputs(formula):
        mine = "" if formula.n_outputs == 1 else f"output = {output} AND "
        sums[f"twice_{output}"] = f"MAX(CASE WHEN {mine}twice = 1 THEN 1 ELSE 0 END)"
        for i in (reading.position for reading in readings):
            term = f"weight * i{i}" if not mine else f"CASE WHEN output = {output} THEN weight * i{i} ELSE 0 END"
            sums[f"i{i}_{output}"] = f"SUM({term})"
    return sums


def chosen_output(script: Script, formula: Formula, readings: Sequence[ColumnReading], carried: Sequence[str]) -> None:
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


def _needed(reading: ColumnReading) -> list[str]:
    i = reading.position
    return [f"k{i}"] if reading.along() is None else [f"k{i}", f"g{i}"]
