"""Hard matrices, and whether the device kernel solves them on a device as ``torch.linalg.eigh`` does there."""

from __future__ import annotations

import torch
from lambdak.torch.packing import sym, unsym, width
from torch import Tensor

DIMS = (2, 9, 24)
_LIMIT = 30.0  # what LAPACK's own tests accept, in units of d ε ‖A‖
_APART = 1e3  # d ε over the relative gap, from which on derivatives of vectors are compared


def hard_matrices(dim: int, device: torch.device) -> Tensor:
    """Random, zero, diagonal, repeated, clustered, graded, rank-one, huge and tiny ones, (n, d, d), in float64."""
    generator = torch.Generator().manual_seed(dim)
    full = torch.randn(6, dim, dim, dtype=torch.float64, generator=generator)
    turn = torch.linalg.qr(full[0])[0]
    line = torch.arange(dim, dtype=torch.float64)
    scale = 10.0 ** (-15 * line / dim)
    near = (line - line[:, None]).abs() == 1
    spectra = [line // 3, 1 + 1e-9 * line, 0.5**line, torch.where(line == 0, -1.0, 1.0)]
    matrices = [
        *(full[1:4] + full[1:4].mT),
        torch.zeros(dim, dim), torch.eye(dim), torch.diag(full[4, 0]),
        torch.outer(full[5, 0], full[5, 0]),
        torch.diag((line - (dim - 1) / 2).abs()) + near,
        (full[4] + full[4].mT) * scale * scale[:, None],
        *((turn * spectrum) @ turn.mT for spectrum in spectra),
        (full[5] + full[5].mT) * 1e30, (full[5] + full[5].mT) * 1e-30,
    ]  # fmt: skip
    return torch.stack([matrix.double() for matrix in matrices]).to(device)


def mismatch(device: torch.device, dtype: torch.dtype, dims: tuple[int, ...] = DIMS) -> str:
    """What the kernel gets wrong on this device, or nothing."""
    for dim in dims:
        coords = unsym(hard_matrices(dim, device)).to(dtype)
        for tridiagonal in (False, True):
            part = coords[:, : width(dim, tridiagonal)].contiguous()
            for index in ([dim // 2], sorted({0, dim // 2, dim - 1})):
                wrong = _wrong_pairs(part, dim, index, tridiagonal) or _wrong_gradients(part, dim, index, tridiagonal)
                if wrong:
                    return f"{wrong} of matrices of dimension {dim}"
    return ""


def _wrong_pairs(coords: Tensor, dim: int, index: list[int], tridiagonal: bool) -> str:
    """Which ratio of LAPACK's tests is too large for values or vectors, or a neighbour's NaN in them."""
    from lambdak.torch.device.launch import solve

    spoilt = torch.cat([coords, torch.full_like(coords[:1], torch.nan)])
    value, vector = solve(spoilt, dim, index, tridiagonal, True)
    alone = solve(spoilt, dim, index, tridiagonal, False)[0]
    if not (value[-1].isnan().all() and vector[-1].isnan().all() and alone[-1].isnan().all()):
        return "NaN is lost in the results"
    value, vector, alone = (part[:-1].double() for part in (value, vector, alone))
    matrix = sym(coords.double(), dim, tridiagonal)
    truth = torch.linalg.eigvalsh(matrix)
    norm = truth.abs().amax(-1).clamp_min(torch.finfo(dtype := coords.dtype).tiny)[:, None]
    unit = dim * torch.finfo(dtype).eps
    ratios = {
        "the eigenvalues": ((value - truth[:, index]) / norm).abs(),
        "the eigenvalues alone": ((alone - truth[:, index]) / norm).abs(),
        "the residuals": (vector @ matrix - value[..., None] * vector).norm(dim=-1) / norm,
        "the vectors": (vector @ vector.mT - torch.eye(len(index), device=coords.device)).abs().amax(-1),
    }
    return next((f"{name} differ" for name, ratio in ratios.items() if not (ratio <= _LIMIT * unit).all()), "")


def _wrong_gradients(coords: Tensor, dim: int, index: list[int], tridiagonal: bool) -> str:
    """Which derivative differs from that of ``eigh``, or nothing: of vectors only where gaps are wide."""
    from lambdak.torch.device.launch import outer, solve, vjp

    value, vector = solve(coords, dim, index, tridiagonal, True)
    right = torch.linspace(-1, 1, vector.numel(), dtype=coords.dtype, device=coords.device).reshape(vector.shape)
    share = right[..., 0].contiguous()
    plain = unsym((vector * share[..., None]).mT @ vector, tridiagonal)
    unit = dim * torch.finfo(coords.dtype).eps
    if not ((outer(vector, share, dim, tridiagonal) - plain).abs() <= _LIMIT * unit).all():
        return "the derivatives of eigenvalues differ"
    values, vectors = torch.linalg.eigh(sym(coords.double(), dim, tridiagonal))
    gap = values[:, index, None] - values[:, None, :]  # (n, m, d)
    norm = values.abs().amax(-1)[:, None, None]
    other = torch.arange(dim, device=coords.device) != torch.tensor(index, device=coords.device)[:, None]
    clear = ((gap.abs() > _APART * unit * norm) | ~other).all(-1, keepdim=True).all(1, keepdim=True)
    inverse = torch.where(other & clear, 1 / torch.where(other & clear, gap, 1), 0)
    solved = (right.double() @ vectors * inverse) @ vectors.mT
    wanted = unsym((share[..., None] * vector.double() + solved).mT @ vector.double(), tridiagonal)
    found = vjp(coords, (value, vector), (share, right), dim, tridiagonal).double()
    size = (1 + right.double().norm(dim=-1, keepdim=True) * inverse.abs().amax(-1, keepdim=True)).amax(1)
    loss = _LIMIT * unit * (norm * inverse.abs()).amax((1, 2), keepdim=True)[:, 0].clamp_min(1)  # grows like 1/gap
    wrong = ((found - wanted).abs() > loss * size) & clear[:, 0]
    return "the derivatives of vectors differ" if wrong.any() or not found.isfinite().all() else ""
