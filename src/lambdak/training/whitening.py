r"""Whitened coordinates of free columns: C = B θ, where the parameters of the training rows have the covariance I.

Ramps are centred and whitened with damping: B Bᵀ ≈ T (Σ + ε s I)⁻¹ Tᵀ, where Σ is the covariance of all ramps and s its
mean eigenvalue. Weight decay on θ then penalises the variance of what a column contributes, plus ε times its roughness.
Every column is whitened by itself, B_c = T_c (Σ_c + ε s I)^{-1/2}; what is left of the covariance, M = I + correlations
between columns, is close to I but for a few directions V, so that M^{-1/2} ≈ I + V D Vᵀ: a step costs two thin products
instead of a square one. Design column 0, the constant, is θ's first row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import Basis, Ids
from lambdak.eigen.steps import step_engine
from lambdak.training.coordinates import Block, Moments
from lambdak.training.terms import Role, Roles

# Correlations between columns are looked for among so many of the directions with the largest variance.
LEADING = 192

# At most so many directions are whitened jointly, those whose deviation would be off by the largest factor
# (benchmarks/recipe.py: none against these) …
MOST_JOINT = 32

# … and none whose deviation is off by less: sampling a table of some thousand rows changes it as much.
_WORTH_IT = 0.15

_SMALLEST_SHARE = 1e-6  # of the variance that columns by themselves would have, where they cancel each other

# A mean variance below this is the rounding of a table that never varies.
_VARIES = 1e-12


class JointDirections(NamedTuple):
    """I + V D Vᵀ: directions V (ramps, r) over columns, and how much longer D (r,) each becomes."""

    directions: Float64Array
    lengthened: Float64Array


class CoordinateKind(NamedTuple):
    """What the coordinates of a model depend on: its damping, and which of the terms of a member it is."""

    damping: float
    term: int


class ColumnWhitening:
    """The covariance of the ramps of each column, and the correlations between columns unless they are ``apart``.

    ``roles`` (terms, blocks) are those of each term; blocks of different ones are apart.
    """

    def __init__(
        self, blocks: Sequence[Block], moments: Moments, apart: bool = False, roles: Roles | None = None
    ) -> None:
        self._roles = np.ones((1, len(blocks)), np.int8) if roles is None else roles
        self.size, self.mean, self.groups = blocks[-1].cols.stop if blocks else 1, moments.mean, blocks
        covariances = [g.ramps.T @ moments.block(g.rows) @ g.ramps for g in self.groups]
        self._spectra = [_eigh(covariance) for covariance in covariances]
        mean = sum(np.trace(covariance) for covariance in covariances) / max(self.size - 1, 1)
        self._unit = mean if mean > _VARIES else 1.0
        self._joint = len(blocks) > 1 and not apart and moments.covariance.ndim == 2
        if self._joint:
            self._correlate(moments.covariance)

    def bases(self, kinds: Sequence[CoordinateKind]) -> Iterator[tuple[Block, Float64Array]]:
        """T_c (Σ_c + ε s I)^{-1/2} of every column, (kinds, rows, cols); zero in terms that do not read it."""
        ridge = np.array([[kind.damping * self._unit] for kind in kinds])
        read = self._roles[[kind.term for kind in kinds]] != Role.ZERO
        for group, (values, basis), reads in zip(self.groups, self._spectra, read.T, strict=True):
            root = reads[:, None] / np.sqrt(values + ridge)  # (kinds, cols)
            yield group, (group.ramps @ basis) * root[:, None, :] @ basis.T

    def joints(self, kinds: Sequence[CoordinateKind]) -> list[JointDirections]:
        """What is to be whitened across columns, for each kind."""
        if not self._joint:
            return [JointDirections(np.empty((self.size - 1, 0)), np.empty(0)) for _ in kinds]
        return [self._joint_of(kind.damping * self._unit, self._roles[kind.term]) for kind in kinds]

    def _correlate(self, covariance: Float64Array) -> None:
        """Covariances between the leading directions of different columns."""
        variance = np.concatenate([values for values, _ in self._spectra])
        chosen = np.sort(np.argsort(-variance, kind="stable")[:LEADING])
        self._leading, self._variance = np.zeros((self.size - 1, len(chosen))), variance[chosen]
        design, owner = np.zeros((len(self.mean), len(chosen))), np.empty(len(chosen), int)
        for place, (group, (_, basis)) in enumerate(zip(self.groups, self._spectra, strict=True)):
            first, last = np.searchsorted(chosen, [group.cols.start - 1, group.cols.stop - 1])
            directions = basis[:, chosen[first:last] - group.cols.start + 1]
            self._leading[group.cols.start - 1 : group.cols.stop - 1, first:last] = directions
            design[group.rows, first:last], owner[first:last] = group.ramps @ directions, place
        across = owner[:, None] != owner
        self._between, self._places = np.where(across, design.T @ covariance @ design, 0), owner

    def _joint_of(self, ridge: float, roles: Roles) -> JointDirections:
        root, roles_of_places = 1 / np.sqrt(self._variance + ridge), roles[self._places]
        between = np.where(
            (roles_of_places[:, None] == roles_of_places) & (roles_of_places != Role.ZERO), self._between, 0
        )
        values, basis = np.linalg.eigh(np.eye(len(root)) + root[:, None] * between * root)
        longer = 1 / np.sqrt(np.maximum(values, _SMALLEST_SHARE)) - 1
        order = np.argsort(-np.abs(longer), kind="stable")[:MOST_JOINT]
        chosen = order[np.abs(longer[order]) > _WORTH_IT]
        return JointDirections(self._leading @ basis[:, chosen], longer[chosen])


class FreeCoordinates:
    """C = B θ: the coefficients of the free columns of a stack of models, each with its own damping ε and term."""

    def __init__(
        self, whitening: ColumnWhitening, damping: Sequence[float], terms: Sequence[int] | None = None
    ) -> None:
        kinds = [CoordinateKind(*kind) for kind in zip(damping, terms or [0] * len(damping), strict=True)]
        self._whitening, self._kinds = whitening, sorted(set(kinds))
        self._which = [self._kinds.index(kind) for kind in kinds]
        self.size, self.n_design = whitening.size, len(whitening.mean)
        self.basis = self._basis(whitening.joints(self._kinds))

    def write_(self, theta: FloatArray, coef: FloatArray, threads: int = 0) -> None:
        """Fill coef (models, P, width) from θ (models, size, width)."""
        basis, mixed = self.basis, self._mixed(theta, threads)
        step_engine().multiply(basis.left, self._which, mixed, basis.left_spans, coef, threads)
        coef[:, :1] = np.matmul(basis.constant[self._which], theta)

    def exact(self, theta: Float64Array) -> Float64Array:
        """What :meth:`write_` writes, in float64 throughout."""
        coef, mixed = np.zeros((len(theta), self.n_design, theta.shape[-1])), theta.copy()
        for model, joint in enumerate(self._whitening.joints(self._kinds)[kind] for kind in self._which):
            free = theta[model, 1:]
            mixed[model, 1:] += joint.directions * joint.lengthened @ (joint.directions.T @ free)
        coef[:, 0] = theta[:, 0]
        for group, basis in self._whitening.bases(self._kinds):
            rows = basis[self._which] @ mixed[:, group.cols]
            coef[:, group.rows] = rows
            coef[:, 0] -= np.einsum("p,mpw->mw", self._whitening.mean[group.rows], rows)
        return coef

    def pull_back_(self, grad_coef: FloatArray, grad: FloatArray, threads: int = 0) -> None:
        """Fill grad (models, size, width) with the transpose of :meth:`write_`."""
        basis = self.basis
        step_engine().multiply(basis.back, self._which, grad_coef, basis.back_spans, grad, threads)
        grad[...] = self._mixed(grad, threads)
        grad += basis.wide[self._which][..., -1:] * grad_coef[:, :1]

    def _mixed(self, theta: FloatArray, threads: int) -> FloatArray:
        """(I + V D Vᵀ) θ."""
        thin, wide = self.basis.thin, self.basis.wide
        if not thin.shape[1]:
            return theta
        models, _, width = theta.shape
        inner, result = np.empty((models, thin.shape[1], width), theta.dtype), np.empty_like(theta)
        step_engine().multiply(thin, self._which, theta, _whole(thin, theta.shape[1]), inner, threads)
        step_engine().multiply(wide, self._which, inner, _whole(wide, inner.shape[1]), result, threads)
        result += theta
        return result

    def _basis(self, joints: list[JointDirections]) -> Basis:
        kinds, groups = len(self._kinds), self._whitening.groups
        reach = max((group.cols.stop - group.cols.start for group in groups), default=1)
        back_reach = max((group.rows.stop - group.rows.start for group in groups), default=1)
        left = np.zeros((kinds, self.n_design, reach), np.float32)
        back = np.zeros((kinds, self.size, back_reach), np.float32)
        left_spans, back_spans = np.zeros((self.n_design, 2), np.int32), np.zeros((self.size, 2), np.int32)
        centre = np.zeros((kinds, self.size))
        for group, basis in self._whitening.bases(self._kinds):
            left[:, group.rows, : basis.shape[2]] = basis
            back[:, group.cols, : basis.shape[1]] = basis.transpose(0, 2, 1)
            left_spans[group.rows] = group.cols.start, group.cols.stop
            back_spans[group.cols] = group.rows.start, group.rows.stop
            centre[:, group.cols] = self._whitening.mean[group.rows] @ basis
        left[:, 0, 0] = back[:, 0, 0] = 1
        left_spans[0] = back_spans[0] = 0, 1
        thin, wide = self._thin_and_wide(joints)
        centre += (wide @ (thin @ centre[..., None]))[..., 0]
        wide = np.concatenate([wide, -centre[..., None]], axis=2)
        centre[:, 0] = -1
        arrays = (left, left_spans, back, back_spans, thin.astype(np.float32), wide.astype(np.float32))
        return Basis(*arrays, np.negative(centre[:, None], dtype=np.float32, casting="same_kind"), self._which)

    def _thin_and_wide(self, joints: list[JointDirections]) -> tuple[Float64Array, Float64Array]:
        """Vᵀ (kinds, r, size) and V D (kinds, size, r), zeros where one damping has fewer directions."""
        most = max((len(joint.lengthened) for joint in joints), default=0)
        thin, wide = np.zeros((len(joints), most, self.size)), np.zeros((len(joints), self.size, most))
        for kind, (directions, lengthened) in enumerate(joints):
            thin[kind, : len(lengthened), 1:] = directions.T
            wide[kind, 1:, : len(lengthened)] = directions * lengthened
        return thin, wide


def _whole(left: FloatArray, inner: int) -> Ids:
    """Spans of rows without zeros among the first columns."""
    spans = np.zeros((left.shape[1], 2), np.int32)
    spans[:, 1] = inner
    return spans


def _eigh(covariance: Float64Array) -> tuple[Float64Array, Float64Array]:
    if len(covariance) == 1:
        return np.maximum(covariance[0], 0), np.ones((1, 1))
    values, basis = np.linalg.eigh(covariance)
    return np.maximum(values, 0), basis
