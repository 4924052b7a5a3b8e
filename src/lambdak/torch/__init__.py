"""The spectral neuron as a citizen of PyTorch: a differentiable eigenpair, modules, hyper-networks and flows."""

from lambdak.torch.autograd import (
    EigenPair,
    eigenpair,
    eigenvalue,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
)
from lambdak.torch.packing import sym, unsym

__all__ = [
    "EigenPair",
    "eigenpair",
    "eigenvalue",
    "sym",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenvalue",
    "unsym",
]
