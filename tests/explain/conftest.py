"""Explanations to draw, and figures that do not outlive a test."""

from __future__ import annotations

import pytest
from fitted_models import X, fitted


@pytest.fixture
def closed_figures():
    """Closes all figures after the test."""
    yield
    from plot_cases import plt

    plt.close("all")


@pytest.fixture(scope="module")
def whole():
    return fitted("regressor").explain_global(X)


@pytest.fixture(scope="module")
def rows():
    return fitted("regressor").explain_local(X[:5])
