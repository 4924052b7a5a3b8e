r"""The eigenvector of each pencil: of T by a twisted factorisation, then reflected back; and v vᵀ.

With pivots f of T − λ from the top and g from the bottom, v is 1 where |f_i + g_i − (d_i − λ)| is least, and its other
entries follow from there: v_i = −(o_i / f_i) v_{i+1} upwards and v_i = −(o_{i−1} / g_i) v_{i−1} downwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from lambdak.export.sql.bisection import AT_ONCE, ROUNDS, pivots, pivots_below
from lambdak.export.sql.matrices import entry
from lambdak.export.sql.script import Script, same, total
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
            own = pivots(script.dialect, first, min(first + AT_ONCE, dim), side, f"q_{side}")
            counted |= {f"below_{side}": f"below_{side} + {pivots_below(own)}", f"q_{side}": own[-1]}
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
