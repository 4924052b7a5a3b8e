"""What the tests of the engines change for a while: the instruction set, and the process's threads."""

from __future__ import annotations

import pytest

import lambdak
from lambdak.eigen.runtime import native


@pytest.fixture(params=native().available_isas() if native() else [])
def isa(request):
    kernel = native()
    before = kernel.isa()
    kernel.use_isa(request.param)
    yield request.param
    kernel.use_isa(before)


@pytest.fixture
def threads():
    before = lambdak.get_num_threads()
    yield lambdak.set_num_threads
    lambdak.set_num_threads(before)
