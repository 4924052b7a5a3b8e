"""The device kernel in Triton's interpreter: accuracy, derivatives, dispatch, and what happens where it is wrong.

Tests ``lanes``, ``reduce``, ``sturm``, ``vectors``, ``spectrum``, ``kernels``, ``launch``, ``choice``, ``hard``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from eigen_cases import lapack_ratios, orthogonality_ratio
from matrices import FACTORIES, SCALES

pytest.importorskip("triton", reason="Triton is not installed")

from device_cases import as_a_device, interpreter

import lambdak
import torch
from lambdak.eigen.rounding import eigenvalue_error
from lambdak.torch import device_kernel, eigenpair, eigenvalue, tridiagonal_eigenpair
from lambdak.torch.device import choice, hard, launch

LIMIT = 10  # that of the CPU kernel


def hard_rows(dim, dtype, each=2):
    """Packed rows of every family of hard matrices."""
    rng = np.random.default_rng(dim)
    rows = [lambdak.unsym(factory(rng, each, dim)) for factory in FACTORIES.values()]
    return np.ascontiguousarray(np.concatenate(rows).astype(dtype))


@pytest.mark.parametrize(("dtype", "dim", "index"), [
    (np.float32, 2, [1]), (np.float32, 3, [0, 1, 2]), (np.float64, 4, [2]), (np.float32, 9, [4]),
    pytest.param(np.float64, 5, [1, 2, 3], marks=pytest.mark.slow),
])  # fmt: skip
def test_hard_matrices_meet_the_test_ratios_of_the_cpu_kernel(dtype, dim, index):
    rows = hard_rows(dim, dtype)
    with as_a_device():
        pair = eigenpair(torch.from_numpy(rows), dim, index)
    value, vector = (part.numpy() for part in pair)
    assert (lapack_ratios(rows, dim, index, value, vector) < LIMIT).all()
    assert orthogonality_ratio(vector) < LIMIT
    wanted = lambdak.eigenvalue(rows, dim, index)
    norm = np.maximum(np.linalg.norm(rows.astype(np.float64), axis=1), np.finfo(dtype).tiny)
    assert (np.abs(value - wanted) <= 2 * eigenvalue_error(dim, dtype) * norm[:, None]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_tiny_and_denormal_matrices_keep_their_accuracy(dtype):
    huge, tiny, _ = SCALES[dtype]
    rng, step = np.random.default_rng(0), float(np.finfo(dtype).smallest_subnormal)
    rows = rng.standard_normal((6, 15)) * np.array([huge, huge, tiny, tiny, 1, 1])[:, None]
    rows[4:] = rng.integers(-900, 900, (2, 15)) * step
    rows = rows.astype(dtype)
    with as_a_device():
        value = eigenvalue(torch.from_numpy(rows), 5, [1, 3]).numpy()
    wanted = np.linalg.eigvalsh(lambdak.sym(rows.astype(np.float64)) / np.abs(rows).max(1)[:, None, None])
    wanted = wanted[:, [1, 3]] * np.abs(rows).max(1)[:, None].astype(np.float64)
    norm = np.abs(rows).max(1)[:, None].astype(np.float64)
    assert (np.abs(value - wanted) <= 50 * np.finfo(dtype).eps * norm + 2 * step).all()


@pytest.mark.parametrize("tridiagonal", [False, True])
def test_derivatives_of_values_and_vectors_are_those_of_finite_differences(tridiagonal):
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 4), (2, 3)] if tridiagonal else [(2, 10)]
    parts = [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def projections(*parts):
        pair = tridiagonal_eigenpair(*parts, [1, 2]) if tridiagonal else eigenpair(*parts, 4, [1, 2])
        return pair.value, pair.vector[..., :1] * pair.vector

    with as_a_device():
        assert torch.autograd.gradcheck(projections, parts, fast_mode=True)


def test_derivatives_agree_with_the_cpu_kernel_where_eigenvalues_are_repeated():
    rows = torch.from_numpy(hard_rows(5, np.float64, 1)).requires_grad_()

    def gradient():
        pair = eigenpair(rows, 5, [2])
        loss = pair.value.sum() + (pair.vector @ torch.arange(5.0).double()).square().sum()
        return pair.vector.detach(), torch.autograd.grad(loss, rows)[0]

    vector, wanted = gradient()
    with as_a_device():
        same, found = gradient()
    assert found.isfinite().all()
    full = lambdak.sym(rows.detach().numpy())
    gap = np.abs(np.delete(np.linalg.eigvalsh(full), 2, 1) - np.linalg.eigvalsh(full)[:, 2:3]).min(1)
    clear = torch.from_numpy(gap > 1e-6 * np.maximum(np.linalg.norm(full, axis=(1, 2)), 1e-300))
    assert clear.sum() > 5
    assert torch.allclose((vector * same).sum(-1).abs()[clear], torch.ones(1).double())
    size = wanted[clear].abs().amax(1, keepdim=True)
    assert ((found - wanted)[clear].abs() <= 1e-7 * size).all()


def test_a_matrix_that_is_not_finite_yields_nan_for_itself_alone():
    rows = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    wrong = rows.clone()
    wrong[1, 2], wrong[3, 0] = torch.nan, -torch.inf
    with as_a_device():
        pair, clean = eigenpair(wrong, 3, 1), eigenpair(rows, 3, 1)
    bad = torch.tensor([False, True, False, True, False])
    assert pair.value[bad].isnan().all()
    assert pair.vector[bad].isnan().all()
    assert pair.value[~bad].equal(clean.value[~bad])  # bit for bit
    assert pair.vector[~bad].equal(clean.vector[~bad])


def test_results_do_not_depend_on_how_programs_share_the_matrices(monkeypatch):
    rows = torch.randn(11, 6, generator=torch.Generator().manual_seed(0))
    with interpreter():
        wanted = launch.solve(rows, 3, [1], False, True)
        monkeypatch.setattr(launch, "_capacity", lambda device: (2, 4))
        found = launch.solve(rows, 3, [1], False, True)
        assert launch.solve(rows[:0], 3, [1], False, True)[1].shape == (0, 1, 3)
    assert all(a.equal(b) for a, b in zip(found, wanted, strict=True))


def test_negations_and_zeros_that_pytorch_left_undone_are_read_as_what_they_are():
    rows = torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
    with interpreter():
        value, vector = launch.solve(torch._neg_view(rows), 2, [1], False, True)
        assert launch.outer(vector, torch._efficientzerotensor((3, 1)), 2, False).equal(torch.zeros(3, 3))
    torch.testing.assert_close(value[:, 0], -eigenvalue(rows, 2, 0))


# ---- who computes ------------------------------------------------------------------------------------------------


@pytest.fixture
def refused(monkeypatch):
    """No call of the whole decomposition."""

    def refuse(*_, **__):
        raise AssertionError("the whole decomposition was computed")

    for name in ("eigh", "eigvalsh"):
        monkeypatch.setattr(torch.linalg, name, refuse)


def step(rows):
    pair = eigenpair(rows, 3, 1)
    (pair.value.sum() + pair.vector[..., 0].square().sum()).backward()
    return pair.value.detach()


@pytest.mark.usefixtures("refused")
def test_operators_on_a_device_and_their_derivatives_are_the_kernels():
    rows = torch.randn(4, 6, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with as_a_device():
        value = step(rows)
        torch.testing.assert_close(eigenvalue(rows.detach(), 3, 1), value)
        torch.testing.assert_close(torch.ops.lambdak.eigenvalue(rows.detach(), 3, [1], False)[:, 0], value)
    torch.testing.assert_close(value, eigenvalue(rows.detach(), 3, 1))


def test_switched_off_missing_or_too_large_the_decomposition_computes(monkeypatch):
    rows, like = torch.randn(4, 6), torch.empty(1)
    monkeypatch.setattr(launch, "solve", None)  # would fail if it were called
    with as_a_device():
        assert choice.chosen(like, 64) is launch
        assert choice.chosen(like, 65) is None
        assert choice.chosen(like, 1) is None
        assert device_kernel(False) is False
        eigenvalue(rows, 3, 1)
        assert device_kernel(True) is True
    with as_a_device(sound=None):
        monkeypatch.setattr(choice, "find_spec", lambda name: None)
        eigenvalue(rows, 3, 1)
    assert choice.chosen(like, 3) is None  # not on the CPU
    with pytest.raises(TypeError, match="enabled must be True, False or None; got 'no'"):
        device_kernel("no")


@pytest.mark.parametrize("fault", ["an answer", "an error"])
def test_a_kernel_that_is_wrong_on_a_device_is_warned_of_once_and_not_used(fault, monkeypatch):
    real = launch.solve

    def broken(*args):
        if fault == "an error":
            raise RuntimeError("no such instruction\nsecond line")
        value, vector = real(*args)
        return value * (1 + 1e-3), vector

    monkeypatch.setattr(launch, "solve", broken)
    rows = torch.randn(4, 6)
    wanted = eigenvalue(rows, 3, 1)
    with as_a_device(sound=None):
        with pytest.warns(
            RuntimeWarning, match=r"not used on cpu in float32: (the eigenvalues differ|RuntimeError: no)"
        ):
            found = eigenvalue(rows, 3, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            eigenvalue(rows, 3, 1)
    torch.testing.assert_close(found, wanted)


@pytest.mark.slow
def test_the_check_at_first_use_finds_nothing_wrong():
    with interpreter():
        assert not hard.mismatch(torch.device("cpu"), torch.float32, (3,))


def test_the_check_notices_wrong_derivatives(monkeypatch):
    real = {name: getattr(launch, name) for name in ("outer", "vjp")}
    for name, message in (("outer", "of eigenvalues"), ("vjp", "of vectors")):
        with interpreter(), monkeypatch.context() as patch:
            patch.setattr(launch, name, lambda *args, name=name: 1.01 * real[name](*args))
            assert f"derivatives {message} differ" in hard.mismatch(torch.device("cpu"), torch.float64, (2,))
