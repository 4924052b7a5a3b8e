"""Arrays of NumPy and lists where tensors belong: refused by name everywhere, with what to write.

Tests ``inputs``.
"""

from __future__ import annotations

import numpy as np
import pytest
from research_cases import MODULES

import lambdak.torch as lt
import torch
from torch import nn

WIDE, ROWS, IDS = np.zeros((4, 3)), np.zeros((4, 10)), np.zeros((4, 2), int)
TENSOR = torch.zeros(4, 10, dtype=torch.float64)


def hyper():
    return lt.HyperSpectralNeuron(nn.Linear(2, 5), 3, 4, encoder_features=5)


def transform():
    return lt.SpectralTransform(torch.zeros(6), torch.zeros(3))


CALLS = {
    "x": [
        lambda: lt.SpectralNeuron(3, 4)(WIDE),
        lambda: lt.SpectralNeuron(3, 4)([1.0, 2.0, 3.0]),
        lambda: lt.SpectralNeuron(3, 4).eigenpair(WIDE),
        lambda: lt.SpectralLayer(3, 2, 4)(WIDE),
        *[lambda make=make: make()(WIDE) for make in MODULES.values()],
        lambda: hyper()(torch.zeros(4, 2), WIDE),
        lambda: hyper().slopes(torch.zeros(4, 2), WIDE),
        lambda: transform()(WIDE),
        lambda: transform().log_abs_det_jacobian(WIDE, WIDE),
    ],
    "y": [lambda: transform().inv(WIDE)],
    "ids": [lambda: lt.SparseSpectralNeuron(9, 4)(IDS)],
    "values": [lambda: lt.SparseSpectralNeuron(9, 4)(torch.as_tensor(IDS), IDS)],
    "packed": [
        lambda: lt.eigenvalue(ROWS, 4, 1),
        lambda: lt.eigenpair(ROWS, 4, 1),
        lambda: lt.spectral_norm(ROWS, 4),
        lambda: lt.ky_fan_sum(ROWS, 4, 1),
        lambda: lt.eigenvalue_sum(ROWS, 4, torch.ones(4)),
        lambda: lt.generalized_eigenvalue(ROWS, ROWS, 4, 1),
    ],
    "metric": [
        lambda: lt.generalized_eigenpair(TENSOR, ROWS, 4, 1),
        lambda: lt.GeneralizedSpectralNeuron(3, 4, metric=np.eye(4)),
    ],
    "diagonal": [lambda: lt.tridiagonal_eigenvalue(WIDE, WIDE[:, 1:], 1)],
    "offdiagonal": [lambda: lt.tridiagonal_eigenpair(torch.zeros(4, 3), WIDE[:, 1:], 1)],
    "coords": [
        lambda: lt.sym(ROWS, 4),
        lambda: lt.hermitian(np.zeros(4), 2),
        lambda: lt.hermitian_eigenvalue(np.zeros(4), 2, 1),
        lambda: lt.hermitian_eigenpair(np.zeros(4), 2, 1),
        lambda: lt.Definite("root", 4).right_inverse(ROWS),
    ],
    "matrix": [
        lambda: lt.unsym(np.eye(3)),
        lambda: lt.unhermitian(np.eye(2)),
        lambda: lt.SpectralTransform(np.zeros(6), torch.zeros(3)),
    ],
    "theta": [lambda: lt.Definite("root", 4)(ROWS)],
    "weight": [
        lambda: lt.eigenvalue_sum(TENSOR, 4, np.ones(4)),
        lambda: lt.SpectralNeuron(3, 4).set_weight_(ROWS),
        lambda: setattr(lt.SpectralNeuron(3, 4, monotonic_cst=1), "weight", ROWS),
        lambda: setattr(lt.SpectralNeuron(3, 4, max_influence=1.0), "weight", ROWS),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in CALLS.items() for call in calls])
def test_arrays_are_refused_with_the_call_that_makes_a_tensor_of_them(name, call):
    with pytest.raises(TypeError, match=rf"{name} must be a tensor; got \w+: use torch\.as_tensor\({name}\)"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lt.from_pencil(ROWS), r"pencil must be a lambdak\.Pencil; got ndarray"),
        (lambda: lt.spectral_penalty(ROWS), r"network must be an nn\.Module; got ndarray"),
        (lambda: lt.HyperSpectralNeuron(np.eye(3), 3, 4), r"encoder must be an nn\.Module or a function; got ndarray"),
    ],
)
def test_arrays_where_other_objects_belong_are_refused_by_name(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: lt.SpectralNeuron(3, 513, structure="tridiagonal"),
        lambda: lt.tridiagonal_eigenvalue(torch.zeros(513), torch.zeros(512), 1),
    ],
)
def test_too_large_a_tridiagonal_matrix_is_refused_with_the_limit(call):
    with pytest.raises(ValueError, match=r"dim must be in \[1, 513\), for tridiagonal matrices .*; got 513"):
        call()


def test_the_largest_tridiagonal_matrix_is_computed():
    values = lt.tridiagonal_eigenvalue(torch.zeros(512).double(), torch.ones(511).double(), [0, 511])
    wanted = 2 * torch.cos(torch.tensor([512.0, 1.0], dtype=torch.float64) * torch.pi / 513)
    torch.testing.assert_close(values, wanted)
