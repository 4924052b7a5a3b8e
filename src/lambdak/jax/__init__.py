"""The eigenvalue and the neuron for JAX: derivatives of any order, jit and vmap, by the compiled kernel or in XLA.

Modules: ``packing``; ``eigen`` values, vectors and their derivatives; ``choice`` whether a callback to the kernel
computes them, or ``device`` in XLA; ``sums``; ``neuron`` as pure
functions.
"""

try:
    import jax  # noqa: F401
except ImportError:
    raise ImportError("lambdak.jax needs JAX: pip install 'lambdak[jax]'") from None

from lambdak.jax.choice import host_kernel
from lambdak.jax.eigen import (
    EigenPair,
    eigenpair,
    eigenvalue,
    spectral_norm,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
)
from lambdak.jax.neuron import SpectralNeuron
from lambdak.jax.packing import sym, unsym
from lambdak.jax.sums import eigenvalue_sum, ky_fan_sum

__all__ = [
    "EigenPair",
    "SpectralNeuron",
    "eigenpair",
    "eigenvalue",
    "eigenvalue_sum",
    "host_kernel",
    "ky_fan_sum",
    "spectral_norm",
    "sym",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenvalue",
    "unsym",
]
