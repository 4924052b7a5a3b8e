"""The contract of columns: every type passes by a constructor and A(x), written down by hand as a dense row."""

from __future__ import annotations

import ast
import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from column_cases import CASES, NAN, NUMERIC

import lambdak
from lambdak.store._columns import decode_columns, encode_columns
from lambdak.table.category import Category
from lambdak.table.cells import Cells
from lambdak.table.column import Column
from lambdak.table.columns import COLUMNS
from lambdak.table.curve import Curve
from lambdak.table.encoder import TableEncoder
from lambdak.table.levels import OTHER
from lambdak.table.linear import Linear
from lambdak.table.numeric import Numeric

contract = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
numeric = pytest.mark.parametrize("case", [CASES[name] for name in NUMERIC], ids=NUMERIC)


def cells_of(column, values):
    dtype, kind = (float, "number") if column.is_number else (object, "text")
    return Cells(column.name, np.array(values, dtype), kind)


def written(column, values, how="write_", dtype=np.float64, **settings):
    """The rows (n, p) that a column writes, from a corner of larger arrays."""
    ids = np.full((len(values), column.n_slots + 2), -1, np.int32)
    weights = np.full(ids.shape, np.nan, dtype)
    own = np.s_[:, 1:-1]
    getattr(column, how)(cells_of(column, values), ids[own], weights[own], **settings)
    assert (ids[:, [0, -1]] == -1).all()
    assert np.isnan(weights[:, [0, -1]]).all()
    assert (ids[own] >= column.start).all()
    assert (ids[own] < column.stop).all()
    rows = np.zeros((len(values), column.width))
    np.add.at(rows, (np.arange(len(values))[:, None], ids[own] - column.start), weights[own])
    return rows


def dense(case, values):
    return np.array([case.dense(value) for value in values])


def inside_hull(rows, cells, seed=0):
    """Whether no linear function is larger on the rows than on all cells."""
    directions = np.random.default_rng(seed).normal(size=(200, cells.shape[1]))
    return ((directions @ rows.T).max(axis=1) <= (directions @ cells.T).max(axis=1) + 1e-12).all()


# ---- who is under contract -------------------------------------------------------------------------------------


def test_every_type_of_column_is_final_and_under_contract():
    assert {type(case.column) for case in CASES.values()} == set(COLUMNS.values())
    for kind, own in COLUMNS.items():
        assert own.kind == kind
        assert own.__final__
        assert issubclass(own, Numeric) == own.is_number


@pytest.mark.parametrize("abstract", [Column, Numeric])
def test_what_is_not_final_is_abstract(abstract):
    with pytest.raises(TypeError, match="abstract"):
        abstract("x", 1)


def test_nothing_but_files_and_reports_asks_for_the_kind_of_a_column():
    source = Path(lambdak.__file__).parent
    serial = ("table/columns.py", "store/_columns.py", "report/payload.py")
    for path in set(source.rglob("*.py")) - {source / each for each in serial}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "kind":
                assert "column" not in ast.unparse(node.value), f"{path}:{node.lineno}"
            if isinstance(node, ast.Compare) and any(getattr(each, "attr", "") == "kind" for each in ast.walk(node)):
                compared = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                assert not compared & set(COLUMNS), f"{path}:{node.lineno}"


# ---- its design columns ----------------------------------------------------------------------------------------


@contract
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_the_dense_evaluation(case, dtype):
    got = written(case.column, case.cells, dtype=dtype)
    np.testing.assert_allclose(got, dense(case, case.cells), rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)
    np.testing.assert_allclose(case.column.cell_rows(case.cells), dense(case, case.cells), atol=1e-15)
    assert written(case.column, case.cells[:0]).shape == (0, case.column.width)


@contract
def test_design_columns_follow_one_another_and_have_names(case):
    column, names = case.column, case.column.feature_names()
    assert column.stop == column.start + column.width
    assert len(set(names)) == len(names) == column.width
    assert all(name.startswith("x") for name in names)
    gap = case.dense(NAN if column.is_number else None)
    if column.missing >= 0:
        assert gap.tolist() == np.eye(column.width)[column.missing - column.start].tolist()
        assert names[column.missing - column.start] == "x=missing"
    else:
        assert "x=missing" not in names


@contract
def test_no_cell_has_more_active_entries_than_slots_and_some_have_as_many(case):
    active = (dense(case, case.cells) != 0).sum(axis=1)
    assert active.max() == case.column.n_slots


@numeric
@pytest.mark.parametrize("leftwards", [False, True])
def test_slopes_are_finite_differences(case, leftwards):
    step = -1e-7 if leftwards else 1e-7
    got = written(case.column, case.cells, "write_slopes_", leftwards=leftwards)
    for x, slope in zip(case.cells, got, strict=True):
        ends = [each for each in (case.column.low, case.column.high) if each == x]
        if case.column.bounded and ends and ends[0] == (case.column.low if leftwards else case.column.high):
            continue  # at an end of the range the slope is that inside of it
        expected = (case.dense(x + step) - case.dense(x)) / step
        np.testing.assert_allclose(slope, expected, atol=1e-6)


@pytest.mark.parametrize("case", [each for each in CASES.values() if not each.column.is_number])
def test_in_the_place_of_a_slope_a_category_has_its_level(case):
    np.testing.assert_array_equal(written(case.column, case.cells, "write_slopes_"), dense(case, case.cells))


# ---- its cells -------------------------------------------------------------------------------------------------


@contract
def test_extreme_cells_lie_where_their_names_say(case):
    column, found = case.column, case.column.extreme_cells()
    values = column.nodes().tolist() if column.is_number else [each for each in column.levels if each is not None]
    values += [NAN if column.is_number else None] * (column.missing >= 0)
    names = ["missing" if each is None or each != each else "other" if each is OTHER else str(each) for each in values]
    by_name = dict(zip(column.cell_names(), found, strict=True))
    for name, value in zip(names, values, strict=True):
        np.testing.assert_allclose(by_name[name.removesuffix(".0")], case.dense(value), atol=1e-15)
    assert len(by_name) == len(found) == len(values)


@contract
def test_no_cell_leaves_all_cells_if_the_column_is_bounded_and_otherwise_some_do(case):
    cells, names = case.column.all_cells()
    assert len(cells) == len(names)
    assert inside_hull(dense(case, case.cells), cells) == case.column.bounded


@contract
def test_swaps_are_the_differences_between_any_two_extreme_cells(case):
    cells = case.column.extreme_cells()
    expected = [b - a for i, a in enumerate(cells) for b in cells[i + 1 :]]
    np.testing.assert_array_equal(case.column.swaps(), np.reshape(expected, (-1, case.column.width)))


@contract
def test_the_typical_cell_is_the_median_or_no_level(case):
    column = case.column
    expected = case.dense(column.median) if column.is_number else np.zeros(column.width)
    np.testing.assert_allclose(column.typical(), expected, atol=1e-15)
    assert column.typical_name == (column.median if column.is_number else "average level")


@contract
def test_points_are_cells_of_the_column_and_then_missing(case):
    x, rows = case.column.points(20)
    if case.column.is_number:
        assert {*case.column.nodes().tolist(), case.column.median} <= set(x)
        assert list(x) == sorted(x)
        np.testing.assert_allclose(rows[: len(x)], dense(case, x), atol=1e-14)
        assert rows[len(x) :].tolist() == ([case.dense(NAN).tolist()] if case.column.missing >= 0 else [])
    else:
        assert list(x) == case.column.cell_names()
        np.testing.assert_array_equal(rows, case.column.extreme_cells())


@numeric
@pytest.mark.parametrize("between", [None, (-5.0, 6.0), (0.1, 0.2), (1.0, 1.0)])
def test_a_path_passes_all_corners_of_the_range(case, between):
    column = case.column
    low, high = column.check_between(between)
    nodes = column.grid(low, high, 8)
    assert (nodes[0], nodes[-1]) == ((column.low, column.high) if between is None else between)
    assert (np.diff(nodes) >= 0).all()
    assert len(nodes) > 8
    assert {knot for knot in column.corners() if low < knot < high} <= set(nodes)
    np.testing.assert_allclose(column.path((low, high), 8), dense(case, nodes), atol=1e-14)


@pytest.mark.parametrize("case", [each for each in CASES.values() if not each.column.is_number])
def test_a_path_of_a_category_is_its_levels_and_one_that_was_never_seen(case):
    levels = case.column.check_between(None)
    assert set(levels) == {*case.column.levels, OTHER}
    np.testing.assert_array_equal(case.column.path(levels, 8), dense(case, levels))


@contract
@pytest.mark.parametrize("between", [[], ["nowhere"], (5.0,), [object()]])
def test_a_range_that_is_none_is_refused_with_the_name_of_the_column(case, between):
    with pytest.raises(ValueError, match=r"between must hold .*'x'"):
        case.column.check_between(between)


@contract
def test_cells_are_shown_and_plain(case):
    cells = cells_of(case.column, case.cells)
    plain, shown = case.column.plain_cells(cells), case.column.shown_cells(cells)
    assert json.loads(json.dumps(plain.tolist())) == plain.tolist()
    assert [text == "missing" for text in shown] == [value is None or value != value for value in case.cells]
    for value, each in zip(case.cells, plain, strict=True):
        if case.column.is_number:
            assert each == (None if value != value else value)
        else:
            np.testing.assert_array_equal(case.dense(value), np.arange(case.column.width) == each)
    assert case.column.holds_text == any(isinstance(level, str) for level in getattr(case.column, "levels", ()))


# ---- its moves -------------------------------------------------------------------------------------------------


@contract
def test_increments_sum_up_to_the_way_from_the_lowest_to_the_highest_cell(case):
    column = case.column
    steps, lengths = column.increments(), column.lengths()
    assert (steps.shape, lengths.shape) == ((column.n_steps, column.width), (column.n_steps,))
    if not column.n_steps:
        assert not column.is_number or column.low == column.high
        return
    slopes = steps / lengths[:, None]
    np.testing.assert_allclose(
        np.diff(column.nodes()) @ slopes, case.dense(column.high) - case.dense(column.low), atol=1e-14
    )
    middle = (column.nodes()[1:] + column.nodes()[:-1]) / 2
    np.testing.assert_allclose(written(column, middle, "write_slopes_"), slopes, atol=1e-14)
    np.testing.assert_allclose(column.bends(), np.diff(slopes, axis=0), atol=1e-14)
    assert column.n_ramps == (column.n_steps if len(column.corners()) else 0)


@numeric
@pytest.mark.parametrize("tolerance", [0.0, 0.2, 1.5, 50.0])
def test_differences_within_a_tolerance_are_in_the_hull_of_those_nearby(case, tolerance):
    rng, column = np.random.default_rng(0), case.column
    a = rng.uniform(-6, 8, 300)
    moves = dense(case, a + tolerance * rng.uniform(-1, 1, 300)) - dense(case, a)
    listed = column.nearby(tolerance)
    assert listed.shape[1] == column.width
    assert inside_hull(moves, np.concatenate([listed, -listed]))


@contract
def test_without_a_tolerance_any_change_is_nearby(case):
    rows, listed = dense(case, case.cells), case.column.nearby(None)
    if case.column.bounded:
        moves = (rows[:, None] - rows).reshape(-1, case.column.width)
        assert inside_hull(moves, np.concatenate([listed, -listed, np.zeros((1, case.column.width))]))


# ---- in which coordinates it is trained ------------------------------------------------------------------------


@contract
def test_ramps_describe_all_columns_up_to_a_constant(case):
    column, ramps = case.column, case.column.ramps()
    assert len(ramps) == column.width
    rank = np.linalg.matrix_rank(ramps) if ramps.shape[1] else 0
    assert rank == ramps.shape[1]
    constant = dense(case, column.nodes()[:1] if column.is_number else ()).reshape(-1, column.width)
    assert np.linalg.matrix_rank(np.concatenate([ramps.T, constant])) == column.width


@contract
def test_a_straight_column_has_no_bends_and_is_free_where_a_cell_is_missing(case):
    column, straight = case.column, case.column.straight()
    np.testing.assert_allclose(column.bends() @ straight, 0, atol=1e-14)
    if column.missing >= 0:
        assert np.eye(column.width)[column.missing - column.start].tolist() in straight.T.tolist()


@contract
def test_rising_is_the_inverse_of_increments(case):
    spread = case.column.rising()
    assert spread.shape[1] == case.column.n_steps
    assert (spread >= 0).all()
    np.testing.assert_array_equal(case.column.increments()[:, : len(spread)] @ spread, np.eye(case.column.n_steps))


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.column.n_ramps])
@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_hinges_bend_one_way_and_with_a_sign_go_one_way(case, sign):
    column, hinges = case.column, case.column.hinged(sign)
    assert hinges.shape[1] == column.n_ramps - (sign == 0)
    assert (column.bends()[:, : len(hinges)] @ hinges >= -1e-14).all()
    assert (sign * (column.increments()[:, : len(hinges)] @ hinges) >= -1e-14).all()


# ---- in a file, in a pickle, and never changed -----------------------------------------------------------------


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
        assert not isinstance(value, np.ndarray) or not value.flags.writeable


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
