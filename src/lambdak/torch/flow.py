r"""g(x) = λ_k(A + xB) as an invertible transform, and normalising flows of it with zuko.

For one input the gauge makes B diagonal, B = diag(b) with b > 0. Then g rises everywhere and onto the whole line::

    g′(x)  = Σ_i b_i v_i²                                    v: the unit eigenvector of A + xB at λ_k
    g⁻¹(y) = λ_{d−1−k}(B^{−1/2} (yI − A) B^{−1/2})           one eigenvalue, nothing is iterated

Far out g is linear, with a slope among the b on either side. Zuko is needed by the two functions at the end only.
"""

from __future__ import annotations

from functools import partial
from math import log, sqrt
from typing import Any

from torch.distributions import Transform, constraints

import torch
from lambdak._checks import check_dim, check_int, check_positive
from lambdak.torch.autograd import coordinate_eigenpair, coordinate_eigenvalue
from lambdak.torch.inputs import check_tensor
from lambdak.torch.packing import check_structure, width
from torch import Tensor

_WEAKEST = 0.3  # the smallest off-diagonal of a tridiagonal A relative to its start: weaker ones make sharp kinks


class SpectralTransform(Transform):
    r"""g(x) = λ_k(A + x diag(b)) for matrices A and slopes b > 0 that come from unconstrained parameters.

    Where the parameters are zero, A is tridiagonal with zeros on the diagonal and ``scale`` beside it, and b is one, so
    that g is the identity for odd ``dim`` and the middle eigenvalue, and a shift otherwise. Every operation is done in
    float64 and only the results have the dtype of the arguments, so that a round trip x → y → x loses what rounding y
    loses. Derivatives of any order exist, through forward, inverse and logarithm.

    Parameters
    ----------
    matrix
        What A is made of, (..., D): with ``structure="dense"`` D = d(d + 1)/2, the packed difference to the start. With
        ``structure="tridiagonal"`` D = 2d − 1, the diagonal and the logarithms of the off-diagonals over ``scale``,
        kept within ±log 0.3. Their sign is a gauge, and as none is zero, no eigenvalue is repeated and g is analytic.
    slopes
        Logarithms of b before they are bounded, (..., d).
    eig_idx
        k, zero-based in ascending order; None is the middle one, d // 2.
    structure
        "dense" or "tridiagonal"; at equal numbers of parameters dense matrices made better flows in our studies.
    scale
        Eigenvalues of the start are spread over ±2 ``scale``; g can bend most where x is not much larger.
    slope
        Every slope of g is in (``slope``, 1/``slope``).

    Examples
    --------
    >>> g = SpectralTransform(torch.tensor([0.3, 0.0, -0.2, 0.1, -0.4, 0.5]), torch.tensor([1.0, -1.0, 2.0]))
    >>> y = g(torch.tensor([-1.0, 0.0, 2.0]))
    >>> bool((g.inv(y) - torch.tensor([-1.0, 0.0, 2.0])).abs().max() < 1e-6)
    True
    """

    domain = constraints.real
    codomain = constraints.real
    bijective = True
    sign = +1

    def __init__(
        self,
        matrix: Tensor,
        slopes: Tensor,
        eig_idx: int | None = None,
        structure: str = "dense",
        scale: float = 0.7,
        slope: float = 1e-2,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.structure = structure
        self._tridiagonal = check_structure(structure)
        self.dim = _check_parameters(matrix, slopes, self._tridiagonal)
        self.eig_idx = self.dim // 2 if eig_idx is None else check_int(eig_idx, "eig_idx", 0, self.dim)
        self._dtype = torch.promote_types(matrix.dtype, slopes.dtype)
        start = _started_tridiagonal if self._tridiagonal else _started_dense
        self.matrix = start(matrix.double(), self.dim, check_positive(scale, "scale"))
        self.slopes = _bounded(slopes.double(), _check_slope(slope)).exp()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim}, eig_idx={self.eig_idx}, structure={self.structure!r})"

    def _call(self, x: Tensor) -> Tensor:
        value = coordinate_eigenvalue(self._pencil(x), self.dim, self.eig_idx, self._tridiagonal)
        return value.to(self._result(x))

    def _inverse(self, y: Tensor) -> Tensor:
        check_tensor(y, "y")
        row, column = _positions(self.dim, self._tridiagonal, y.device)
        root = self.slopes.rsqrt()
        coords = self._diagonal(y.double()[..., None] / self.slopes) - self.matrix * root[..., row] * root[..., column]
        mirrored = self.dim - 1 - self.eig_idx
        return coordinate_eigenvalue(coords, self.dim, mirrored, self._tridiagonal).to(self._result(y))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of g′(x) = Σ b_i v_i²; ``y`` is not looked at."""
        return self.call_and_ladj(x)[1]

    def call_and_ladj(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """g(x) and log g′(x) from one eigenpair."""
        value, vector = coordinate_eigenpair(self._pencil(x), self.dim, self.eig_idx, self._tridiagonal)
        derivative = (vector.square() * self.slopes).sum(-1)
        return value.to(self._result(x)), derivative.log().to(self._result(x))

    def _pencil(self, x: Tensor) -> Tensor:
        """A + xB in coordinates."""
        check_tensor(x, "x")
        return self.matrix + self._diagonal(x.double()[..., None] * self.slopes)

    def _diagonal(self, entries: Tensor) -> Tensor:
        """Coordinates of diagonal matrices (..., d)."""
        row, column = _positions(self.dim, self._tridiagonal, entries.device)
        return entries[..., row] * (row == column)

    def _result(self, tensor: Tensor) -> torch.dtype:
        return torch.promote_types(tensor.dtype, self._dtype)


def _check_parameters(matrix: Tensor, slopes: Tensor, tridiagonal: bool) -> int:
    """Return d, which is the width of the slopes."""
    for name, tensor in (("matrix", matrix), ("slopes", slopes)):
        check_tensor(tensor, name)
        if not tensor.is_floating_point():
            raise TypeError(f"{name} must be a tensor of floats; got {tensor.dtype}")
    dim = check_dim(slopes.shape[-1] if slopes.ndim else 0)
    wanted = width(dim, tridiagonal)
    if matrix.ndim == 0 or matrix.shape[-1] != wanted:
        raise ValueError(
            f"matrix must have {wanted} entries on its last axis for {dim} slopes; got shape {tuple(matrix.shape)}"
        )
    return dim


def _check_slope(slope: float) -> float:
    if not 0 < slope < 1:
        raise ValueError(f"slope must be in (0, 1); got {slope!r}")
    return slope


def _bounded(parameter: Tensor, smallest: float) -> Tensor:
    """The parameter t as t / (1 + |t| / L), which is within ±L, for L = −log ``smallest``."""
    return parameter / (1 - parameter.abs() / log(smallest))


def _started_tridiagonal(matrix: Tensor, dim: int, scale: float) -> Tensor:
    """Coordinates of A, whose off-diagonals are positive."""
    return torch.cat([matrix[..., :dim], sqrt(2.0) * scale * _bounded(matrix[..., dim:], _WEAKEST).exp()], -1)


def _started_dense(matrix: Tensor, dim: int, scale: float) -> Tensor:
    """Coordinates of A, which is free."""
    row, column = _positions(dim, False, matrix.device)
    return matrix + sqrt(2.0) * scale * (row == column + 1)


def _positions(dim: int, tridiagonal: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """Row and column of every coordinate."""
    if not tridiagonal:
        row, column = torch.tril_indices(dim, dim, device=device)
        return row, column
    i = torch.arange(dim, device=device)
    return torch.cat([i, i[1:]]), torch.cat([i, i[:-1]])


# Flows.


def spectral_autoregressive(features: int, context: int = 0, dim: int = 5, **kwargs: Any) -> Any:
    """A masked autoregressive flow of spectral transforms, a ``zuko.flows.MAF``.

    With ``passes=2`` it is a coupling flow, as fast to sample as to evaluate.

    Parameters
    ----------
    features, context
        Numbers of variables and of what they are conditioned on.
    dim
        Size of the matrices: the more, the more bends. Odd ones start as the identity.
    **kwargs
        ``eig_idx``, ``structure``, ``scale`` and ``slope`` go to :class:`SpectralTransform`, everything else
        (``transforms``, ``randperm``, ``passes``, ``hidden_features``, …) to ``zuko.flows.MAF``.

    Examples
    --------
    >>> flow = spectral_autoregressive(3, context=2, transforms=2, hidden_features=(16,))
    >>> flow(torch.zeros(2)).sample((5,)).shape
    torch.Size([5, 3])
    """
    return _zuko_flows().MAF(features, context, **_univariate(dim, kwargs), **kwargs)


def spectral_coupling(features: int, context: int = 0, dim: int = 5, **kwargs: Any) -> Any:
    """A coupling flow of spectral transforms, a ``zuko.flows.NICE``; see :func:`spectral_autoregressive`.

    >>> flow = spectral_coupling(4, transforms=2, hidden_features=(16,))
    >>> flow().log_prob(torch.zeros(5, 4)).shape
    torch.Size([5])
    """
    return _zuko_flows().NICE(features, context, **_univariate(dim, kwargs), **kwargs)


def _univariate(dim: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What zuko has to know about the transform; its settings are taken out of ``kwargs``."""
    settings = {name: kwargs.pop(name) for name in ("eig_idx", "structure", "scale", "slope") if name in kwargs}
    tridiagonal = check_structure(settings.get("structure", "dense"))
    size = width(dim, tridiagonal)
    SpectralTransform(torch.zeros(size), torch.zeros(dim), **settings)  # a bad setting is refused here, not in use
    return {"univariate": partial(SpectralTransform, **settings), "shapes": [(size,), (dim,)]}


def _zuko_flows() -> Any:
    try:
        import zuko.flows
    except ImportError:
        raise ImportError("flows are built with zuko: pip install 'lambdak[flow]'") from None
    return zuko.flows
