"""The contract of columns: every type passes by a constructor and A(x), written down by hand as a dense row."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from column_cases import CASES, NAN, cells_of, contract, dense, inside_hull, numeric, written

import lambdak
from lambdak.table.category_levels import OTHER
from lambdak.table.column_contract import Column
from lambdak.table.column_types import COLUMNS
from lambdak.table.numeric_column import Numeric

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
    serial = (
        "table/column_types.py", "store/_columns.py", "certify/lambdak_check.py",
    )  # fmt: skip
    for path in set(source.rglob("*.py")) - {source / each for each in serial}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "kind":
                assert "column" not in ast.unparse(node.value), f"{path}:{node.lineno}"
            if isinstance(node, ast.Compare) and any(getattr(each, "attr", "") == "kind" for each in ast.walk(node)):
                compared = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                assert not compared & set(COLUMNS), f"{path}:{node.lineno}"


# ---- its design columns ----------------------------------------------------------------------------------------


@contract
def test_a_cell_alone_has_the_entries_it_has_among_others_bit_for_bit(case):
    column, shape = case.column, (len(case.cells), case.column.n_slots)
    ids, weights = np.zeros(shape, np.int32), np.zeros(shape)
    column.write_(cells_of(column, case.cells), ids, weights)
    alone = [column.cell_entries(cell, named=False) for cell in case.cells]
    assert [entries[0] for entries in alone] == list(map(tuple, ids.tolist()))
    assert [entries[1] for entries in alone] == list(map(tuple, weights.tolist()))


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
def test_instead_of_a_slope_a_category_has_its_level(case):
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
def test_matrices_at_all_cells_are_those_of_their_combinations(case):
    own, (cells, names) = np.random.default_rng(0).standard_normal((2, case.column.width, 3)), case.column.all_cells()
    np.testing.assert_array_equal(case.column.at_cells(own), cells @ own)
    assert case.column.all_names() == names


@contract
def test_swaps_are_the_differences_between_any_two_extreme_cells(case):
    cells = case.column.extreme_cells()
    expected = [b - a for i, a in enumerate(cells) for b in cells[i + 1 :]]
    np.testing.assert_array_equal(case.column.swaps(), np.reshape(expected, (-1, case.column.width)))


@contract
def test_the_baseline_is_the_median_or_no_level(case):
    column = case.column
    expected = case.dense(column.median) if column.is_number else np.zeros(column.width)
    np.testing.assert_allclose(column.baseline(), expected, atol=1e-15)
    assert column.baseline_name == (column.median if column.is_number else "average level")


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
