"""The search for a counterexample: random rows, and a guided search that changes rows column by column.

Certificates are proofs about matrices; this is the experiment beside them. Random rows are evaluated as ``predict``
does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lambdak._checks import check_int
from lambdak.certify.certificate import Claim, printed
from lambdak.certify.proofs import certify
from lambdak.eigen import eigenvalue
from lambdak.model import Model
from lambdak.model.readout import Readout, dense_rows, readouts, slots_of
from lambdak.pencil.spectrum import Float64Array, spectral_norm
from lambdak.pencil.tolerances import rounding_tol
from lambdak.table.design import Design
from lambdak.table.numeric_column import Numeric

_STARTS = 8  # rows that the guided search begins from
_SWEEPS = 2  # over all other columns
_CANDIDATES = 12  # cells that are tried of each
_BEYOND = 0.2  # of its range, by which a column that continues straight leaves it on either side
_NARROW = 1e-3  # of its range: over less, a slope is rounding
_MOST_CELLS = 64  # of a column between which the guided search looks for the largest change
_SIZED = 100  # rows that the size of the matrices is measured on
_BLOCK = 1 << 14


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
        How near the search came, in units of the raw score: a claim is broken below zero. For a monotone column it is
        the least slope, times the range of the column.
    adversarial : bool
        Whether the guided search came nearer than all random rows.
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
        total = f"{self.violations:,} violations. A margin is in units of the raw score; below zero a claim is broken."
        return printed("The search for a counterexample", names, rows, [total])


def verify(model: Model, X: Any, n: int = 10_000, random_state: int = 0) -> Verification:
    """Search for a counterexample to every claim that is proven, around the rows of X.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X
        Rows to begin from: half of the random rows are theirs, the other half mix the cells of different rows.
    n
        Random comparisons for each claim; the guided search adds its own.
    random_state
        Seed of the random rows.
    """
    check_int(n, "n", 1, 10**9)
    design = model.encoder.transform(dense_rows(X), model.coef.dtype)
    if not len(design):
        raise ValueError("X must have at least one row to begin from; got none")
    search = _Search(model, readouts(model), design, n, np.random.default_rng(random_state))
    proven = (claim for claim in certify(model).claims if claim.proven and claim.kind in _SEARCHES)
    return Verification(tuple(_SEARCHES[claim.kind](search, claim) for claim in proven))


@dataclass(frozen=True)
class _Search:
    model: Model
    outputs: tuple[Readout, ...]
    design: Design  # rows of X
    n: int
    rng: np.random.Generator

    @cached_property
    def slack(self) -> float:
        """What rounding can do to a difference of two raw scores of the model, at the size of its matrices."""
        some = self.design.take(slice(_SIZED))
        size = max(float(spectral_norm(output.packed(some)).max()) for output in self.outputs)
        return 8.0 * self.model.scale * rounding_tol(self.model.dim, self.model.coef.dtype) * size

    def rows(self, count: int) -> Design:
        """Random rows: those of X, and in every other one each column from another row."""
        rows = self.design.take(self.rng.integers(len(self.design), size=count))
        for slots in slots_of(self.outputs[0].columns):
            other = self.design.take(self.rng.integers(len(self.design), size=len(rows.ids[::2])))
            own = slice(slots.start, slots.stop)
            rows.ids[::2, own], rows.weights[::2, own] = other.ids[:, own], other.weights[:, own]
        return rows

    def put(self, rows: Design, i: int, cells: Float64Array) -> Design:
        """The rows with other cells (rows, p) of column i."""
        column, slots = self.outputs[0].columns[i], slots_of(self.outputs[0].columns)[i]
        own = slice(slots.start, slots.stop)
        changed = Design(rows.ids.copy(), rows.weights.copy())
        active = np.argsort(-np.abs(cells), axis=1, kind="stable")[:, : len(slots)]
        changed.ids[:, own.start : own.start + active.shape[1]] = column.start + active
        changed.weights[:, own] = 0.0
        changed.weights[:, own.start : own.start + active.shape[1]] = np.take_along_axis(cells, active, 1)
        return changed

    def scores(self, rows: Design) -> Float64Array:
        """Raw scores, (rows, outputs)."""
        return np.asarray(self.model.scores(rows), np.float64).reshape(len(rows), -1)

    def blocks(self) -> Iterator[int]:
        """Sizes of blocks of random rows, n together."""
        for first in range(0, self.n, _BLOCK):
            yield min(_BLOCK, self.n - first)

    def column(self, name: str) -> int:
        return next(i for i, column in enumerate(self.outputs[0].columns) if column.name == name)

    def numeric(self, name: str) -> tuple[int, Numeric]:
        """A column of numbers, which monotone claims are about, and its position."""
        columns = enumerate(self.outputs[0].columns)
        return next((i, each) for i, each in columns if each.name == name and isinstance(each, Numeric))

    def numbers(self, column: Numeric, count: int) -> Float64Array:
        """Random numbers of a column, some beyond its range, if it is not constant there."""
        beyond = 0.0 if column.clamp else _BEYOND * (column.high - column.low)
        return np.asarray(self.rng.uniform(column.low - beyond, column.high + beyond, count))


class _Tally:
    """Counts comparisons of one claim, whose margins must not be negative."""

    def __init__(self, claim: Claim) -> None:
        self._claim, self._tried, self._broken = claim, 0, 0
        self._margin, self._guided = np.inf, False

    def add(self, margins: Float64Array, slack: float, guided: bool = False, shown: Float64Array | None = None) -> None:
        """Count margins that are negative by more than ``slack``; ``shown`` are the same in units to be shown."""
        self._tried += margins.size
        self._broken += int(np.count_nonzero(~(margins >= -slack)))
        least = float((margins if shown is None else shown).min(initial=np.inf))
        if least < self._margin:
            self._margin, self._guided = least, guided

    def done(self) -> Check:
        claim = self._claim
        return Check(claim.kind, claim.subject, claim.statement, self._tried, self._broken, self._margin, self._guided)


def _monotone(search: _Search, claim: Claim) -> Check:
    readout, tally = search.outputs[0], _Tally(claim)
    i, column = search.numeric(claim.subject)
    sign = search.model.loss.sign * float(claim.details["sign"])
    span = column.high - column.low
    for count in search.blocks():
        rows = search.rows(count)
        ends = np.sort([search.numbers(column, count) for _ in range(2)], axis=0)
        low, high = (search.scores(search.put(rows, i, column.cell_rows(values))) for values in ends)
        rise, width = sign * (high - low), (ends[1] - ends[0])[:, None]
        wide = width[:, 0] > _NARROW * span
        tally.add(rise, search.slack, shown=(rise * span / np.where(width > 0, width, 1.0))[wide])
    corners = column.corners()
    nodes = np.unique([*column.nodes(), *(0.5 * (corners[1:] + corners[:-1]))])
    own = column.cell_rows(nodes) @ readout.column(i)

    def steepness(packed: Float64Array) -> Float64Array:
        values = readout.over_members(eigenvalue(packed[:, :, None] + own[:, None], readout.dim, readout.index))
        return np.asarray((sign * span * np.diff(values, axis=1) / np.diff(nodes)).min(axis=1, initial=np.inf))

    steep = span / np.diff(nodes).min(initial=np.inf) if len(nodes) > 1 else 0.0
    _guided(search, readout, i, steepness, tally, search.slack * max(steep, 1.0))
    return tally.done()


def _influence(search: _Search, claim: Claim) -> Check:
    i, tally = search.column(claim.subject), _Tally(claim)
    bound, (cells, _) = float(claim.value or 0.0), search.outputs[0].columns[i].all_cells()
    for count in search.blocks():
        rows = search.rows(count)
        low, high = (search.put(rows, i, cells[search.rng.integers(len(cells), size=count)]) for _ in range(2))
        tally.add(bound - np.abs(search.scores(high) - search.scores(low)), search.slack)
    for readout in search.outputs:
        own = cells[search.rng.permutation(len(cells))[:_MOST_CELLS]] @ readout.column(i)

        def left(packed: Float64Array, own: Float64Array = own, readout: Readout = readout) -> Float64Array:
            values = readout.over_members(eigenvalue(packed[:, :, None] + own[:, None], readout.dim, readout.index))
            return np.asarray(bound - np.ptp(values, axis=1))

        _guided(search, readout, i, left, tally, search.slack)
    return tally.done()


def _guided(
    search: _Search,
    readout: Readout,
    i: int,
    margin: Callable[[Float64Array], Float64Array],
    tally: _Tally,
    slack: float,
) -> None:
    """Change one other column after the other to whatever cell brings the margin of a few rows down the most."""
    rows = search.rows(_STARTS)
    rows.weights[:, list(slots_of(readout.columns)[i])] = 0.0
    Z = rows.to_sparse(readout.coef.shape[1]).toarray().astype(np.float64)
    packed = Z @ readout.coef + readout.constant[:, None]
    least = margin(packed)
    for j in [j for j in range(len(readout.columns)) if j != i] * _SWEEPS:
        span = slice(readout.columns[j].start, readout.columns[j].stop)
        cells, _ = readout.columns[j].all_cells()
        for cell in cells[search.rng.permutation(len(cells))[:_CANDIDATES]]:
            changed = packed + (cell - Z[:, span]) @ readout.coef[:, span]
            found = margin(changed)
            tally.add(found, slack, guided=True)
            better = found < least
            Z[better, span], packed[:, better] = cell, changed[:, better]
            least = np.minimum(least, found)


def _shape(search: _Search, claim: Claim) -> Check:
    sign, tally = (1.0 if claim.kind == "convex" else -1.0), _Tally(claim)
    for count in search.blocks():
        rows = [search.rows(count)] * 3  # two ends, and the middle between them
        for i, column in enumerate(search.outputs[0].columns):
            if isinstance(column, Numeric):
                a, b = (search.numbers(column, count) for _ in range(2))
                cells = (column.cell_rows(values) for values in (a, b, 0.5 * (a + b)))
                rows = [search.put(own, i, some) for own, some in zip(rows, cells, strict=True)]
        first, last, middle = map(search.scores, rows)
        tally.add(sign * (0.5 * (first + last) - middle), search.slack)
    return tally.done()


def _ordered(search: _Search, claim: Claim) -> Check:
    tally = _Tally(claim)
    for count in search.blocks():
        tally.add(np.diff(search.scores(search.rows(count)), axis=1), search.slack)
    return tally.done()


_SEARCHES: dict[str, Callable[[_Search, Claim], Check]] = {
    "monotone": _monotone,
    "influence": _influence,
    "convex": _shape,
    "concave": _shape,
    "quantiles": _ordered,
    "cut-points": _ordered,
}
