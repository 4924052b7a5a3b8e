r"""The spectral neuron on ids and values, for inputs of which a few are active out of many."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import torch
from lambdak._checks import check_dim, check_int, check_positive
from lambdak.pencil.initial import gapped
from lambdak.torch.autograd import coordinate_eigenvalue, spectral_norm
from lambdak.torch.inputs import check_tensor
from lambdak.torch.packing import width
from lambdak.torch.states import ReadsEigenvalues
from torch import Tensor, nn

_STARTED = 1 << 16  # matrices whose start is drawn at once


class SparseSpectralNeuron(ReadsEigenvalues):
    r"""f(ids, values) = λ_k(A_0 + Σ_s value_s A_{id_s}), from (..., slots) to (...).

    Parameters
    ----------
    num_ids, dim
        Number of matrices, and their size.
    eig_idx
        Zero-based position of the eigenvalue in ascending order; None is ``dim // 2``.
    active
        s, how many ids of a row are active, for the start.
    sparse
        Whether the gradient of ``weight`` is a sparse tensor with the active rows only, as ``torch.optim.SparseAdam``
        takes it. ``constant`` always has a dense one, and needs an optimiser of its own then. Sparse gradients are
        PyTorch's: they can be neither compiled nor differentiated once more. ``DistributedDataParallel`` asks for
        ``sparse`` when it wraps a module: set it before.
    bound
        R, the largest magnitude that values are expected to have, for the start: the paper's is 5, and its jitter
        1/(4Rs).
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> neuron = SparseSpectralNeuron(1000, dim=3, active=2)
    >>> neuron(torch.tensor([[3, 999], [5, 3]])).shape
    torch.Size([2])
    """

    def __init__(
        self,
        num_ids: int,
        dim: int,
        eig_idx: int | None = None,
        *,
        active: int = 1,
        sparse: bool = True,
        bound: float = 5.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_ids, self.dim = check_int(num_ids, "num_ids", 1, 2**31), check_dim(dim)
        self.eig_idx = dim // 2 if eig_idx is None else check_int(eig_idx, "eig_idx", 0, dim)
        self.active = check_int(active, "active", 1, num_ids + 1)
        self.bound = check_positive(bound, "bound")
        self.constant = nn.Parameter(torch.empty(width(dim), device=device, dtype=dtype))
        # DistributedDataParallel expects sparse gradients of parameters of nn.Embedding and nn.EmbeddingBag only.
        room = torch.empty(num_ids, width(dim), device=device, dtype=dtype)
        self.table = nn.EmbeddingBag(num_ids, width(dim), mode="sum", sparse=sparse, _weight=room)
        self.reset_parameters()

    @property
    def weight(self) -> Tensor:
        """Coordinates of the A_i, (num_ids, width), which are the parameter of ``table``."""
        return self.table.weight

    @property
    def sparse(self) -> bool:
        """Whether the gradient of ``weight`` is sparse."""
        return self.table.sparse

    @sparse.setter
    def sparse(self, sparse: bool) -> None:
        self.table.sparse = sparse

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Load state dicts of earlier versions as well, in which the table had another name."""
        if prefix + "weight" in state_dict:
            state_dict[prefix + "table.weight"] = state_dict.pop(prefix + "weight")
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def reset_parameters(self) -> None:
        """The paper's start, from PyTorch's generator."""
        if self.weight.is_meta:
            return
        rng = np.random.default_rng(int(torch.randint(2**31, (), device="cpu").item()))
        with torch.no_grad():
            for start in range(0, self.num_ids, _STARTED):
                count = min(_STARTED, self.num_ids - start)
                drawn = gapped(
                    max(count, self.active), self.dim, self.eig_idx, random_state=rng, bound=self.bound,
                    fan_in=self.active,
                )  # fmt: skip
                self.weight[start : start + count] = torch.from_numpy(drawn[1 : 1 + count]).to(self.weight)
            self.constant.copy_(torch.from_numpy(drawn[0]))

    def forward(self, ids: Tensor, values: Tensor | None = None) -> Tensor:
        """λ_k for ids (..., slots) and values of the same shape, or ones; a slot to be ignored has value 0."""
        check_tensor(ids, "ids")
        if values is not None:
            check_tensor(values, "values")
        if values is not None and values.shape != ids.shape:
            raise ValueError(f"values must have the shape of ids, {tuple(ids.shape)}; got {tuple(values.shape)}")
        if ids.ndim == 0 or ids.shape[-1] == 0:
            raise ValueError(f"ids must have shape (..., slots) with at least one slot; got {tuple(ids.shape)}")
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise TypeError(f"ids must be integers; got {ids.dtype}: use ids.long()")
        rows = ids.reshape(prod(ids.shape[:-1]), ids.shape[-1])
        weights = torch.ones_like(rows, dtype=self.weight.dtype) if values is None else values.reshape(rows.shape)
        coords = self.table(rows, per_sample_weights=weights.to(self.weight.dtype))
        value = coordinate_eigenvalue(coords + self.constant, self.dim, self.eig_idx, False)
        return value.reshape(ids.shape[:-1])

    @property
    def norms(self) -> Tensor:
        """‖A_i‖₂ of every id, (num_ids,)."""
        return spectral_norm(self.weight, self.dim)

    def extra_repr(self) -> str:
        """The settings."""
        return f"{self.num_ids}, dim={self.dim}, eig_idx={self.eig_idx}, sparse={self.sparse}"
