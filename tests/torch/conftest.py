"""Settings that the tests of neurons and layers run over, each from the same seed."""

from __future__ import annotations

import pytest
from torch_cases import KINDS

import torch


@pytest.fixture(autouse=True)
def _seeded():
    """A test must not depend on those before it, through the seed that PyTorch keeps for the process."""
    torch.manual_seed(0)


@pytest.fixture(params=KINDS)
def kind(request):
    torch.manual_seed(0)
    return KINDS[request.param]
