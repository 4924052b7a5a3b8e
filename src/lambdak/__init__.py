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
    DateExpander,
    SpectralClassifier,
    SpectralOrdinalClassifier,
    SpectralQuantileRegressor,
    SpectralRegressor,
    compare_report,
    from_json,
    load,
    save,
)
from lambdak.pencil import Pencil
from lambdak.table.identifiers import IdentifierWarning
from lambdak.table.stray_text import StrayTextWarning

__version__ = version("lambdak")

__all__ = [
    "DateExpander",
    "EigenPair",
    "IdentifierWarning",
    "Pencil",
    "SpectralClassifier",
    "SpectralOrdinalClassifier",
    "SpectralQuantileRegressor",
    "SpectralRegressor",
    "StrayTextWarning",
    "compare_report",
    "diagonal_indices",
    "eigenpair",
    "eigenpair_vjp",
    "eigenvalue",
    "eigenvalue_vjp",
    "from_json",
    "get_num_threads",
    "load",
    "save",
    "set_num_threads",
    "show_config",
    "sym",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenpair_vjp",
    "tridiagonal_eigenvalue",
    "tridiagonal_eigenvalue_vjp",
    "unsym",
]
