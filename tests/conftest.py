"""What tests of several packages change for a while, the process's threads; and properties without a time limit."""

from __future__ import annotations

import pytest
from hypothesis import settings

import lambdak

settings.register_profile("untimed", deadline=None)  # a busy machine must not make a property false
settings.load_profile("untimed")


@pytest.fixture
def threads():
    """Sets the number of threads; afterwards it is what it was."""
    before = lambdak.get_num_threads()
    yield lambdak.set_num_threads
    lambdak.set_num_threads(before)
