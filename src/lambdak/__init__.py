"""lambdak: the spectral neuron, f(x) = λ_k(A₀ + Σ x_i A_i), one eigenvalue of a learned symmetric matrix.

A name is imported when it is first used, so that a command or a service loads only what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        SpectralCompetingRisks,
        SpectralOrdinalClassifier,
        SpectralQuantileRegressor,
        SpectralRegressor,
        SpectralSurvival,
        compare_report,
        from_json,
        load,
        save,
    )
    from lambdak.pencil import Pencil
    from lambdak.table.doubtful_columns import IdentifierWarning, StrayTextWarning

    __version__: str

__all__ = [
    "DateExpander",
    "EigenPair",
    "IdentifierWarning",
    "Pencil",
    "SpectralClassifier",
    "SpectralCompetingRisks",
    "SpectralOrdinalClassifier",
    "SpectralQuantileRegressor",
    "SpectralRegressor",
    "SpectralSurvival",
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

_NAMES = {
    "eigen": "EigenPair eigenpair eigenpair_vjp eigenvalue eigenvalue_vjp tridiagonal_eigenpair "
    "tridiagonal_eigenpair_vjp tridiagonal_eigenvalue tridiagonal_eigenvalue_vjp",
    "eigen.packing": "diagonal_indices sym unsym",
    "eigen.runtime": "get_num_threads set_num_threads show_config",
    "estimators": "DateExpander SpectralClassifier SpectralCompetingRisks SpectralOrdinalClassifier "
    "SpectralQuantileRegressor SpectralRegressor SpectralSurvival compare_report from_json load save",
    "pencil": "Pencil",
    "table.doubtful_columns": "IdentifierWarning StrayTextWarning",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
_PACKAGES = (  # `lambdak.optimize` needs no import of its own
    "certify", "eigen", "estimators", "explain", "export", "governance", "losses", "model", "optimize", "pencil",
    "report", "shapes", "store", "table", "training",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a public name or a package, imported at its first use."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version(__name__)
    elif name in _MODULE_OF:
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and packages, imported or not."""
    return sorted({*globals(), *__all__, *_PACKAGES, "__version__"})
