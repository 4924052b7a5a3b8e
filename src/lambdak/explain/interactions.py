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
from lambdak.model.readout import Readout, slots_of
from lambdak.table.design import Design
from lambdak.table.rows import spread_rows

_H_ROWS = 40  # of which all pairs are formed
_H_PAIRS = 45  # pairs of columns that H is computed for, the strongest first
_TINY = 1e-300


@dataclass(frozen=True)
class Interaction:
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
    """Return all pairs of columns, the largest joint effect first, or the largest commutator if there are no rows.

    Joint effects are observed of the pairs with the strongest coupling; the others follow by their coupling.
    """
    names, unknown = [column.name for column in readout.columns], (np.nan, np.nan)
    pairs = list(combinations(range(len(names)), 2))
    commuting = commutators(readout, design)
    coupled = np.full(commuting.shape, np.nan) if design is None else couplings(readout, design)
    order = sorted(pairs, key=lambda pair: -(commuting if design is None else coupled)[pair])
    observed = {} if design is None else h_statistics(readout, design, order[:_H_PAIRS])
    order = sorted(observed, key=lambda pair: -observed[pair][0]) + order[len(observed) :]
    return tuple(
        Interaction(names[i], names[j], float(commuting[i, j]), float(coupled[i, j]), *observed.get((i, j), unknown))
        for i, j in order
    )


def couplings(readout: Readout, design: Design) -> Float64Array:
    """Root mean square over the rows of the mixed second-order term of two columns, (columns, columns).

    A_i is taken about its mean over the rows. A gap narrower than the pull of the two columns across it counts as wide
    as that pull: there the expansion ends.
    """
    n = len(readout.columns)
    total = np.zeros((n, n, len(design)))
    spectrum, basis = eigenpair(readout.packed(design), readout.dim, range(readout.dim))
    for member, weight in enumerate(readout.weights):
        vectors, values = basis[member], spectrum[member]
        vector, gaps = vectors[:, readout.index], values[:, [readout.index]] - values
        couplings_of = []  # v_lᵀ A_i v_k, (rows, d) for each column
        for i in range(n):
            matrices = sym(_centred(readout, design, i, member))
            couplings_of.append(np.einsum("rlj,rj->rl", vectors, np.einsum("rij,rj->ri", matrices, vector)))
        for i, j in combinations(range(n), 2):
            floor = np.sqrt((couplings_of[i] ** 2 + couplings_of[j] ** 2).sum(axis=1, keepdims=True)) + _TINY
            inverse = np.sign(gaps) / np.maximum(np.abs(gaps), floor)
            inverse[:, readout.index] = 0.0
            total[i, j] += weight * 2.0 * (couplings_of[i] * couplings_of[j] * inverse).sum(axis=1)
    return np.asarray(readout.scale * np.sqrt((total**2).mean(axis=2)))


def commutators(readout: Readout, design: Design | None) -> Float64Array:
    """(Σ_m w_m E‖[A_i, A_j]‖²_F)^¼ in units of the raw score, (columns, columns), with independent x_i and x_j.

    Cells are those of the rows, or the extreme cells of a column if there are none; A_i is taken about its mean. With
    ‖[A, B]‖² = 2 tr(A²B²) − 2 tr(ABAB), means over pairs of cells are products of moments of each column.
    """
    n = len(readout.columns)
    total = np.zeros((n, n))
    for member, weight in enumerate(readout.weights):
        spread = [_moments(readout, design, i, member) for i in range(n)]
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
        cells = design.to_sparse(readout.coef.shape[1])[:, column.start : column.stop].toarray()
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
    slots = slots_of(readout.columns)[i]
    entries = (design.weights[:, [slot]] * readout.coef[:, design.ids[:, slot]] for slot in slots)
    return np.ascontiguousarray(sum(entries))  # row by row, as the kernel reads them: no copies for it


def _dependence(readout: Readout, others: Float64Array, part: Float64Array) -> Float64Array:
    """Centred mean raw score over all rows, with the own part of each row in turn, (rows,)."""
    means = np.empty(part.shape[1])
    for some in readout.blocks(part.shape[1], part.shape[1] * part.shape[2]):
        values = eigenvalue(others[:, None] + part[:, some, None], readout.dim, readout.index)
        means[some] = readout.over_members(values).mean(axis=1)
    return np.asarray(means - means.mean())
