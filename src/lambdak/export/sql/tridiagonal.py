r"""From A to its k-th eigenvalue in SQL, as steps of a query.

Householder's reduction, step by step: A becomes T with diagonal d and off-diagonals e, of the same spectrum.

Step j reflects column j of what is left: v = (a_{j+1,j} ± μ, a_{j+2,j}, …), μ² = Σ a², b = 2/vᵀv, and with p = b A v,
c = b pᵀv / 2, A becomes A − v(p − cv)ᵀ − (p − cv)vᵀ.

The k-th eigenvalue of T by bisection: it is below y if and only if more than k pivots q of T − y are negative.

q_0 = d_0 − y, q_i = d_i − y − e_{i−1}² / q_{i−1}. After the rounds, an eigenvalue is known to 2⁻⁵³ of ‖T‖.
"""

from __future__ import annotations

from collections.abc import Sequence

from lambdak.export.sql.dialects import Dialect
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
    names = [name for name in [*v.values(), f"b{j}"] if name not in done]
    products = {f"p{i}": f"b{j} * ({total([f'{entry(i, c)} * {v[c]}' for c in rows])})" for i in rows}
    script.select(f"product_{j}", same([*done, *names, *left]) | products)
    middle = f"0.5 * b{j} * ({total([f'p{i} * {v[i]}' for i in rows])})"
    script.select(f"middle_{j}", same([*done, *names, *left, *products]) | {"c": middle})
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


ROUNDS = 53
AT_ONCE = 5  # pivots of one step: each holds those before it, so that a step grows with their square
_AT_ONCE_IN_LISTS = 12  # the same where a list holds the last of them, which costs more
_NO_EIGENVALUE = 1e-12  # a sum with it loses what is below 1e-28 of the largest matrices, as _LEAST_SQUARE adds
_ROOM = 1.015625  # of the first interval, so that no eigenvalue is at its end
_LEAST_SQUARE = 1e-60  # of an off-diagonal: a division by zero then has one meaning


def bisect(script: Script, dim: int, place: str, carried: Sequence[str], keep: bool = False) -> None:
    """Add the steps; afterwards there is y, the eigenvalue at ``place``, a number or a column.

    With ``keep`` T stays too, and h, by which the norm of T is known.

    A database with lists folds one of step sizes; the others repeat a step that reads itself.
    """
    dialect = script.dialect
    fixed = [*carried, *(f"d{i}" for i in range(dim)), *(f"e{i}" for i in range(dim - 1))]
    squares = {f"e{i}": f"e{i} + {dialect.number(_LEAST_SQUARE)}" for i in range(dim - 1)}
    norm = f"sqrt({total([f'd{i} * d{i}' for i in range(dim)])} + 2 * ({total(list(squares))}))"
    size = f"{dialect.number(_ROOM / 2)} * {norm} + {dialect.number(1e-30)}"
    script.select("interval", same(fixed) | squares | {"h": size, "y": dialect.number(0.0)})
    if dialect.lists:
        sizes = ", ".join(dialect.number(0.5**round_) for round_ in range(ROUNDS))
        folded = f"list_reduce([{sizes}], lambda y, s: {_halved(dialect, dim, place)}, {dialect.number(0.0)})"
        script.select("rounds", same([*fixed, "h"]) | {"y": folded})
    else:
        _repeat(script, dim, place, fixed)
    left = [*fixed, "h", "y"] if keep else [*carried, "y"]
    small = dialect.number(_NO_EIGENVALUE)
    exact = {"y": f"y + {small} - {small}"}  # that of a matrix of zeros is 0
    script.select("eigenvalue", same(left) | exact, stored=True, end="" if dialect.lists else " WHERE round = 0")


def _repeat(script: Script, dim: int, place: str, fixed: Sequence[str]) -> None:
    """All rounds as one step that reads itself, in turns of some pivots each: SQLite's parser is not deep."""
    dialect, starts = script.dialect, range(0, dim, AT_ONCE)
    turns = [pivots(dialect, first, min(first + AT_ONCE, dim)) for first in starts]
    below = [("below + " if i else "") + pivots_below(turn) for i, turn in enumerate(turns)]
    last = len(turns) - 1
    again = {
        "h": _at_turn(last, {last: f"h * {dialect.number(0.5)}"}, "h"),
        "y": _at_turn(last, {last: f"CASE WHEN {below[-1]} <= {place} THEN y + h ELSE y - h END"}, "y"),
        "round": _at_turn(last, {last: "round - 1"}, "round"),
        "turn": _at_turn(last, {last: "0"}, "turn + 1"),
        "below": _at_turn(last, dict(enumerate(below[:-1])), "0"),
        "q": _at_turn(last, {i: turn[-1] for i, turn in enumerate(turns[:-1])}, dialect.number(0.0)),
    }
    begin = {"round": str(ROUNDS), "turn": "0", "below": "0", "q": dialect.number(0.0)}
    script.repeat("rounds", same([*fixed, "h", "y"]) | begin, same(fixed) | again, "round > 0")


def _at_turn(last: int, values: dict[int, str], otherwise: str) -> str:
    """One value for each of these turns, and another for the rest."""
    if not last:
        return values.get(0, otherwise)
    cases = " ".join(f"WHEN {turn} THEN {value}" for turn, value in values.items())
    return f"CASE turn {cases} ELSE {otherwise} END" if cases else otherwise


def _halved(dialect: Dialect, dim: int, place: str) -> str:
    """The next y, after a round whose step is h * s."""
    return f"y + h * CASE WHEN {_count(dialect, 0, dim)} <= {place} THEN s ELSE -s END"


def _count(dialect: Dialect, first: int, dim: int) -> str:
    """How many pivots from one on are negative: a list of one pivot, so that it is computed once for those after it."""
    last = min(first + _AT_ONCE_IN_LISTS, dim)
    steps = pivots(dialect, first, last)
    below = pivots_below(steps)
    if last == dim:
        return below
    return f"{below} + list_transform([{steps[-1]}], lambda q: {_count(dialect, last, dim)})[1]"


def pivots_below(found: Sequence[str]) -> str:
    """How many of these pivots are negative."""
    return " + ".join(f"CASE WHEN {q} < 0 THEN 1 ELSE 0 END" for q in found)


def pivots(dialect: Dialect, first: int, last: int, y: str = "y", q: str = "q") -> list[str]:
    """Expressions of the pivots of T − y from row ``first`` to ``last`` − 1; ``q`` is the pivot before them."""
    found, before = [], q
    for i in range(first, last):
        before = f"(d{i} - {y} - {dialect.quotient(f'e{i - 1}', before)})" if i else f"(d0 - {y})"
        found.append(before)
    return found
