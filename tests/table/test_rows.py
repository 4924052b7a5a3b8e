"""What comes beside a table has one entry per row, or is refused."""

from __future__ import annotations

import inspect
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest

import lambdak
from lambdak.table.rows import (
    Rows,
    given_together,
    label_rows,
    optional_read,
    optional_rows,
    read_rows,
    target_rows,
    weights_in_units,
)


def test_one_number_is_that_of_every_row_and_none_is_none():
    np.testing.assert_array_equal(optional_rows(2.5, 3, "offset"), np.full(3, 2.5))
    np.testing.assert_array_equal(optional_rows([1, 2, 3], 3, "offset"), [1.0, 2.0, 3.0])
    assert optional_rows(None, 3, "offset") is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"offset must have 3 entries, one per row of X; got 2"),
        (np.ones((3, 1)), r"offset must have 3 entries, one per row of X; got shape \(3, 1\)"),
        ([1.0, np.inf, 2.0], "offset must be finite; got inf at row 1"),
        ([1.0, 2.0, -1e302], r"offset must be within ±1\.1e\+301; got -1e\+302 at row 2: use larger units of y"),
        ([1.0, 10**400, 2.0], r"offset must fit into float64, .*; got 1e\+400 at row 1"),
    ],
)
def test_what_does_not_fit_the_rows_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        optional_rows(values, 3, "offset")


def test_an_offset_keeps_all_digits_of_float64():
    assert optional_rows(16777217.0, 2, "offset").tolist() == [16777217.0, 16777217.0]


def test_a_table_and_its_targets_are_given_together_or_not_at_all():
    assert given_together([[1.0]], [1.0])
    assert not given_together(None, None)
    with pytest.raises(ValueError, match="got y_val without X_val"):
        given_together(None, [1.0])


def test_a_target_is_one_column():
    assert target_rows([1, 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="y must be given"):
        target_rows(None)


RANDOM = np.random.default_rng(0).uniform(0.5, 2.0, 50)


@pytest.mark.parametrize("constant", [1.0, 3.0, 0.1, 1e39, 1e-50, 5e-324, 1.7e308])
def test_equal_weights_are_as_none(constant):
    assert weights_in_units(np.full(5, constant)) is None
    np.testing.assert_array_equal(weights_in_units(constant * np.array([1.0, 0.0, 1.0])), [1.0, 0.0, 1.0])


@pytest.mark.parametrize("weight", [RANDOM, np.array([1.0, 2.0, 3.0, 0.0]), np.array([1.0, 1e-5])])
@pytest.mark.parametrize("power", [-1000, -1, 1, 1000])
def test_a_power_of_two_times_all_weights_changes_not_a_bit(weight, power):
    np.testing.assert_array_equal(weights_in_units(np.ldexp(weight, power)), weights_in_units(weight))


@pytest.mark.parametrize("unit", [1.0, 0.5, 7.0, 0.1, 1e-300, 2.0**900])
def test_whole_multiples_of_a_unit_count_rows_and_nothing_else_does(unit):
    counts = np.array([2.0, 3.0, 0.0, 35.0, 1000.0])
    np.testing.assert_array_equal(weights_in_units(counts * (unit if np.frexp(unit)[0] == 0.5 else 7.0)), counts)
    scaled = weights_in_units(unit * RANDOM)
    assert 1.0 <= scaled.max() < 2.0
    np.testing.assert_allclose(scaled / scaled[0], RANDOM / RANDOM[0], rtol=1e-15)


def test_weights_that_vanish_next_to_the_heaviest_count_as_zero():
    np.testing.assert_array_equal(weights_in_units(np.array([1e300, 1e-300, 3e300])), [1.0, 0.0, 3.0])
    kept = weights_in_units(np.array([1.0, 1e-37, 1e-39]))
    assert kept[1] > 0.0 == kept[2]


def test_multiples_of_more_than_a_million_are_no_counts():
    assert weights_in_units(np.array([1.0, 2.0**20])).tolist() == [1.0, 2.0**20]
    assert weights_in_units(np.array([1.0, 2.0**20 + 1.0])).max() < 2.0


def test_what_is_missing_among_objects_is_nan():
    found = target_rows(np.array([None, 1, float("nan"), "a"], object)).tolist()
    assert [cell for cell in found if cell == cell] == [1, "a"]


@pytest.mark.parametrize(
    ("cells", "dtype"), [([True, False], bool), ([1, True], np.int64), ([1, 2.0], np.float64), (["a", "b"], object)]
)
def test_objects_of_one_kind_are_classes_of_that_kind(cells, dtype):
    labels = label_rows(np.array(cells, object))
    assert labels.dtype == dtype
    assert labels.tolist() == cells


def test_strings_of_any_length_are_classes():
    assert label_rows(np.array(["a", "bc"], np.dtypes.StringDType())).tolist() == ["a", "bc"]


def test_classes_that_64_bits_do_not_hold_are_refused_with_their_row():
    with pytest.raises(ValueError, match=r"y_val must hold strings, .* got 1180591620717411303424 at row 1"):
        label_rows(np.array([1, 2**70], object), "y_val")


@pytest.mark.parametrize("cells", [[0, float("inf")], [0.5, Fraction(10**400)], [0, float("nan")]])
def test_a_class_that_is_no_finite_number_is_refused_with_its_row(cells):
    with pytest.raises(ValueError, match="at row 1"):
        label_rows(np.array(cells, object))


def test_no_labels_are_no_labels():
    assert len(label_rows(np.array([], object))) == 0


X = [[1.0], [2.0], [3.0]]


def test_rows_count_by_exposure_times_weight_and_their_totals_become_rates():
    rows = read_rows(X, [4.0, 0.0, 9.0], [1.0, 2.0, 0.0], exposure=[2.0, 0.0, 3.0])
    np.testing.assert_array_equal(rows.mass, [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(rows.counted(), [0])
    np.testing.assert_array_equal(rows.rates, [2.0, 0.0, 3.0])
    plain = read_rows(X, [4.0, 0.0, 9.0])
    np.testing.assert_array_equal(plain.mass, np.ones(3))
    assert plain.rates is plain.y
    with pytest.raises(ValueError, match="X must have a row with exposure and weight; got none"):
        read_rows(X, exposure=np.zeros(3)).counted()


def test_a_number_is_that_of_every_row_and_a_target_keeps_its_name():
    rows = read_rows(X, pandas.Series([1, 2, 3], name="claims"), 2.0, 0.5, 4.0)
    for values, number in ((rows.weight, 2.0), (rows.offset, 0.5), (rows.exposure, 4.0)):
        np.testing.assert_array_equal(values, np.full(3, number))
    assert (len(rows), rows.target_name, read_rows(X, [1, 2, 3]).target_name) == (3, "claims", "the target")


@pytest.mark.parametrize("suffix", ["", "_val"])
@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"y": [1.0]}, "y{0} must have 3 entries, one per row of X{0}; got 1"),
        ({"sample_weight": [1.0, 2.0]}, "sample_weight{0} must have 3 entries, one per row of X{0}; got 2"),
        ({"offset": [[1.0]]}, r"offset{0} must have 3 entries, one per row of X{0}; got shape \(1, 1\)"),
        ({"exposure": [1.0, 2.0]}, "exposure{0} must have 3 entries, one per row of X{0}; got 2"),
        ({"exposure": [1.0, -2.0, np.inf]}, r"exposure{0} must be finite and not negative; got -2.0 at rows 1 and 2"),
        ({"exposure": [0.0, 1.0, 2.0], "positive": True}, "exposure{0} must be positive and finite; got 0.0 at row 0:"),
    ],
)
def test_what_comes_with_a_table_is_refused_by_its_name(beside, message, suffix):
    with pytest.raises(ValueError, match=message.format(suffix)):
        read_rows(X, **beside, suffix=suffix)


def test_rows_are_optional_but_never_empty_nor_without_their_table():
    assert optional_read(None, None, None) is None
    assert isinstance(optional_read(X, None, None), Rows)
    with pytest.raises(ValueError, match="X_test must be given with exposure_test; got exposure_test alone"):
        optional_read(None, None, None, None, 1.0, suffix="_test")
    with pytest.raises(ValueError, match="X must have at least one row; got none: omit it, or give rows"):
        optional_read(np.empty((0, 2)), None, None)
    with pytest.raises(ValueError, match="y must be given"):
        read_rows(X).target  # noqa: B018


def test_one_sentence_says_that_something_must_have_an_entry_per_row():
    sources = [path.read_text() for path in Path(inspect.getfile(lambdak)).parent.rglob("*.py")]
    assert sum(source.count("one per row of X") for source in sources) == 1
