"""Settings that the tests of neurons and layers run over, each from the same seed."""

from __future__ import annotations

import pytest
from torch_cases import KINDS

import torch


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    """For matrices as small as these more threads only wait for one another, and for those of other processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _seeded():
    """A test must not depend on those before it, through the seed that PyTorch keeps for the process."""
    torch.manual_seed(0)


@pytest.fixture(params=KINDS)
def kind(request):
    torch.manual_seed(0)
    return KINDS[request.param]
