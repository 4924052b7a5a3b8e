r"""Which columns act together: read from the matrices, and checked by how raw scores depend on pairs of columns.

If the matrices of two columns commute they are diagonal in one basis; how far they do not is the size of
[A_i, A_j] = A_i A_j − A_j A_i, anywhere in the matrix. What of it reaches the raw score near a row is, to second order,
2 Σ_{l≠k} (v_kᵀ A_i v_l)(v_lᵀ A_j v_k) / (λ_k − λ_l): the coupling. Friedman's H-statistic observes the same on raw
scores: the part of the joint effect of two columns that is not the sum of their single effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.packing import sym
from lambdak.explain.progress import watched
from lambdak.model.readout import Readout
from lambdak.table.design import Design
from lambdak.table.rows import spread_rows
from lambdak.table.shown import Shown

_H_ROWS = 40  # of which all pairs are formed
_H_PAIRS = 45  # pairs of columns that H is computed for, the strongest first
_TINY = 1e-300


@dataclass(frozen=True, repr=False)
class Interaction(Shown):
    """Two columns, in units of the raw score; NaN where there are no rows to observe, or too many pairs.

    Attributes
    ----------
    first, second : str
    commutator : float
        Square root of the root mean square of ‖[A_i, A_j]‖ over pairs of cells.
    coupling : float
        Root mean square over the rows of the second-order term that the matrices of both columns add together.
    joint : float
        Root mean square of what the joint effect of both adds to the sum of their single effects: H, not normalised.
    h_statistic : float
        Friedman and Popescu's H: joint, relative to the whole effect of both. Large for pairs of weak columns, too.
    """

    first: str
    second: str
    commutator: float
    coupling: float
    joint: float
    h_statistic: float


def interactions(readout: Readout, design: Design | None) -> tuple[Interaction, ...]:
    """Return pairs of columns that act, the largest joint effect first, or the largest commutator if there are no rows.

    Joint effects are observed of the pairs with the strongest coupling; the others follow by their coupling.
    """
    acting, unknown = readout.acting, (np.nan, np.nan)
    commuting = commutators(readout, design)
    coupled = np.full(commuting.shape, np.nan) if design is None else couplings(readout, design)
    strongest = np.argsort(-(commuting if design is None else coupled)[np.triu_indices(len(acting), 1)], kind="stable")
    pairs = list(combinations(range(len(acting)), 2))
    order = [pairs[position] for position in strongest]
    observed = {} if design is None else _observed(readout, design, order[:_H_PAIRS])
    order = sorted(observed, key=lambda pair: -observed[pair][0]) + order[len(observed) :]
    names = [readout.columns[i].name for i in acting]
    return tuple(
        Interaction(names[i], names[j], float(commuting[i, j]), float(coupled[i, j]), *observed.get((i, j), unknown))
        for i, j in order
    )


def _observed(
    readout: Readout, design: Design, pairs: list[tuple[int, int]]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return what is joint in pairs of columns, which are counted among those that act."""
    acting = readout.acting
    found = h_statistics(readout, design, [(acting[i], acting[j]) for i, j in pairs])
    return dict(zip(pairs, found.values(), strict=True))


def couplings(readout: Readout, design: Design) -> Float64Array:
    """Root mean square over the rows of the mixed second-order term of two columns that act, (acting, acting).

    A_i is taken about its mean over the rows. A gap narrower than the pull of the two columns across it counts as wide
    as that pull: there the expansion ends.
    """
    n = len(readout.acting)
    values, vectors = eigenpair(readout.packed(design), readout.dim, range(readout.dim))
    spectrum, basis = np.asarray(values, np.float64), np.asarray(vectors, np.float64)
    gaps = spectrum[..., [readout.index]] - spectrum  # (members, rows, d)
    pulls = np.stack([_pulls(readout, design, i, basis) for i in readout.acting]) if n else np.zeros((0, *gaps.shape))
    found = np.zeros((n, n))
    for i in watched(range(n - 1), "columns paired with others"):
        total = sum(map(_mixed, readout.weights, pulls[i], pulls[i + 1 :].swapaxes(0, 1), gaps))
        found[i, i + 1 :] = np.sqrt((np.asarray(total) ** 2).mean(axis=1))
    return np.asarray(readout.scale * found)


def _pulls(readout: Readout, design: Design, i: int, basis: Float64Array) -> Float64Array:
    """v_lᵀ A_i v_k of the rows for all l, (members, rows, d)."""
    packed = _part(readout, design, i)
    matrices = sym(packed - packed.mean(axis=1, keepdims=True))
    return np.asarray((basis @ (matrices @ basis[..., readout.index, :, None]))[..., 0])


def _mixed(weight: float, first: Float64Array, others: Float64Array, gaps: Float64Array) -> Float64Array:
    """The mixed second-order term of one column with each of the others in one member, (others, rows)."""
    floor = np.sqrt((first**2 + others**2).sum(axis=-1, keepdims=True)) + _TINY
    inverse = np.sign(gaps) / np.maximum(np.abs(gaps), floor)  # 0 for λ_k itself
    return np.asarray(weight * 2.0 * (first * others * inverse).sum(axis=-1))


def commutators(readout: Readout, design: Design | None) -> Float64Array:
    """(Σ_m w_m E‖[A_i, A_j]‖²_F)^¼ in units of the raw score of columns that act, with independent x_i and x_j.

    Cells are those of the rows, or the extreme cells of a column if there are none; A_i is taken about its mean. With
    ‖[A, B]‖² = 2 tr(A²B²) − 2 tr(ABAB), means over pairs of cells are products of moments of each column.
    """
    n = len(readout.acting)
    total = np.zeros((n, n))
    if not n:
        return total
    for member, weight in enumerate(readout.weights):
        spread = [_moments(readout, design, i, member) for i in readout.acting]
        squares = np.array([np.einsum("nij,njk->ik", B, B).ravel() for B in spread])
        crossed = np.zeros((n, n))
        for row in range(readout.dim):  # row by row, as E A ⊗ A of all columns has n d⁴ entries
            fourth = np.array([np.tensordot(B[:, row], B, (0, 0)) for B in spread])  # A_ij A_kl at jkl
            crossed += fourth.reshape(n, -1) @ fourth.transpose(0, 2, 3, 1).reshape(n, -1).T
        total += weight * 2.0 * (squares @ squares.T - crossed)
    return np.asarray(readout.scale * np.maximum(total, 0.0) ** 0.25)


def _moments(readout: Readout, design: Design | None, i: int, member: int) -> Float64Array:
    """Few matrices B (p, d, d) with Σ B ⊗ B = E A_i ⊗ A_i over the cells of the rows, or the extreme cells."""
    column, coef = readout.columns[i], readout.column(i)[member]
    if not column.is_number and column.width > coef.shape[1]:  # its many levels are sums of few matrices
        packed = coef - coef.mean(axis=0) if design is None else _centred(readout, design, i, member)
        return np.asarray(sym(np.linalg.qr(packed / np.sqrt(len(packed)), mode="r")))
    if design is None:
        cells = column.extreme_cells()
    else:
        slots = readout.slots[i]
        rows = Design(design.ids[:, slots], design.weights[:, slots]).to_sparse(readout.coef.shape[1])
        cells = rows[:, column.start : column.stop].toarray()
    root = np.linalg.qr((cells - cells.mean(axis=0)) / np.sqrt(len(cells)), mode="r")
    return np.asarray(sym(root @ coef))


def _centred(readout: Readout, design: Design, i: int, member: int) -> Float64Array:
    """A_i of the rows about its mean, (rows, D)."""
    packed = _part(readout, design, i)[member]
    return np.asarray(packed - packed.mean(axis=0))


def h_statistics(
    readout: Readout, design: Design, pairs: list[tuple[int, int]]
) -> dict[tuple[int, int], tuple[float, float]]:
    """What is joint in pairs of columns, and H = √(Σ (PD_ij − PD_i − PD_j)² / Σ PD_ij²), dependences centred."""
    rows = design.take(spread_rows(len(design), _H_ROWS))
    whole = readout.packed(rows)
    parts = {i: _part(readout, rows, i) for i in {column for pair in pairs for column in pair}}
    single = {i: _dependence(readout, whole - part, part) for i, part in parts.items()}
    statistics = {}
    for i, j in pairs:
        both = parts[i] + parts[j]
        joint = _dependence(readout, whole - both, both)
        rest, all_of_it = _root_mean_square(joint - single[i] - single[j]), _root_mean_square(joint)
        statistics[i, j] = rest, rest / all_of_it if all_of_it else 0.0
    return statistics


def _root_mean_square(values: Float64Array) -> float:
    unit = np.exp2(np.frexp(np.abs(values).max())[1])  # so that squares of any target are finite
    return float(unit * np.sqrt(((values / unit) ** 2).mean()))


def _part(readout: Readout, design: Design, i: int) -> Float64Array:
    """A_i of each row, (members, rows, D)."""
    entries = (design.weights[:, [slot]] * readout.coef[:, design.ids[:, slot]] for slot in readout.slots[i])
    return np.ascontiguousarray(sum(entries))  # row by row, as the kernel reads them: no copies for it


def _dependence(readout: Readout, others: Float64Array, part: Float64Array) -> Float64Array:
    """Centred mean raw score over all rows, with the own part of each row in turn, (rows,)."""
    means = np.empty(part.shape[1])
    for some in readout.blocks(part.shape[1], part.shape[1] * part.shape[2]):
        values = eigenvalue(others[:, None] + part[:, some, None], readout.dim, readout.index)
        means[some] = readout.over_members(values).mean(axis=1)
    return np.asarray(means - means.mean())
