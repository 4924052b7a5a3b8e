"""To and from the core: pencils as neurons, fitted estimators as modules that can be trained further."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch.nn import functional

import torch
from lambdak.estimators.base import SpectralEstimator
from lambdak.pencil import Pencil
from lambdak.torch.autograd import eigenvalue
from lambdak.torch.inputs import check_tensor
from lambdak.torch.modules import SpectralLayer, SpectralNeuron
from torch import Tensor, nn


def to_pencil(neuron: SpectralNeuron | SpectralLayer, output: int | None = None) -> Pencil:
    """A neuron as it is now, as an immutable :class:`lambdak.Pencil` with the paper's mathematics on it.

    Of a layer, ``output`` says which of its neurons.

    >>> _ = torch.manual_seed(0)
    >>> to_pencil(SpectralNeuron(3, dim=5))
    Pencil(dim=5, eig_idx=2, n_features=3, dtype=float32)
    """
    if not isinstance(neuron, SpectralNeuron | SpectralLayer):
        raise TypeError(f"neuron must be a SpectralNeuron or a SpectralLayer; got {type(neuron).__name__}")
    return neuron.to_pencil(output) if isinstance(neuron, SpectralLayer) else neuron.to_pencil()


def from_pencil(
    pencil: Pencil,
    monotonic_cst: Sequence[int] | None = None,
    constraint: str | None = None,
    diagonal_constant: bool = False,
) -> SpectralNeuron:
    """A neuron with the pencil's matrices.

    With ``monotonic_cst`` its semidefinite matrices stay so in training; one that is not semidefinite, or that the
    constraint cannot express, is an error that says which. With ``diagonal_constant`` it has the matrices of
    :meth:`lambdak.Pencil.canonical`, the same function in the basis where A_0 is diagonal.

    >>> pencil = Pencil(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]))
    >>> neuron = from_pencil(pencil, monotonic_cst=[1])
    >>> round(neuron(torch.tensor([[3.0]], dtype=torch.float64)).item() - pencil([[3.0]]).item(), 9)
    0.0
    """
    if not isinstance(pencil, Pencil):
        raise TypeError(f"pencil must be a lambdak.Pencil; got {type(pencil).__name__}: use Pencil(packed, eig_idx)")
    packed = torch.tensor(pencil.canonical().packed if diagonal_constant else pencil.packed)
    neuron = SpectralNeuron(
        pencil.n_features, pencil.dim, pencil.eig_idx, monotonic_cst, constraint=constraint, dtype=packed.dtype,
        diagonal_constant=diagonal_constant,
    )  # fmt: skip
    for i, sign in enumerate(neuron.monotonic_cst):
        if sign and (packed[i + 1] != 0).any() and pencil.is_monotone(i) != sign:
            raise ValueError(
                f"monotonic_cst[{i}] must be {pencil.is_monotone(i)}, as the pencil's matrix is; got {sign}"
            )
    neuron.set_constant_(packed[0])
    neuron.set_weight_(packed[1:])
    allowed = packed[1:].norm(dim=1) * torch.finfo(packed.dtype).eps ** 0.5
    for i in ((neuron.weight - packed[1:]).norm(dim=1) > allowed).nonzero().flatten().tolist():
        raise ValueError(
            f"constraint must be able to express the matrix of feature {i}; got {neuron.constraint!r}: choose 'factor'"
        )
    return neuron


class SpectralEnsemble(nn.Module):
    """The raw scores of a fitted estimator, start + scale Σ_m w_m λ_k(A_m(row)), as a module over encoded rows.

    ``coef`` can be trained further, together with whatever else a network has, and :meth:`to_estimator` puts it back.
    Training here knows nothing of the estimator's constraints: ``certify()`` of the result lists those that still hold.

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

    def __init__(self, model: SpectralEstimator) -> None:
        super().__init__()
        if not isinstance(model, SpectralEstimator):
            raise TypeError(f"model must be an estimator of lambdak; got {type(model).__name__}")
        check_is_fitted(model, "model_")
        fitted = model.model_
        if fitted.outputs.quantile_levels:
            raise TypeError(f"model must not be a {type(model).__name__}: its quantile levels are inputs of the pencil")
        self._model = model
        self.dim, self.indices, self.scale = fitted.dim, list(fitted.outputs.indices), float(fitted.scale)
        self.levels = len(fitted.outputs.levels)
        self.coef = nn.Parameter(torch.tensor(fitted.matrices))  # (pencils, columns, D)
        self.register_buffer("start", torch.tensor(fitted.start, dtype=self.coef.dtype))
        self.register_buffer("shares", torch.tensor(fitted.weights, dtype=self.coef.dtype))

    def encode(self, X: Any) -> tuple[Tensor, Tensor]:
        """Ids and weights (rows, slots) of the rows of a table, as :meth:`forward` takes them."""
        design = self._model.model_.encoder.transform(X, np.float64 if self.coef.dtype == torch.float64 else np.float32)
        return torch.from_numpy(design.ids).to(self.coef.device), torch.from_numpy(design.weights).to(self.coef)

    def forward(self, ids: Tensor, weights: Tensor) -> Tensor:
        """Raw scores (rows,), or (rows, outputs) where there are several."""
        check_tensor(ids, "ids")
        check_tensor(weights, "weights")
        pencils, columns, size = self.coef.shape
        table = self.coef.transpose(0, 1).reshape(columns, pencils * size)
        coords = functional.embedding_bag(ids, table, mode="sum", per_sample_weights=weights)  # (rows, pencils × D)
        coords = coords.reshape(len(ids), pencils, size)
        if self.levels:  # those of cut-points are the last columns, and all of them are outputs of their pencil
            coords = (coords[:, :, None] + self.coef[:, columns - self.levels :]).reshape(len(ids), -1, size)
        values = eigenvalue(coords, self.dim, self.indices)  # (rows, pencils × levels, m)
        outputs = values.reshape(len(ids), len(self.shares), -1).movedim(1, -1) @ self.shares  # (rows, outputs)
        raw = self.start + self.scale * outputs
        return raw.squeeze(-1) if raw.shape[1] == 1 else raw

    def extra_repr(self) -> str:
        """What was converted."""
        return f"{type(self._model).__name__}, pencils={len(self.coef)}, dim={self.dim}"

    def to_estimator(self) -> Any:
        """A copy of the estimator with the coefficients as they are now; it predicts, but cannot continue training."""
        estimator = deepcopy(self._model)
        estimator._state = None  # of other coefficients
        coef = estimator.model_.coef.copy()
        coef[..., : self.coef.shape[-1]] = self.coef.detach().cpu().double().numpy()
        estimator.model_ = estimator.model_.replace(coef=coef)
        return estimator
