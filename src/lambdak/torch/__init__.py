"""The spectral neuron as a citizen of PyTorch: a differentiable eigenpair, modules, hyper-networks and flows."""

from lambdak.torch.autograd import (
    EigenPair,
    eigenpair,
    eigenvalue,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
)
from lambdak.torch.constraints import Definite
from lambdak.torch.modules import SpectralLayer, SpectralNeuron
from lambdak.torch.packing import sym, unsym
from lambdak.torch.sparse import SparseSpectralNeuron

__all__ = [
    "Definite",
    "EigenPair",
    "SparseSpectralNeuron",
    "SpectralLayer",
    "SpectralNeuron",
    "eigenpair",
    "eigenvalue",
    "sym",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenvalue",
    "unsym",
]
