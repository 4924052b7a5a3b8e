r"""A primal-dual interior-point method for the lifted problem: some ten steps, whatever the number of columns.

    min Σ_m w_m t_m + costᵀμ   so that   S_m = t_m I − C_m − Σ_a μ_a A_ma ⪰ 0,  μ ≥ 0,  q = h − G μ ≥ 0,  E μ = e

with dual variables W_m ⪰ 0, z ≥ 0, y ≥ 0 and ν. Nesterov and Todd's scaling G_m, for which GᵀS G = G⁻¹W G⁻ᵀ = D is
diagonal, Mehrotra's predictor and corrector. S is computed from (t, μ), so that it never drifts; q and E μ = e may
begin infeasible. Nothing here has to be proven: :meth:`Lifted.bound` is, for any W and y. Names in the Newton step are
those of the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from lambdak._types import Float64Array
from lambdak.eigen import eigenpair, eigenvalue
from lambdak.eigen.packing import sym, unsym
from lambdak.optimize.convex.lifted import Lifted, StandardForm, inner_mix, standard_rows

_RIDGES = (0.0, 1e-15, 1e-13, 1e-11)  # relative: where equations say the same, or rounding makes them so
_TINY = 1e-300
_MOST_STEPS = 80
_LEAST_STEP = 1e-5  # shorter ones lead nowhere
_LEAST_LEFT = 0.1  # of the gap that a predictor leaves: products that fall faster than others lose their digits
_SHORT = 0.98  # of the way to the boundary
_START = 0.1  # of the spectrum's width: how far t begins above the last eigenvalue


@final
@dataclass
class InteriorPoint:
    """Where the method stands: names are those of the module's formula."""

    t: Float64Array
    mu: Float64Array
    q: Float64Array
    W: Float64Array
    z: Float64Array
    y: Float64Array
    nu: Float64Array


class Move(NamedTuple):
    """A change of the state; of S and W in scaled and packed coordinates."""

    t: Float64Array
    mu: Float64Array
    q: Float64Array
    S: Float64Array
    W: Float64Array
    z: Float64Array
    y: Float64Array
    nu: Float64Array


@final
class Workspace:
    """A_ma as full matrices, and memory for GᵀA_aG of all members: new memory in every step takes most of its time."""

    def __init__(self, lifted: Lifted) -> None:
        members, n, size = lifted.packed.shape
        self.dim = dim = lifted.dim
        self.A = sym(lifted.packed).reshape(members, n * dim, dim) if n else np.zeros((members, 0, dim))
        self._right, self._both, self._own = np.empty((n * dim, dim)), np.empty((n, dim, dim)), np.empty((n, size))
        self._along = np.empty((n, size))
        self.left = np.empty((n, members, size))
        rows, columns = np.tril_indices(dim)
        self._where, self._factor = rows * dim + columns, np.where(rows == columns, 1.0, np.sqrt(2.0))

    def congruence(self, scaling: Float64Array, unit: Float64Array) -> Float64Array:
        """Fill ``left`` with packed GᵀA_aG without its part along the unit; that part is returned, (N, members)."""
        along = np.empty(self.left.shape[:2])
        for m, G in enumerate(scaling):
            np.matmul(self.A[m], G, out=self._right)
            np.matmul(G.T, self._right.reshape(self._both.shape), out=self._both)
            np.take(self._both.reshape(len(along), -1), self._where, axis=1, out=self._own, mode="clip")
            self._own *= self._factor
            along[:, m] = self._own @ unit[m]
            np.multiply(along[:, m, None], unit[m], out=self._along)
            np.subtract(self._own, self._along, out=self.left[:, m])
        return along


@final
class System:
    """The equations of a step at a state, factorised once: one solution for the predictor, one for the corrector."""

    def __init__(self, lifted: Lifted, space: Workspace, rows: StandardForm, state: InteriorPoint) -> None:
        self.rows, self.state = rows, state
        self._scale(lifted)
        self.along = space.congruence(self.scaling, self.unit)
        self.left = space.left.reshape(len(state.mu), -1)
        self._factorise()
        tangents = lifted.tangents(np.asarray(unsym(state.W), np.float64))
        self.stationary = -(tangents + lifted.cost - state.z + rows.G.T @ state.y + rows.E.T @ state.nu)
        self.trace = (lifted.weights - np.einsum("mii->m", state.W)) / self.length
        self.missed = rows.e - rows.E @ state.mu
        self.slack = rows.h - rows.G @ state.mu - state.q
        self.order = self.D.size + len(state.mu) + len(state.q)

    def _scale(self, lifted: Lifted) -> None:
        """The scaling, D (members, d), and the direction of the scaled identity, a packed unit vector (members, D)."""
        packed = lifted.constant + np.matmul(self.state.mu, lifted.packed)
        root = np.linalg.cholesky(self.state.t[:, None, None] * np.eye(lifted.dim) - sym(packed))
        turned = root.swapaxes(1, 2)
        squares, vectors = eigenpair(unsym(turned @ self.state.W @ root), lifted.dim, tuple(range(lifted.dim)))
        self.D = np.sqrt(np.maximum(squares, _TINY))
        self.scaling = np.linalg.solve(turned, (vectors * np.sqrt(self.D)[:, :, None]).swapaxes(1, 2))
        unit = unsym(self.scaling.swapaxes(1, 2) @ self.scaling)
        self.length = np.linalg.norm(unit, axis=1)
        self.unit = unit / self.length[:, None]

    def _factorise(self) -> None:
        """H is the Hessian in μ after t is eliminated."""
        state, rows, n = self.state, self.rows, len(self.state.mu)
        H = self.left @ self.left.T + (rows.G.T * (state.y / state.q)) @ rows.G
        H[np.arange(n), np.arange(n)] += state.z / state.mu
        self.H = _factor(H)
        self.HE = cho_solve(self.H, rows.E.T, check_finite=False)
        self.schur = _factor(rows.E @ self.HE)

    def solve(self, tau: float, ahead: Move | None) -> Move:
        """The step towards products τ, corrected for the products of the predictor's changes."""
        state, rows = self.state, self.rows
        K = self._products(tau, ahead)
        z = (tau - state.z * state.mu - (0.0 if ahead is None else ahead.z * ahead.mu)) / state.mu
        y = (tau - state.y * state.q - (0.0 if ahead is None else ahead.y * ahead.q)) / state.q
        y = y - state.y / state.q * self.slack
        right = self.stationary - self.left @ K.ravel() - self.along @ self.trace + z - rows.G.T @ y
        free = cho_solve(self.H, right, check_finite=False)
        nu = cho_solve(self.schur, rows.E @ free - self.missed, check_finite=False)
        mu = free - self.HE @ nu
        risen = (self.unit * K).sum(axis=1) - self.trace  # of S along the unit
        t = (risen + mu @ self.along) / self.length
        S = risen[:, None] * self.unit - (mu @ self.left).reshape(K.shape)
        through = rows.G @ mu
        return Move(
            t, mu, self.slack - through, S, K - S, z - state.z / state.mu * mu, y + state.y / state.q * through, nu
        )

    def _products(self, tau: float, ahead: Move | None) -> Float64Array:
        """What scaled changes of S and W sum up to, packed, (members, D)."""
        wanted = (tau - self.D * self.D)[:, :, None] * np.eye(self.D.shape[1])
        if ahead is not None:
            product = sym(ahead.S) @ sym(ahead.W)
            wanted = wanted - 0.5 * (product + product.swapaxes(1, 2))
        return np.asarray(unsym(2 * wanted / (self.D[:, :, None] + self.D[:, None, :])), np.float64)

    def lengths(self, move: Move) -> tuple[float, float]:
        """How far the primal and the dual variables can go, at most 1."""
        rows, columns = np.tril_indices(self.D.shape[1])
        size = np.sqrt(self.D[:, rows] * self.D[:, columns])
        least = eigenvalue(np.stack([move.S / size, move.W / size]), self.D.shape[1], 0)
        state = self.state
        return (
            _length(least[0], move.mu / state.mu, move.q / state.q),
            _length(least[1], move.z / state.z, move.y / state.y),
        )

    def gap(self, move: Move | None = None, primal: float = 0.0, dual: float = 0.0) -> float:
        """Sum of the products, now or after a move."""
        state = self.state
        if move is None:
            return float((self.D * self.D).sum() + state.z @ state.mu + state.y @ state.q)
        D = unsym(self.D[:, :, None] * np.eye(self.D.shape[1]))
        matrices = ((D + primal * move.S) * (D + dual * move.W)).sum()
        numbers = (state.z + dual * move.z) @ (state.mu + primal * move.mu)
        return float(matrices + numbers + (state.y + dual * move.y) @ (state.q + primal * move.q))


def _factor(matrix: Float64Array) -> tuple[Float64Array, bool]:
    """Cholesky's factorisation, with the least ridge that it needs."""
    every, size = np.arange(len(matrix)), matrix.diagonal().max()
    for ridge in _RIDGES:
        try:
            matrix[every, every] += ridge * size
            found: tuple[Float64Array, bool] = cho_factor(matrix, lower=True, check_finite=False)
            return found
        except LinAlgError:
            continue
    raise LinAlgError("no ridge makes the matrix definite")


def _length(*ratios: Float64Array) -> float:
    """The largest step in (0, 1] after which nothing is negative."""
    return float(1 / max(1.0, *(-ratio.min(initial=0.0) for ratio in ratios)))


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

    def _begin(self) -> InteriorPoint:
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
        return InteriorPoint(ends[:, -1] + above, mu, q, W, tau / mu, tau / q, np.zeros(len(rows.e)))

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
        self.state = InteriorPoint(
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
