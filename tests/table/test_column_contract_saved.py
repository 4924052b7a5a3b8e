"""The contract of columns, continued: they come back from files and pickles, and never change."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields
from functools import partial

import numpy as np
import pytest
from column_cases import contract

from lambdak.store._columns import decode_columns, encode_columns
from lambdak.table.category_column import Category
from lambdak.table.curve_column import Curve
from lambdak.table.encoder import TableEncoder
from lambdak.table.linear_column import Linear


def state(column):
    """All fields to the last bit, with their types."""
    values = {field.name: getattr(column, field.name) for field in fields(column)}
    plain = {name: each.tobytes() if isinstance(each, np.ndarray) else each for name, each in values.items()}
    return type(column), repr(plain), {name: type(each) for name, each in values.items()}


def through_json(column):
    clamp = getattr(column, "clamp", True)
    start = TableEncoder(clamp=clamp, columns=(column,))
    (other,) = decode_columns(json.loads(json.dumps(encode_columns(start))), clamp)
    object.__setattr__(other, "start", column.start)  # a file leaves it to the order of the columns
    return other


COPIES = {
    "a file": through_json,
    "a pickle": lambda column: pickle.loads(pickle.dumps(column)),
    "a deep copy": copy.deepcopy,
    "a shallow copy": copy.copy,
}


@contract
@pytest.mark.parametrize("how", COPIES)
def test_a_column_comes_back_to_the_last_bit_and_as_locked_as_it_was(case, how):
    other = COPIES[how](case.column)
    assert state(other) == state(case.column)
    np.testing.assert_array_equal(other.cell_rows(case.cells), case.column.cell_rows(case.cells))
    for value in vars(other).values():
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                value.flags.writeable = True


@contract
def test_a_file_holds_the_fields_that_the_type_declares(case):
    assert list(case.column.saved()) == list(case.column.saved_as)


@contract
def test_nothing_of_a_column_can_be_set(case):
    for name in [*vars(case.column), "new"]:
        with pytest.raises(FrozenInstanceError):
            setattr(case.column, name, 1)
    for value in vars(case.column).values():
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 1.0


def test_a_curve_keeps_its_knots_whatever_happens_to_the_array_it_was_given():
    knots = np.arange(3.0)
    column = Curve("x", 1, knots=knots)
    knots[0] = 9.0
    assert column.knots.tolist() == [0.0, 1.0, 2.0]


BROKEN = {
    "knots that fall": (
        Curve,
        {"knots": [0.0, 2.0, 1.0], "median": 0.5, "missing": False},
        "knots of it must increase",
    ),
    "a median outside": (Curve, {"knots": [0.0, 2.0], "median": 9.0, "missing": False}, "median of it must be in"),
    "levels twice": (Category, {"levels": ["a", "a"]}, "levels of it must differ"),
    "no scale": (
        Linear,
        {"center": 0.0, "scale": 0.0, "low": 0.0, "high": 1.0, "median": 0.5, "missing": True},
        "it must have a positive scale",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_fields_that_do_not_fit_together_are_refused(fault):
    own, saved, message = BROKEN[fault]
    restore = partial(own.restored, 1, True, what="it")
    with pytest.raises(ValueError, match=message):
        restore({"name": "x", **saved})
