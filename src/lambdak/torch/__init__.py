"""The spectral neuron as a citizen of PyTorch: a differentiable eigenpair, modules, hyper-networks and flows.

Modules: ``packing``, ``inputs`` what is refused, ``operators``, ``derivatives``, ``dispatch`` which way a call takes,
``device`` the kernel of GPUs, ``autograd``; ``spectral_maps`` matrix functions, ``constraints``, ``coordinates`` of
one kind of matrices;
``linear_shapes`` what shapes ask of matrices, ``implied`` what follows from that, ``shaped`` and ``slopes`` how they
keep it, ``promised`` what holds now; ``states`` what is saved of modules, ``constrained``, ``modules``, ``sparse``;
``composition`` what networks guarantee, ``parts`` and ``composed_shapes`` how it composes; ``convert``, ``shrink`` and
``proximal`` the Lasso; ``starts`` from convex fits, ``lbfgs`` on all rows; ``hyper``, ``flow``; ``several`` what
modules that read several eigenvalues share: ``sums``, ``ordered``; ``generalized``, ``hermitian``; ``transport`` the
processes of torch.distributed.
"""

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
from lambdak.torch.device.choice import device_kernel
from lambdak.torch.flow import SpectralTransform
from lambdak.torch.generalized import GeneralizedSpectralNeuron, generalized_eigenpair, generalized_eigenvalue
from lambdak.torch.hermitian import (
    HermitianSpectralNeuron,
    hermitian,
    hermitian_eigenpair,
    hermitian_eigenvalue,
    unhermitian,
)
from lambdak.torch.hyper import HyperSpectralNeuron
from lambdak.torch.lbfgs import WeakWolfeLBFGS
from lambdak.torch.modules import SpectralLayer, SpectralNeuron
from lambdak.torch.ordered import OrderedSpectralLayer
from lambdak.torch.packing import sym, unsym
from lambdak.torch.proximal import add_proximal_step
from lambdak.torch.shrink import shrink_, spectral_penalty
from lambdak.torch.sparse import SparseSpectralNeuron
from lambdak.torch.starts import Whitening, convex_start_
from lambdak.torch.sums import SpectralMixture, eigenvalue_sum, ky_fan_sum
from lambdak.torch.transport import ProcessGroup

__all__ = [
    "Definite",
    "EigenPair",
    "GeneralizedSpectralNeuron",
    "Guarantees",
    "HermitianSpectralNeuron",
    "HyperSpectralNeuron",
    "OrderedSpectralLayer",
    "ProcessGroup",
    "SparseSpectralNeuron",
    "SpectralEnsemble",
    "SpectralLayer",
    "SpectralMixture",
    "SpectralNeuron",
    "SpectralTransform",
    "WeakWolfeLBFGS",
    "Whitening",
    "add_proximal_step",
    "convex_start_",
    "device_kernel",
    "eigenpair",
    "eigenvalue",
    "eigenvalue_sum",
    "from_pencil",
    "generalized_eigenpair",
    "generalized_eigenvalue",
    "guarantees",
    "hermitian",
    "hermitian_eigenpair",
    "hermitian_eigenvalue",
    "ky_fan_sum",
    "shrink_",
    "spectral_norm",
    "spectral_penalty",
    "sym",
    "to_pencil",
    "tridiagonal_eigenpair",
    "tridiagonal_eigenvalue",
    "unhermitian",
    "unsym",
]
