"""Numbers in print: never on the wrong side of what they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lambdak.model.outward import downwards, upwards

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(NUMBERS, st.integers(1, 9))
def test_no_number_is_printed_on_the_wrong_side(number, digits):
    assert float(downwards(number, digits)) <= number <= float(upwards(number, digits))


@given(st.floats(1e-300, 1e300), st.integers(2, 9))
def test_what_is_printed_is_near(number, digits):
    for shown in (upwards(number, digits), downwards(number, digits)):
        assert abs(float(shown) - number) <= 10 ** (1 - digits) * number
