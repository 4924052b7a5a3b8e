"""Column constraints: every spelling means the same, and every mistake is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lambdak.shapes.naming import check_positions, influence_caps, influence_groups, monotone_signs
from lambdak.table.category_column import Category
from lambdak.table.curve_column import Curve
from lambdak.table.linear_column import Linear

AGE = Curve("age", 1, knots=np.arange(3.0))
DOSE = Linear("dose", 4, low=0.0, high=1.0)
CITY = Category("city", 5, levels=("Bern", "Oslo"))
COLUMNS = [AGE, DOSE, CITY]

SIGNS = {
    "None": (None, {}),
    "an empty dict": ({}, {}),
    "a dict": ({"age": 1, "dose": -1}, {0: 1, 1: -1}),
    "a dict in another order, with zeros": ({"city": 0, "dose": -1, "age": 1}, {0: 1, 1: -1}),
    "a dict by position": ({1: -1, np.int64(0): 1}, {0: 1, 1: -1}),
    "a list": ([1, -1, 0], {0: 1, 1: -1}),
    "a tuple": ((0, 1, 0), {1: 1}),
    "an array of small ints": (np.array([1, -1, 0], np.int8), {0: 1, 1: -1}),
    "an array of floats": (np.array([1.0, -1.0, 0.0]), {0: 1, 1: -1}),
    "a series": (pd.Series([1, -1, 0], index=["a", "b", "c"]), {0: 1, 1: -1}),
    "an array of zeros": (np.zeros(3, int), {}),
}


@pytest.mark.parametrize("spelling", SIGNS)
def test_monotone_signs_may_be_spelled_as(spelling):
    requested, expected = SIGNS[spelling]
    signs = monotone_signs(requested, COLUMNS)
    assert signs == expected
    assert all(type(sign) is int for sign in signs.values())


@pytest.mark.parametrize(("word", "sign"), [("increasing", 1), ("decreasing", -1)])
def test_a_word_is_the_sign_of_all_columns(word, sign):
    assert monotone_signs(word, [AGE, DOSE]) == {0: sign, 1: sign}


SIGN_FAULTS = {
    "a word that says nothing": ("rising", "must be 'increasing', 'decreasing', a dict or an array; got 'rising'"),
    "a sign of two": ({"age": 2}, "monotonic_cst of column 'age' must be -1, 0 or 1; got 2"),
    "a sign of a half": ([0, 0.5, 0], "monotonic_cst of column 'dose' must be -1, 0 or 1; got 0.5"),
    "a sign of nan": ([np.nan, 0, 0], "monotonic_cst of column 'age' must be -1, 0 or 1; got nan"),
    "a word for a sign": ({"dose": "increasing"}, "'dose' must be -1, 0 or 1; got 'increasing'"),
    "None for a sign": ([None, 0, 0], "'age' must be -1, 0 or 1; got None"),
    "a monotone category": ({"city": -1}, "'city' must be 0, because it is a category; got -1: give it as numbers"),
    "an unknown name": ({"agee": 1, "age": 1}, "names columns that X does not have: ['agee']; X has ['age', 'dose', "),
    "a position beyond the columns": ({3: 1}, "monotonic_cst names columns that X does not have: [3]"),
    "a negative position": ({-1: 1}, "monotonic_cst names columns that X does not have: [-1]"),
    "a truth value for a position": ({True: 1}, "monotonic_cst names columns that X does not have: [True]"),
    "a column twice": (
        {"age": 1, 0: -1},
        "monotonic_cst must name a column once, by name or by position; got ['age', 0]",
    ),
    "too few entries": ([1, 0], "monotonic_cst must have 3 entries, one per column; got 2"),
    "too many entries": (np.zeros(4), "monotonic_cst must have 3 entries, one per column; got 4"),
    "a number": (1, "monotonic_cst must be a dict or an array with one entry per column; got 1"),
    "a table": (np.zeros((3, 1)), "monotonic_cst must be a dict or an array with one entry per column; got array("),
}


@pytest.mark.parametrize("fault", SIGN_FAULTS)
def test_monotone_signs_refuse(fault):
    requested, message = SIGN_FAULTS[fault]
    with pytest.raises(ValueError, match="monotonic_cst") as caught:
        monotone_signs(requested, COLUMNS)
    assert message in str(caught.value)


CAPS = {
    "None": (None, {}),
    "an empty dict": ({}, {}),
    "a number for all": (2, {0: 2.0, 1: 2.0, 2: 2.0}),
    "a NumPy number for all": (np.float32(0.5), {0: 0.5, 1: 0.5, 2: 0.5}),
    "a large int": ({"dose": 10**30}, {1: 1e30}),
    "infinity for all": (np.inf, {}),
    "a dict": ({"city": 3, "age": 0.25}, {0: 0.25, 2: 3.0}),
    "a dict with infinity": ({"city": np.inf, "age": 0.25}, {0: 0.25}),
    "a list": ([0.25, np.inf, 3], {0: 0.25, 2: 3.0}),
    "an array": (np.array([0.25, np.inf, 3.0]), {0: 0.25, 2: 3.0}),
    "a series": (pd.Series([1.0, 2.0, np.inf]), {0: 1.0, 1: 2.0}),
}


@pytest.mark.parametrize("spelling", CAPS)
def test_caps_may_be_spelled_as(spelling):
    requested, expected = CAPS[spelling]
    caps = influence_caps(requested, COLUMNS)
    assert caps == expected
    assert all(type(cap) is float for cap in caps.values())


CAP_FAULTS = {
    "a negative number": (
        [1, -2.5, 1],
        "max_influence of column 'dose' must be a number that is not negative; got -2.5",
    ),
    "a truth value": (True, "max_influence of column 'age' must be a number that is not negative; got True"),
    "a truth value for a column": (
        {"dose": True},
        "max_influence of column 'dose' must be a number that is not negative; got True",
    ),
    "nan": ({"city": np.nan}, "max_influence of column 'city' must be a number that is not negative; got nan"),
    "a word": ("small", "max_influence of column 'age' must be a number that is not negative; got 'small'"),
    "an int beyond floats": (10**400, "max_influence of column 'age' must be a number that is not negative; got 1000"),
    "ragged lists": ([[1], [1, 2], 1], "max_influence must be a dict or an array with one entry per column; got [[1]"),
    "None in a list": ([None, 1, 1], "max_influence of column 'age' must be a number that is not negative; got None"),
    "an unknown name": ({"agee": 1}, "max_influence names columns that X does not have: ['agee']; X has ['age', "),
    "too few entries": ([1.0], "max_influence must have 3 entries, one per column; got 1"),
    "a table": (np.ones((3, 2)), "max_influence must be a dict or an array with one entry per column; got array("),
}


@pytest.mark.parametrize("fault", CAP_FAULTS)
def test_caps_refuse(fault):
    requested, message = CAP_FAULTS[fault]
    with pytest.raises(ValueError, match="max_influence") as caught:
        influence_caps(requested, COLUMNS)
    assert message in str(caught.value)


def test_tuples_among_the_keys_are_groups_and_not_caps_of_columns():
    requested = {("city", "age"): 2, "dose": 1.5, (1, "city"): np.float32(0.5), ("age", "dose", "city"): np.inf}
    assert influence_caps(requested, COLUMNS) == {1: 1.5}
    assert influence_groups(requested, COLUMNS) == {(0, 2): 2.0, (1, 2): 0.5}
    assert influence_groups(2.0, COLUMNS) == influence_groups(None, COLUMNS) == {}


GROUP_FAULTS = {
    "one column": ({("age",): 1}, "must name two columns or more, each group once; got ('age',)"),
    "a column twice": ({("age", "age"): 1}, "must name two columns or more, each group once; got ('age', 'age')"),
    "by name and position": ({("age", 0): 1}, "must name a column once, by name or by position; got ['age', 0]"),
    "a group twice": ({("age", "city"): 1, ("city", "age"): 2}, "each group once; got ('city', 'age')"),
    "an unknown name": ({("age", "agee"): 1}, "names columns that X does not have: ['agee']; X has ['age', "),
    "nan": ({("age", "city"): np.nan}, "of the columns ('age', 'city') must be a number that is not negative; got nan"),
}


@pytest.mark.parametrize("fault", GROUP_FAULTS)
def test_groups_refuse(fault):
    requested, message = GROUP_FAULTS[fault]
    with pytest.raises(ValueError, match="max_influence") as caught:
        influence_groups(requested, COLUMNS)
    assert message in str(caught.value)


def test_a_word_asks_for_all_columns_of_numbers_and_leaves_categories():
    columns = [Curve("age", 1, knots=np.arange(2.0)), Category("city", 3, levels=("a", "b"))]
    assert monotone_signs("decreasing", columns) == {0: -1}


def test_a_number_that_is_the_name_of_a_column_is_no_position():
    columns = [Linear("1", 1, low=0.0, high=1.0), Linear("0", 2, low=0.0, high=1.0)]
    with pytest.raises(ValueError, match=r"names columns that X does not have: \[0\]; X has \['1', '0'\]"):
        monotone_signs({0: 1}, columns)
    assert monotone_signs({"0": 1}, columns) == {1: 1}


def test_labels_that_are_positions_of_other_columns_are_refused():
    with pytest.raises(ValueError, match=r"must name columns by position .* got 0, the label of the column"):
        check_positions({0: 1}, [1, 0], "monotonic_cst")
    with pytest.raises(ValueError, match=r"must name columns by position .* got 1, the label of the column"):
        check_positions({(0, 1): 1}, [1, 0], "max_influence")
    check_positions({0: 1}, [0, 1], "monotonic_cst")
    check_positions({0: 1}, ["b", "a"], "monotonic_cst")
    check_positions({"a": 1}, ["b", "a"], "monotonic_cst")
    check_positions("increasing", [1, 0], "monotonic_cst")
