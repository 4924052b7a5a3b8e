"""lambdak: the spectral neuron, f(x) = λ_k(A₀ + Σ x_i A_i), one eigenvalue of a learned symmetric matrix."""

from importlib.metadata import version

from lambdak.eigen import (
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
from lambdak.eigen.packing import diagonal_indices, sym, unsym
from lambdak.eigen.runtime import get_num_threads, set_num_threads, show_config
from lambdak.estimators import (
    SpectralClassifier,
    SpectralOrdinalClassifier,
    SpectralQuantileRegressor,
    SpectralRegressor,
    from_json,
    load,
)
from lambdak.pencil import Pencil

__version__ = version("lambdak")

__all__ = [
    "EigenPair",
    "Pencil",
    "SpectralClassifier",
    "SpectralOrdinalClassifier",
    "SpectralQuantileRegressor",
    "SpectralRegressor",
    "diagonal_indices",
    "eigenpair",
    "eigenpair_vjp",
    "eigenvalue",
    "eigenvalue_vjp",
    "from_json",
    "get_num_threads",
    "load",
    "set_num_threads",
    "show_config",
    "sym",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenpair_vjp",
    "tridiagonal_eigenvalue",
    "tridiagonal_eigenvalue_vjp",
    "unsym",
]
