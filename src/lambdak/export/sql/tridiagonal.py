r"""Householder's reduction, step by step: A becomes T with diagonal d and off-diagonals e, of the same spectrum.

Step j reflects column j of what is left: v = (a_{j+1,j} ± μ, a_{j+2,j}, …), μ² = Σ a², b = 2/vᵀv, and with p = b A v,
c = b pᵀv / 2, A becomes A − v(p − cv)ᵀ − (p − cv)vᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence

from lambdak.export.sql.matrices import entry
from lambdak.export.sql.script import Script, same, total

_NO_COLUMN = "1e-200"  # a squared norm below this is one of zeros


def reduce(script: Script, dim: int, carried: Sequence[str], keep: bool = False) -> None:
    """Add the steps; afterwards there are d0, d1, … and e0, e1, …, the diagonal and squares of the off-diagonals.

    With ``keep`` there are also the off-diagonals o0, o1, …, and the vectors v and factors b of the reflections.
    """
    done: list[str] = list(carried)
    for j in range(dim - 2):
        done = _reflect(script, dim, j, done, keep)
    last, before = dim - 1, dim - 2
    ends = {f"d{before}": entry(before, before), f"d{last}": entry(last, last)}
    ends[f"e{before}"] = f"{entry(last, before)} * {entry(last, before)}"
    script.select("tridiagonal", same(done) | ends | ({f"o{before}": entry(last, before)} if keep else {}))


def _reflect(script: Script, dim: int, j: int, done: list[str], keep: bool) -> list[str]:
    """One step, and the columns that are done after it."""
    rows = range(j + 1, dim)
    left = [entry(i, c) for i in rows for c in rows if c <= i]
    v = {i: f"v{j}_{i}" for i in rows}
    script.select(f"norm_{j}", same(done) | _vector(j, rows, keep) | same(left))
    done = [*done, f"d{j}", f"e{j}", *([f"o{j}", *v.values(), f"b{j}"] if keep else [])]
    own = [name for name in [*v.values(), f"b{j}"] if name not in done]
    products = {f"p{i}": f"b{j} * ({total([f'{entry(i, c)} * {v[c]}' for c in rows])})" for i in rows}
    script.select(f"product_{j}", same([*done, *own, *left]) | products)
    middle = f"0.5 * b{j} * ({total([f'p{i} * {v[i]}' for i in rows])})"
    script.select(f"middle_{j}", same([*done, *own, *left, *products]) | {"c": middle})
    settled = script.dialect.settled
    rest = {
        entry(i, k): settled(f"{entry(i, k)} - {v[i]} * (p{k} - c * {v[k]}) - {v[k]} * (p{i} - c * {v[i]})")
        for i in rows
        for k in rows
        if k <= i
    }
    script.select(f"reflected_{j}", same(done) | rest)
    return done


def _vector(j: int, rows: range, keep: bool) -> dict[str, str]:
    """The vector of a reflection, its factor, and the entries of T that it leaves."""
    first = entry(j + 1, j)
    square = "(" + total([f"{entry(i, j)} * {entry(i, j)}" for i in rows]) + ")"
    return {
        f"d{j}": entry(j, j),
        f"e{j}": square,
        **({f"o{j}": f"CASE WHEN {first} < 0 THEN sqrt({square}) ELSE -sqrt({square}) END"} if keep else {}),
        f"v{j}_{j + 1}": f"CASE WHEN {first} < 0 THEN {first} - sqrt({square}) ELSE {first} + sqrt({square}) END",
        **{f"v{j}_{i}": entry(i, j) for i in rows if i > j + 1},
        f"b{j}": f"CASE WHEN {square} < {_NO_COLUMN} THEN 0 ELSE 1 / ({square} + abs({first}) * sqrt({square})) END",
    }
