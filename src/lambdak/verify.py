"""The search for a counterexample: random rows, and rows that are changed column by column to come as near as possible.

Certificates are proofs about matrices; this is the experiment beside them, on values of the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lambdak._checks import check_int
from lambdak.caps import extreme_cells
from lambdak.certify import Claim, certify, printed
from lambdak.columns import Column
from lambdak.eigen import eigenvalue
from lambdak.fitted import FittedModel
from lambdak.losses import Ordinal
from lambdak.reach import cell_rows
from lambdak.readout import Readout, dense_rows, readouts
from lambdak.spectrum import Float64Array, rounding_tol, spectral_norm

_STARTS = 8  # rows that the adversarial search begins from
_SWEEPS = 2  # over all other columns
_CANDIDATES = 12  # cells that are tried of each
_BEYOND = 0.2  # of its range, by which a column that goes on straight leaves it on either side
_BLOCK_FLOATS = 1 << 21


@dataclass(frozen=True)
class Check:
    """What was tried against one claim.

    Attributes
    ----------
    kind, subject, statement : str
        Of the claim.
    tried : int
        Comparisons that were made.
    violations : int
        How many of them broke the claim by more than rounding.
    margin : float
        How near the search came, in units of the score: a claim is broken below zero.
    adversarial : bool
        Whether the search from row to row, beyond random ones, came nearest.
    """

    kind: str
    subject: str
    statement: str
    tried: int
    violations: int
    margin: float
    adversarial: bool


@dataclass(frozen=True)
class Verification:
    """All checks of one search; prints as a table."""

    checks: tuple[Check, ...]

    @property
    def violations(self) -> int:
        """How many comparisons broke a claim."""
        return sum(check.violations for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The search as plain data."""
        return {"violations": self.violations, "checks": [asdict(check) for check in self.checks]}

    def to_json(self) -> str:
        """The search as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        rows = [
            (
                c.subject,
                c.statement,
                f"{c.tried:,}",
                f"{c.violations:,}",
                f"{c.margin:.3g}",
                "yes" if c.adversarial else "",
            )
            for c in self.checks
        ]
        names = ("about", "claim", "tried", "violations", "tightest\nmargin", "met by the\nguided search")
        total = f"{self.violations:,} violations. A margin is in units of the score; below zero a claim is broken."
        return printed("The search for a counterexample", names, rows, [total])


def verify(model: FittedModel, X: Any, n: int = 10_000, random_state: int = 0) -> Verification:
    """Search for a counterexample to every claim that is held, around the rows of X.

    Parameters
    ----------
    model
        A fitted estimator.
    X
        Rows to begin from: half of the random rows are theirs, the other half mix the cells of different rows.
    n
        Random comparisons for each claim; the guided search adds its own.
    random_state
        Seed of the random rows.
    """
    check_int(n, "n", 1, 10**9)
    outputs = readouts(model)
    Z = model.encoder_.transform(dense_rows(X), np.float64).to_sparse(outputs[0].coef.shape[1])
    if not Z.shape[0]:
        raise ValueError("X must have at least one row to begin from; got none")
    rng = np.random.default_rng(random_state)
    checks = []
    for claim in certify(model).claims:
        if claim.held and claim.kind in _SEARCHES:
            checks.append(_SEARCHES[claim.kind](_Search(outputs, Z, n, rng, isinstance(model.loss_, Ordinal)), claim))
    return Verification(tuple(checks))


@dataclass(frozen=True)
class _Search:
    outputs: tuple[Readout, ...]
    Z: Any  # CSR, rows of X
    n: int
    rng: np.random.Generator
    flipped: bool  # whether a larger score means a smaller class

    def rows(self, count: int) -> Float64Array:
        """Random design rows: those of X, and in every other one each column from another row."""
        columns = self.outputs[0].columns
        Z: Float64Array = self.Z[self.rng.integers(self.Z.shape[0], size=count)].toarray()
        for column in columns:
            other = self.Z[self.rng.integers(self.Z.shape[0], size=len(Z[::2]))][:, column.start : column.stop]
            Z[::2, column.start : column.stop] = other.toarray()
        return Z

    def blocks(self) -> Iterator[int]:
        """Sizes of blocks of random rows, n together."""
        step = max(1, _BLOCK_FLOATS // self.Z.shape[1])
        for first in range(0, self.n, step):
            yield min(step, self.n - first)

    def column(self, name: str) -> int:
        return next(i for i, column in enumerate(self.outputs[0].columns) if column.name == name)

    def numbers(self, column: Column, count: int) -> Float64Array:
        """Random numbers of a column, some beyond its range, if it is not constant there."""
        beyond = 0.0 if column.clamp else _BEYOND * (column.high - column.low)
        return np.asarray(self.rng.uniform(column.low - beyond, column.high + beyond, count))


def _matrices(readout: Readout, Z: Float64Array) -> Float64Array:
    return Z @ readout.coef + readout.constant[:, None]


def _put(Z: Float64Array, column: Column, cells: Float64Array) -> Float64Array:
    changed = Z.copy()
    changed[:, column.start : column.stop] = cells
    return changed


def _slack(readout: Readout, packed: Float64Array) -> float:
    """What rounding can do to a difference of two scores."""
    return float(4.0 * readout.scale * rounding_tol(readout.dim, np.float64) * spectral_norm(packed).max(initial=0.0))


class _Tally:
    """Counts comparisons of one claim, whose margins must not be negative."""

    def __init__(self, claim: Claim) -> None:
        self._claim, self._tried, self._broken = claim, 0, 0
        self._margin, self._guided = np.inf, False

    def add(self, margins: Float64Array, slack: float, guided: bool = False) -> None:
        self._tried += margins.size
        self._broken += int(np.count_nonzero(~(margins >= -slack)))
        if margins.min(initial=np.inf) < self._margin:
            self._margin, self._guided = float(margins.min()), guided

    def done(self) -> Check:
        claim = self._claim
        return Check(claim.kind, claim.subject, claim.statement, self._tried, self._broken, self._margin, self._guided)


def _monotone(search: _Search, claim: Claim) -> Check:
    readout, i, tally = search.outputs[0], search.column(claim.subject), _Tally(claim)
    column, sign = readout.columns[i], float(claim.details["sign"]) * (-1.0 if search.flipped else 1.0)
    for count in search.blocks():
        Z = search.rows(count)
        ends = np.sort([search.numbers(column, count) for _ in range(2)], axis=0)
        low, high = (_matrices(readout, _put(Z, column, cell_rows(column, values))) for values in ends)
        tally.add(sign * (readout.score(high) - readout.score(low)), _slack(readout, high))
    between = 0.5 * (column.knots[1:] + column.knots[:-1])
    nodes = np.unique([*column.knots, *between, column.low, column.high])
    own = cell_rows(column, nodes) @ readout.column(i)

    def steps(packed: Float64Array) -> Float64Array:
        values = readout.over_members(eigenvalue(packed[:, :, None] + own[:, None], readout.dim, readout.index))
        return np.asarray((sign * np.diff(values, axis=1)).min(axis=1, initial=np.inf))

    _guided(search, readout, i, steps, tally)
    return tally.done()


def _influence(search: _Search, claim: Claim) -> Check:
    i, tally = search.column(claim.subject), _Tally(claim)
    bound = float(claim.value or 0.0)
    for readout in search.outputs:
        column = readout.columns[i]
        cells = extreme_cells(column)
        for count in search.blocks():
            Z = search.rows(count)
            ends = (cells[search.rng.integers(len(cells), size=count)] for _ in range(2))
            low, high = (_matrices(readout, _put(Z, column, values)) for values in ends)
            tally.add(bound - np.abs(readout.score(high) - readout.score(low)), _slack(readout, high))
        own = cells[: _most_cells(column)] @ readout.column(i)

        def left(packed: Float64Array, own: Float64Array = own, readout: Readout = readout) -> Float64Array:
            values = readout.over_members(eigenvalue(packed[:, :, None] + own[:, None], readout.dim, readout.index))
            return np.asarray(bound - np.ptp(values, axis=1))

        _guided(search, readout, i, left, tally)
    return tally.done()


def _most_cells(column: Column) -> int:
    return min(column.stop - column.start + 1, 64)


def _guided(
    search: _Search, readout: Readout, i: int, margin: Callable[[Float64Array], Float64Array], tally: _Tally
) -> None:
    """Change one other column after the other to whatever cell brings the margin of a few rows down the most."""
    Z = search.rows(_STARTS)
    Z[:, readout.columns[i].start : readout.columns[i].stop] = 0.0
    others = [column for j, column in enumerate(readout.columns) if j != i]
    least = margin(_matrices(readout, Z))
    for column in [*others] * _SWEEPS:
        cells = extreme_cells(column)
        for cell in cells[search.rng.permutation(len(cells))[:_CANDIDATES]]:
            changed = _put(Z, column, cell)
            packed = _matrices(readout, changed)
            found = margin(packed)
            tally.add(found, _slack(readout, packed), guided=True)
            better = found < least
            Z[better], least = changed[better], np.minimum(least, found)


def _shape(search: _Search, claim: Claim) -> Check:
    sign, tally = (1.0 if claim.kind == "convex" else -1.0), _Tally(claim)
    numeric = [column for column in search.outputs[0].columns if column.kind != "category"]
    for readout in search.outputs:
        for count in search.blocks():
            first = search.rows(count)
            middle, last = first.copy(), first.copy()
            for column in numeric:
                a, b = (search.numbers(column, count) for _ in range(2))
                for Z, values in ((first, a), (middle, 0.5 * (a + b)), (last, b)):
                    Z[:, column.start : column.stop] = cell_rows(column, values)
            packed = [_matrices(readout, Z) for Z in (first, middle, last)]
            ends, inside = readout.score(packed[0]) + readout.score(packed[2]), readout.score(packed[1])
            tally.add(sign * (0.5 * ends - inside), max(_slack(readout, some) for some in packed))
    return tally.done()


def _ordered(search: _Search, claim: Claim) -> Check:
    tally = _Tally(claim)
    for count in search.blocks():
        Z = search.rows(count)
        packed = [_matrices(readout, Z) for readout in search.outputs]
        scores = np.array([readout.score(some) for readout, some in zip(search.outputs, packed, strict=True)])
        tally.add(np.diff(scores, axis=0), max(_slack(search.outputs[0], some) for some in packed))
    return tally.done()


_SEARCHES: dict[str, Callable[[_Search, Claim], Check]] = {
    "monotone": _monotone,
    "influence": _influence,
    "convex": _shape,
    "concave": _shape,
    "quantiles": _ordered,
    "cut-points": _ordered,
}
