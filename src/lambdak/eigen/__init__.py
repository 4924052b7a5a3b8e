"""Eigenvalues of small symmetric matrices: λ_k and v_k of many at once, and their derivatives."""

from lambdak.eigen.functions import (
    EigenPair,
    eigenpair,
    eigenpair_vjp,
    eigenvalue,
    eigenvalue_vjp,
    tridiagonal_eigenpair,
    tridiagonal_eigenpair_vjp,
    tridiagonal_eigenvalue,
    tridiagonal_eigenvalue_vjp,
)

__all__ = [
    "EigenPair",
    "eigenpair",
    "eigenpair_vjp",
    "eigenvalue",
    "eigenvalue_vjp",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenpair_vjp",
    "tridiagonal_eigenvalue",
    "tridiagonal_eigenvalue_vjp",
]
