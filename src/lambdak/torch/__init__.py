"""The spectral neuron as a citizen of PyTorch: a differentiable eigenpair, modules, hyper-networks and flows."""

try:
    import torch  # noqa: F401
except ImportError:
    raise ImportError("lambdak.torch needs PyTorch: pip install 'lambdak[torch]'") from None

from lambdak.torch.autograd import (
    EigenPair,
    eigenpair,
    eigenvalue,
    spectral_norm,
    tridiagonal_eigenpair,
    tridiagonal_eigenvalue,
)
from lambdak.torch.composition import Guarantees, guarantees
from lambdak.torch.constraints import Definite
from lambdak.torch.convert import SpectralEnsemble, from_pencil, to_pencil
from lambdak.torch.flow import SpectralTransform
from lambdak.torch.hyper import HyperSpectralNeuron
from lambdak.torch.modules import SpectralLayer, SpectralNeuron
from lambdak.torch.packing import sym, unsym
from lambdak.torch.shrink import add_proximal_step, shrink_, spectral_penalty
from lambdak.torch.sparse import SparseSpectralNeuron

__all__ = [
    "Definite",
    "EigenPair",
    "Guarantees",
    "HyperSpectralNeuron",
    "SparseSpectralNeuron",
    "SpectralEnsemble",
    "SpectralLayer",
    "SpectralNeuron",
    "SpectralTransform",
    "add_proximal_step",
    "eigenpair",
    "eigenvalue",
    "from_pencil",
    "guarantees",
    "shrink_",
    "spectral_norm",
    "spectral_penalty",
    "sym",
    "to_pencil",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenvalue",
    "unsym",
]
