"""To and from the core: pencils as neurons, fitted estimators as modules that can be trained on."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lambdak.fitted import FittedModel
from lambdak.packing import packed_size
from lambdak.pencil import Pencil
from lambdak.torch.autograd import eigenvalue
from lambdak.torch.modules import SpectralNeuron
from lambdak.torch.packing import unsym


def to_pencil(neuron: SpectralNeuron) -> Pencil:
    """The neuron as it is now, as an immutable :class:`lambdak.Pencil` with the paper's mathematics on it.

    >>> _ = torch.manual_seed(0)
    >>> to_pencil(SpectralNeuron(3, dim=5))
    Pencil(dim=5, eig_idx=2, n_features=3, dtype=float32)
    """
    if neuron.constant.ndim != 1:
        raise TypeError(f"neuron must be one SpectralNeuron; got {type(neuron).__name__}: convert its neurons singly")
    coords = torch.cat([neuron.constant[None], neuron.weight]).detach()
    dense = coords if neuron.structure == "dense" else unsym(neuron.matrices.detach())
    return Pencil(dense.cpu().numpy(), neuron.eig_idx)


def from_pencil(
    pencil: Pencil, monotonic_cst: Sequence[int] | None = None, constraint: str | None = None
) -> SpectralNeuron:
    """A neuron with the pencil's matrices.

    With ``monotonic_cst`` its semidefinite matrices stay so in training; one that is not semidefinite, or that the
    constraint cannot express, is an error that says which.

    >>> pencil = Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]))
    >>> neuron = from_pencil(pencil, monotonic_cst=[1], constraint="factor")
    >>> round(neuron(torch.tensor([[3.0]], dtype=torch.float64)).item() - pencil([[3.0]]).item(), 9)
    0.0
    """
    packed = torch.tensor(pencil.packed)
    kind: dict[str, Any] = {"dtype": packed.dtype, "monotonic_cst": monotonic_cst, "constraint": constraint}
    neuron = SpectralNeuron(pencil.n_features, pencil.dim, pencil.eig_idx, **kind)
    with torch.no_grad():
        neuron.constant.copy_(packed[0])
        if neuron.constraint is None:
            neuron.weight.copy_(packed[1:])
            return neuron
        neuron.weight = packed[1:]
    far = (neuron.weight - packed[1:]).norm(dim=1) > 1e-3 * packed[1:].norm(dim=1)
    for i in far.nonzero().flatten().tolist():
        raise ValueError(
            f"monotonic_cst[{i}] must fit the pencil; got {neuron.monotonic_cst[i]} for a matrix that "
            f"constraint={neuron.constraint!r} cannot express: choose 'squareplus' or 'factor', or 0"
        )
    return neuron


class SpectralEnsemble(nn.Module):
    """The raw scores of a fitted estimator, start + scale Σ_m w_m λ_k(A_m(row)), as a module over encoded rows.

    ``coef`` can be trained on, together with whatever else a network has, and :meth:`to_estimator` puts it back.
    Training here knows nothing of the estimator's constraints: ``certify()`` of the result tells which still hold.

    Parameters
    ----------
    model
        A fitted SpectralRegressor, SpectralClassifier or SpectralOrdinalClassifier.

    Examples
    --------
    >>> from lambdak import SpectralRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = SpectralRegressor(effort="fast", random_state=0).fit(X, np.sin(3 * X[:, 0]))
    >>> module = SpectralEnsemble(model)
    >>> bool(np.allclose(module(*module.encode(X)).detach(), model.predict(X), atol=1e-5))
    True
    """

    start: Tensor
    shares: Tensor

    def __init__(self, model: FittedModel) -> None:
        super().__init__()
        if model.levels_:
            raise TypeError(f"model must not be a {type(model).__name__}: its quantile levels are inputs of the pencil")
        self._model = model
        self.dim, self.indices, self.scale = model.dim_, list(model.indices_), float(model.scale_)
        self.coef = nn.Parameter(torch.tensor(model.coef_[..., : packed_size(model.dim_)]))  # (pencils, columns, D)
        self.register_buffer("start", torch.tensor(model.start_, dtype=self.coef.dtype))
        self.register_buffer("shares", torch.tensor(model.weights_, dtype=self.coef.dtype))

    def encode(self, X: Any) -> tuple[Tensor, Tensor]:
        """Ids and weights (rows, slots) of the rows of a table, as :meth:`forward` takes them."""
        design = self._model.encoder_.transform(X, np.float32)
        return torch.from_numpy(design.ids).to(self.coef.device), torch.from_numpy(design.weights).to(self.coef)

    def forward(self, ids: Tensor, weights: Tensor) -> Tensor:
        """Raw scores (rows,), or (rows, outputs) where there are several."""
        pencils, columns, size = self.coef.shape
        table = self.coef.transpose(0, 1).reshape(columns, pencils * size)
        coords = functional.embedding_bag(ids, table, mode="sum", per_sample_weights=weights)
        values = eigenvalue(coords.reshape(len(ids), pencils, size), self.dim, self.indices)  # (rows, pencils, m)
        outputs = values.reshape(len(ids), len(self.shares), -1).movedim(1, -1) @ self.shares  # (rows, outputs)
        raw = self.start + self.scale * outputs
        return raw.squeeze(-1) if raw.shape[1] == 1 else raw

    def to_estimator(self) -> Any:
        """A copy of the estimator with the coefficients as they are now; it predicts, but cannot go on training."""
        model = deepcopy(self._model)
        coef = model.coef_.copy()
        coef[..., : self.coef.shape[-1]] = self.coef.detach().cpu().numpy()
        model.coef_, model.theta_ = coef, []
        return model
