"""How far a computed raw score can be from the real function: the bound, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_scores import real_score
from fitted_models import KINDS, changed, fitted
from score_cases import frame_of, n_outputs, random_cells

from lambdak.model.readout import in_range, readouts


def distance(computed, ends):
    """At least the distance from a computed number to the real one, which lies between two ends."""
    return max(abs(Fraction(float(computed)) - end) for end in ends)


@pytest.mark.parametrize("kind", KINDS)
def test_no_computed_score_is_further_from_the_real_one_than_the_bound(kind):
    model = fitted(kind)
    cells = random_cells(model, 4, seed=8)
    table = frame_of(model, cells)
    raw = np.reshape(model.model_.raw(table), (len(cells), -1))
    reach = readouts(model.model_)[0].reach(model.model_.encoder.transform(table, np.float64))
    for output in range(min(n_outputs(model), 3)):
        readout = readouts(model.model_)[output]
        bounds = readout.errors(reach)
        assert (bounds < 1e-9).all()
        for row, computed, bound in zip(cells, raw[:, output], bounds, strict=True):
            assert distance(computed, real_score(model.model_, row, output)) <= Fraction(float(bound))


def test_the_bound_is_not_much_larger_than_what_happens():
    model = fitted("free")
    cells = random_cells(model, 20, seed=9)
    raw = model.model_.raw(frame_of(model, cells))
    worst = max(distance(x, real_score(model.model_, row)) for x, row in zip(raw, cells, strict=True))
    assert float(worst) > 1e-5 * readouts(model.model_)[0].error


def test_numbers_far_beyond_the_training_range_have_a_larger_bound():
    model = fitted("convex")
    table = frame_of(model, [[1e6, 1e6, "north", "a"]])
    readout = readouts(model.model_)[0]
    reach = readout.reach(model.model_.encoder.transform(table, np.float64))
    assert float(readout.errors(reach)[0]) > 1e3 * readout.error
    ends = real_score(model.model_, [1e6, 1e6, "north", "a"])
    assert distance(model.model_.raw(table)[0], ends) <= Fraction(float(readout.errors(reach)[0]))


@pytest.mark.parametrize("kind", ["free", "linear", "sparse"])
def test_within_the_training_range_no_row_reaches_further(kind):
    model = fitted(kind).model_
    cells = [column.low if column.is_number else "north" for column in model.encoder.columns]
    reach = readouts(model)[0].reach(model.encoder.transform(frame_of(fitted(kind), [cells]), np.float64))
    assert (reach[0] <= in_range(model.encoder.columns) * (1 + 1e-12)).all()


def test_matrices_that_cancel_have_a_bound_that_says_so():
    model, c = fitted("regressor"), 1e14
    coef = model.model_.coef.copy()
    column = model.model_.encoder.columns[0]
    diagonal = [i * (i + 3) // 2 for i in range(5)]
    coef[:, column.start : column.start + len(column.knots), diagonal] += c
    coef[:, 0, diagonal] -= c
    before, after = (readouts(each.model_)[0].error for each in (model, changed(model, coef=coef)))
    assert after > 1e10 * before
