"""Squareplus, its inverse and its slopes, against decimal arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from constraint_cases import every_dtype
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.pencil.squareplus import squareplus, squareplus_inverse, squareplus_slope

# Two floats may agree in all but their 300th decimal place, and so do their squareplus.
DIGITS = 700


def exact_squareplus(x):
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(x) + (1 + Decimal(x) ** 2).sqrt()) / 2


reals = st.floats(-1e12, 1e12, allow_subnormal=False)


class TestSquareplus:
    @settings(max_examples=100, deadline=None)
    @given(reals)
    def test_squareplus_is_accurate_to_rounding_everywhere(self, x):
        assert float(squareplus(x)) == pytest.approx(float(exact_squareplus(x)), rel=1e-15, abs=0)

    @settings(max_examples=100, deadline=None)
    @given(reals, reals)
    def test_the_slope_is_the_divided_difference_to_rounding(self, a, b):
        with localcontext() as context:
            context.prec = DIGITS
            root = (1 + Decimal(a) ** 2).sqrt()
            exact = exact_squareplus(a) / root
            if a != b:
                exact = (exact_squareplus(a) - exact_squareplus(b)) / (Decimal(a) - Decimal(b))
        slope = float(squareplus_slope(np.float64(a), np.float64(b)))
        assert slope == pytest.approx(float(exact), rel=1e-14, abs=0)

    @settings(max_examples=100, deadline=None)
    @given(st.floats(1e-12, 1e12))
    def test_the_inverse_undoes_it(self, y):
        assert float(squareplus(squareplus_inverse(y))) == pytest.approx(y, rel=1e-15, abs=0)

    @every_dtype
    def test_the_ends_of_the_range_neither_overflow_nor_vanish(self, dtype):
        ends = np.array([-np.finfo(dtype).max, np.finfo(dtype).max])
        low, high = squareplus(ends)
        assert low > 0
        assert high == ends[1]
        tiny = np.finfo(dtype).tiny
        np.testing.assert_allclose(squareplus(squareplus_inverse(tiny.reshape(1))), tiny, rtol=1e-5)
        assert squareplus(ends).dtype == squareplus_inverse(ends[1:]).dtype == dtype

    @pytest.mark.parametrize("y", [0.0, -1.0, np.nan])
    def test_values_that_squareplus_never_takes_are_refused(self, y):
        with pytest.raises(ValueError, match=rf"y must be at least 2.23e-308; got {y}"):
            squareplus_inverse(np.array([1.0, y]))
