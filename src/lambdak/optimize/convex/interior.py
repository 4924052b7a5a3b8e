r"""A primal-dual interior-point method for the lifted problem: some ten steps, whatever the number of columns.

    min Σ_m w_m t_m + costᵀμ   so that   S_m = t_m I − C_m − Σ_a μ_a A_ma ⪰ 0,  μ ≥ 0,  q = h − G μ ≥ 0,  E μ = e

with dual variables W_m ⪰ 0, z ≥ 0, y ≥ 0 and ν. Nesterov and Todd's scaling G_m, for which GᵀS G = G⁻¹W G⁻ᵀ = D is
diagonal, Mehrotra's predictor and corrector. S is computed from (t, μ), so that it never drifts; q and E μ = e may
begin infeasible. Nothing here has to be proven: :meth:`Lifted.bound` is, for any W and y.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np
from scipy.linalg import LinAlgError

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.packing import sym, unsym
from lambdak.optimize.convex.feasible import inner_mix
from lambdak.optimize.convex.lifted import Lifted
from lambdak.optimize.convex.newton import State, System, Workspace, standard_rows

_MOST_STEPS = 80
_LEAST_STEP = 1e-5  # shorter ones lead nowhere
_LEAST_LEFT = 0.1  # of the gap that a predictor leaves: products that fall faster than others lose their digits
_SHORT = 0.98  # of the way to the boundary
_START = 0.1  # of the spectrum's width: how far t begins above the last eigenvalue
_TINY = 1e-300


class Iterate(NamedTuple):
    """A mix μ (N,), packed W (members, D) with traces w_m, multipliers (R,) of the linear constraints."""

    mu: Float64Array
    packed: Float64Array
    multipliers: Float64Array


def iterates(lifted: Lifted) -> Iterator[Iterate]:
    """Ever better mixes and dual matrices; ends where rounding allows no further step."""
    if not len(lifted.points):
        yield _only(lifted)
        return
    method = _Method(lifted)
    for _ in range(_MOST_STEPS):
        try:
            yield method.iterate()
            if not method.step():
                return
        except LinAlgError:  # rounding has used up the interior
            return


@final
class _Method:
    """The matrices of a lifted problem, and the state."""

    def __init__(self, lifted: Lifted) -> None:
        self.lifted, self.rows = lifted, standard_rows(lifted)
        self.w, self.dim = lifted.weights, lifted.dim
        self.space = Workspace(lifted)
        self.state = self._begin()

    def _begin(self) -> State:
        lifted, rows = self.lifted, self.rows
        mu = inner_mix(rows, 1.0 / np.bincount(lifted.owner)[lifted.owner])
        middle = lifted.constant + np.matmul(mu, lifted.packed)
        ends = eigenvalue(middle, self.dim, (0, self.dim - 1)) if self.dim > 1 else np.repeat(middle, 2, axis=1)
        spread = np.linalg.norm(lifted.packed - np.matmul(mu, lifted.packed)[:, None] / len(lifted.first), axis=2)
        above = _START * (ends[:, -1] - ends[:, 0]) + 0.1 * spread.max(axis=1)
        above = np.maximum(above, 1e-6 * np.abs(ends).max() + _TINY)
        tau = float(self.w @ (above + 0.5 * (ends[:, -1] - ends[:, 0]))) / (len(self.w) * self.dim)
        slack = rows.h - rows.G @ mu
        q = np.where(slack > 0, slack, 0.1 * np.ptp(rows.G, axis=1) + _TINY)
        W = (self.w / self.dim)[:, None, None] * np.eye(self.dim)
        return State(ends[:, -1] + above, mu, q, W, tau / mu, tau / q, np.zeros(len(rows.e)))

    def iterate(self) -> Iterate:
        state, rows = self.state, self.rows
        own = np.zeros(len(rows.scale))
        ups = np.count_nonzero(rows.upper)
        own[rows.upper] += state.y[:ups]
        own[rows.lower] -= state.y[ups:]
        own[rows.equal] += state.nu[len(self.lifted.first) :]
        return Iterate(state.mu, _semidefinite(state.W, self.w), own * rows.scale)

    def step(self) -> bool:
        """One predictor and corrector; whether it led anywhere."""
        system = System(self.lifted, self.space, self.rows, self.state)
        state, ahead = self.state, system.solve(0.0, None)
        tau = system.gap() / system.order
        primal, dual = system.lengths(ahead)
        left = max(system.gap(ahead, primal, dual) / system.gap(), _LEAST_LEFT)
        move = system.solve(left**3 * tau, ahead)
        primal, dual = (length if length >= 1 else _SHORT * length for length in system.lengths(move))
        W = system.scaling @ sym(move.W) @ system.scaling.swapaxes(1, 2)
        self.state = State(
            state.t + primal * move.t,
            state.mu + primal * move.mu,
            state.q + primal * move.q,
            state.W + 0.5 * dual * (W + W.swapaxes(1, 2)),
            state.z + dual * move.z,
            state.y + dual * move.y,
            state.nu + dual * move.nu,
        )
        return bool(max(primal, dual) > _LEAST_STEP and np.isfinite(self.state.W).all())


def _semidefinite(W: Float64Array, traces: Float64Array) -> Float64Array:
    """Packed R Rᵀ with these traces, in the direction of W, (members, D): semidefinite but for rounding."""
    root = np.linalg.cholesky(W)
    own = np.einsum("mij,mij->m", root, root)
    return np.asarray(unsym(root @ root.swapaxes(1, 2)) * (traces / own)[:, None], np.float64)


def _only(lifted: Lifted) -> Iterate:
    """The solution where there is nothing to choose."""
    vectors = np.asarray(eigenpair(lifted.constant, lifted.dim, lifted.dim - 1)[1], np.float64)
    outer = unsym(vectors[:, :, None] * vectors[:, None, :]) / (vectors * vectors).sum(axis=1)[:, None]
    return Iterate(np.zeros(0), lifted.weights[:, None] * outer, np.zeros(len(lifted.limits.low)))
