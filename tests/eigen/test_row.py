"""The kernel's way from one row to eigenvalues: those of its training step, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import forward, padded

from lambdak.eigen.packing import packed_size
from lambdak.eigen.runtime import native

KNOTS = np.array([0.0, 1.0, 4.0])
LARGEST = 1e300


def nothing(cell, named):
    return None


def given(cell, named):
    """A cell that is its entries already."""
    return cell


def coefficients(models, dim, seed=0):
    return padded(np.random.default_rng(seed).normal(size=(models, 8, packed_size(dim))))


def solver(
    coef, dim, index=(0,), levels=(), curves=((KNOTS, 1, True), None), entries=(nothing, given), largest=LARGEST
):
    return native().one_row(list(curves), entries, largest, coef, dim, list(index), list(levels))


@pytest.mark.parametrize(("models", "dim"), [(1, 1), (3, 5), (8, 9), (70, 4), (2, 40)])
def test_eigenvalues_are_those_of_a_training_step_to_the_last_bit(models, dim):
    coef, index = coefficients(models, dim), sorted({0, dim // 2, dim - 1})
    ids, weights = [[0, 2, 3, 5, 6]], [[1.0, 0.5, 0.5, 0.25, 0.0]]
    row = (2.5, ((5, 6), (0.25, 0.0)))
    chosen = np.zeros((models, 1), np.int32)
    value, _ = forward(native(), np.array(ids, np.int32), np.array(weights), chosen, coef, dim, index, False)
    assert solver(coef, dim, index)(row, True) == value.ravel().tolist()
    levels = [[*ids[0], 7], [*ids[0], 6]]
    both = np.tile(np.arange(2, dtype=np.int32), (models, 1))
    value, _ = forward(
        native(), np.array(levels, np.int32), np.array([[*weights[0], 1.0]] * 2), both, coef, dim, index, False
    )
    assert solver(coef, dim, index, levels=[7, 6])(list(row), True) == value.ravel().tolist()


def test_a_cell_that_is_no_plain_number_is_left_to_its_column():
    seen = []

    def entries(cell, named):
        seen.append((cell, named))
        return (1,), (1.0,)

    solve = solver(coefficients(2, 3), 3, entries=(entries, given), largest=100.0)
    for cell in (None, "1", True, np.float64(1), float("inf"), float("nan"), 101.0, 10**400):
        assert len(solve([cell, ((), ())], True)) == 2
    for cell in (1.0, -100, 100.0):
        assert len(solve([cell, ((), ())], False)) == 2
    assert [repr(cell) for cell, _ in seen] == [
        repr(cell) for cell in (None, "1", True, np.float64(1), float("inf"), float("nan"), 101.0, 10**400)
    ]
    assert all(named for _, named in seen)


def test_no_entries_are_no_answer():
    assert solver(coefficients(2, 3), 3)(("1", ((), ())), True) is None
    assert solver(coefficients(2, 3), 3)((1.0, None), True) is None


def test_wrong_rows_and_models_are_refused():
    coef = coefficients(2, 3)
    for row in ((1.0,), [1.0, None, None], "ab", {}):
        with pytest.raises(ValueError, match="cells must be a tuple or a list, one for each column"):
            solver(coef, 3)(row, True)
    for bad in (8, -1, 2**31 - 1):
        with pytest.raises(ValueError, match="a coefficient that does not exist"):
            solver(coef, 3)((1.0, ((bad,), (1.0,))), True)
        with pytest.raises(ValueError, match="a coefficient that does not exist"):
            solver(coef, 3, levels=[bad])((1.0, ((1,), (1.0,))), True)
    for wrong in (((1,), (1.0, 2.0)), ((1,),), 3, ((1,), 2.0)):
        with pytest.raises(ValueError, match="entries must be ids and weights, as many of each"):
            solver(coef, 3)((1.0, wrong), True)
    for wrong in ((("x",), (1.0,)), ((1,), ("x",))):
        with pytest.raises(TypeError):
            solver(coef, 3)((1.0, wrong), True)
    for change in (
        {"index": [3]}, {"index": []}, {"curves": [None]}, {"curves": [(KNOTS[:1], 1, True), None]},
        {"curves": [(KNOTS.astype(np.float32), 1, True), None]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"one_row needs|index must"):
            solver(coef, 3, **change)
    for wrong in (coef[0], coef.astype(np.float32), np.ascontiguousarray(coef), coef[..., :-1]):
        with pytest.raises(ValueError, match="one_row needs"):
            solver(wrong, 3)


def test_an_error_of_a_column_is_passed_on():
    def fail(cell, named):
        raise KeyError(cell)

    with pytest.raises(KeyError, match="odd"):
        solver(coefficients(2, 3), 3, entries=(nothing, fail))((1.0, "odd"), True)
