"""The matrices of a model as one array, for all raw scores and members together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from lambdak._types import Float64Array
from lambdak.eigen.packing import ROOT_HALF
from lambdak.export.formula import Formula


@final
@dataclass(frozen=True, eq=False)
class Matrices:
    """Entries of lower triangles, row by row; divided by a power of two, so that float32 holds them.

    Attributes
    ----------
    coef : array of shape (E, 1 or outputs, members, design columns)
        Outputs that share their matrices have them once.
    constant : array of shape (E, outputs, members, 1)
        A_0.
    indices : array of shape (outputs,)
        The position of the eigenvalue of each.
    scale : float
        Raw score per unit of an eigenvalue.
    """

    dim: int
    coef: Float64Array
    constant: Float64Array
    indices: tuple[int, ...]
    weights: Float64Array
    scale: float
    start: Float64Array

    @classmethod
    def of(cls, formula: Formula) -> Matrices:
        """Matrices of a formula."""
        model = formula.model
        each = [(family, index) for family in formula.families for index in family.indices]
        shared = len({id(family.coef) for family, _ in each}) == 1
        coef = np.stack([family.coef for family, _ in (each[:1] if shared else each)])  # (groups, M, P, D)
        constant = np.stack([family.constant for family, _ in each])  # (outputs, M, D)
        size = _power_of_two(max(np.abs(coef).max(initial=0.0), np.abs(constant).max(initial=0.0)))
        factor = np.where(_on_diagonal(model.dim), 1.0, ROOT_HALF)
        return cls(
            dim=model.dim,
            coef=np.transpose(coef / size * factor, (3, 0, 1, 2)),
            constant=np.transpose(constant / size * factor, (2, 0, 1))[..., None],
            indices=tuple(index for _, index in each),
            weights=model.weights,
            scale=model.scale * size,
            start=model.start,
        )

    @property
    def per_row(self) -> int:
        """Matrices of a row."""
        return int(np.prod(self.constant.shape[1:]))


def _on_diagonal(dim: int) -> Float64Array:
    rows, columns = np.tril_indices(dim)
    return np.asarray(rows == columns)


def _power_of_two(largest: float) -> float:
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]))) if largest else 1.0
