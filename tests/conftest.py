"""What tests of several packages change for a while: the process's threads."""

from __future__ import annotations

import pytest

import lambdak


@pytest.fixture
def threads():
    """Sets the number of threads; afterwards it is what it was."""
    before = lambdak.get_num_threads()
    yield lambdak.set_num_threads
    lambdak.set_num_threads(before)
