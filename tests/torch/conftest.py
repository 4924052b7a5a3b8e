"""Settings that the tests of neurons and layers run over."""

from __future__ import annotations

import pytest
from torch_cases import KINDS

import torch


@pytest.fixture(params=KINDS)
def kind(request):
    torch.manual_seed(0)
    return KINDS[request.param]
