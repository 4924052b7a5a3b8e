"""What the tests of the engines change for a while: the instruction set."""

from __future__ import annotations

import pytest

from lambdak.eigen.runtime import native


@pytest.fixture(params=native().available_isas() if native() else [])
def isa(request):
    kernel = native()
    before = kernel.isa()
    kernel.use_isa(request.param)
    yield request.param
    kernel.use_isa(before)
