"""Where a search for an eigenvalue looks first: quantiles of the semicircle, and how far apart eigenvalues are."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.eigen.guess import semicircle_guess


@pytest.mark.parametrize(("index", "dim"), [(0, 5), (2, 5), (3, 5), (0, 2), (40, 64)])
def test_the_guess_is_the_quantile_of_the_semicircle(index, dim):
    position, spacing = semicircle_guess(index, dim)
    x = np.linspace(-2, position, 20_001)
    density = np.sqrt(4 - x * x) / (2 * np.pi)
    assert np.trapezoid(density, x) == pytest.approx((index + 0.5) / dim, abs=1e-5)
    assert spacing == pytest.approx(1 / (dim * max(density[-1], 0.15 / dim ** (1 / 3))), rel=1e-5)
