"""Numbers of any Python type become float64, or are named with their row."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from lambdak._checks import check_numbers, check_weight, shown_large

HUGE = {
    "int": (10**400, r"1e\+400"),
    "negative int": (-3 * 10**5000, r"-3e\+5000"),
    "decimal": (Decimal("1e400"), r"1e\+400"),
    "fraction": (Fraction(10**400, 7), r"1\.429e\+399"),
}


@pytest.mark.parametrize("kind", HUGE)
def test_a_number_beyond_float64_is_named_with_its_row(kind):
    value, shown = HUGE[kind]
    with pytest.raises(ValueError, match=f"offset must fit into float64.*; got {shown} at row 2: use larger units"):
        check_numbers([1, 2.5, value], "offset")
    with pytest.raises(ValueError, match=f"sample_weight must fit into float64.*; got {shown} at row 0"):
        check_weight(np.array([value, 1], object), 2)


def test_what_is_no_number_is_named_with_its_row():
    with pytest.raises(ValueError, match=r"y must hold numbers for this; got 'a' at row 1"):
        check_numbers([1.0, "a"], "y", " for this")


def test_numbers_that_fit_stay_what_they_are_and_infinity_stays_infinite():
    given = [1, Decimal("0.5"), Fraction(1, 4), True, float("inf"), 16777217, None]
    np.testing.assert_array_equal(check_numbers(given, "y"), [1.0, 0.5, 0.25, 1.0, np.inf, 16777217.0, np.nan])
    assert check_numbers(3, "y").shape == ()


def test_a_large_number_is_shown_in_a_few_digits():
    assert shown_large(12344 * 10**400) == "1.234e+404"
    assert shown_large(-(10**309)) == "-1e+309"


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2"],
        np.array(["1"]),
        np.array([1.0, "2"], object),
        [1j],
        np.zeros(2, complex),
        np.array(["2024"], "M8[ns]"),
    ],
)
def test_what_numpy_would_turn_into_a_number_is_refused(values):
    with pytest.raises(ValueError, match=r"y must hold numbers; got .* at row [01]: convert it to numbers, or drop"):
        check_numbers(values, "y")


def test_none_and_booleans_are_numbers():
    np.testing.assert_array_equal(check_numbers([None, True, Decimal("0.5")], "y"), [np.nan, 1.0, 0.5])
