"""Eigenvalues of small symmetric matrices: λ_k and v_k of many at once, and their derivatives.

Modules: ``packing`` coordinates; ``functions`` the public ones; ``batch`` any shape to rows; ``engine`` what an
engine offers; ``lapack``, ``steps``, ``row_loss``, ``records`` the references; ``runtime`` which engine, how many
threads; ``blas`` on one thread; ``lazy`` attributes without locks; ``rounding`` how far an eigenvalue can be off;
``guess`` where to look for one first; ``native/`` the kernel.
"""

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
