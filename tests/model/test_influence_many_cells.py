"""Influence of columns with more cells than pairs can be tried for: thousands of levels and knots."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from fitted_models import fitted
from hand_made_models import symmetric

from lambdak import SpectralRegressor
from lambdak.eigen.packing import sym, unsym
from lambdak.losses import IDENTITY
from lambdak.model import influence as reach
from lambdak.model.influence import any_change, box, norms
from lambdak.model.readout import Readout, readouts
from lambdak.pencil import diameter as search
from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.curve_column import Curve


def readout_of(column, own, weights=(0.25, 0.75), scale=2.0):
    """An output with one column, whose matrices are ``own`` (members, p, D)."""
    coef = np.concatenate([np.zeros_like(own[:, :1]), own], axis=1)
    return Readout(
        "prediction", (column,), coef, coef[:, 0], np.zeros(len(coef)), np.array(weights), 0, 0.0, scale, IDENTITY
    )


def category(levels, *more):
    return Category("c", 1, levels=(*map(str, range(levels)), *more))


def along(direction, heights):
    """Matrices (2, p, D) on a line, so that the largest change is known."""
    return np.stack([heights, -2 * heights])[..., None] * unsym(direction)


def brute_force(output, cells):
    first, second = np.triu_indices(len(cells), 1)
    moves = (cells[second] - cells[first]) @ output.column(0)
    return output.over_members(np.linalg.norm(sym(moves), 2, axis=(-2, -1))).max()


KNOTS = Curve("c", 1, knots=np.arange(140.0), median=1.0)
MANY = {
    "levels": category(150),
    "pooled levels": category(150, OTHER),
    "a missing level": category(150, None),
    "knots": KNOTS,
    "knots and missing": replace(KNOTS, has_missing=True),
}


@pytest.mark.parametrize("column", MANY.values(), ids=MANY)
def test_any_change_between_many_cells_is_exact_and_names_them(column):
    own = np.random.default_rng(0).standard_normal((2, column.width, 6))
    output, (cells, names) = readout_of(column, own), column.all_cells()
    found = any_change(output, 0)
    assert found.bound == pytest.approx(brute_force(output, cells), rel=1e-10)
    rows = dict(zip(names, cells, strict=True))
    assert norms(output, (rows[found.cells[1]] - rows[found.cells[0]])[None], 0)[0] == pytest.approx(found.bound)


def test_the_same_bound_for_few_cells_as_for_many(monkeypatch):
    output = readouts(fitted("wide").model_)[0]
    found = any_change(output, 0)
    monkeypatch.setattr(reach, "_FEW_CELLS", 10_000)
    assert any_change(output, 0) == (pytest.approx(found.bound, rel=1e-10), found.cells)


def test_an_unseen_level_and_a_missing_one_count_among_many():
    own = np.random.default_rng(0).standard_normal((2, 201, 6)) + 30 * unsym(np.eye(3))
    assert "an unseen level" in any_change(readout_of(category(201), own), 0).cells
    column = Curve("c", 1, knots=np.arange(200.0), median=1.0, has_missing=True)
    own[:, 200] = 0.0
    output = readout_of(column, own)
    assert "missing" in any_change(output, 0).cells
    present = any_change(output, 0, present_only=True)
    assert present.bound == pytest.approx(brute_force(output, np.eye(201)[:200]), rel=1e-10)


def test_ten_thousand_levels_in_bounded_memory():
    rng = np.random.default_rng(0)
    heights, direction = rng.standard_normal(10_000), symmetric(rng, 3)
    output = readout_of(category(10_000), along(direction, heights))
    size = 2.0 * (0.25 + 2 * 0.75) * np.linalg.norm(direction, 2)
    tracemalloc.start()
    whole, swapped = any_change(output, 0), box(output, {0: None})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert whole.bound == pytest.approx(size * np.ptp(heights), rel=1e-10)
    assert set(whole.cells) == {str(heights.argmax()), str(heights.argmin())}
    assert swapped[0] == whole.bound
    assert "relaxation" not in swapped[1]
    assert peak < 10_000**2  # a combination of levels for every level would take eight times that


def test_a_box_of_a_large_category_and_numbers_is_a_sum():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"c": rng.integers(0, 150, 1500).astype(str), "x": rng.standard_normal(1500)})
    model = SpectralRegressor(effort="fast", max_iter=1, random_state=0).fit(table, table["x"])
    output = readouts(model.model_)[0]
    bound, how = box(output, {0: None, 1: 0.5})
    assert bound == pytest.approx(any_change(output, 0).bound + box(output, {1: 0.5})[0])
    assert "relaxation" in how


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("tolerance", [0.0, 0.4, 3.0, 1e6])
def test_a_box_of_many_knots_is_a_relaxation(tolerance, clamp, monkeypatch):
    own = np.random.default_rng(0).standard_normal((2, 60, 6)).cumsum(axis=1)
    output = readout_of(Curve("c", 1, knots=np.arange(60.0), median=1.0, clamp=clamp), own)
    exact = box(output, {0: tolerance})[0]
    monkeypatch.setattr(reach, "_MOST_FLOATS", 100)
    relaxed, how = box(output, {0: tolerance})
    assert exact <= relaxed * (1 + 1e-12) <= max(tolerance, 1) * 3 * any_change(output, 0).bound
    assert "relaxation" in how


def _limited(real, matrices, weights):
    """A search that may try no pair of several members."""
    return real(matrices, weights, 0 if len(matrices) > 1 else 10**6)


def test_what_exceeds_the_budget_is_bounded_by_the_members_one_by_one(monkeypatch):
    own = np.random.default_rng(0).standard_normal((2, 200, 6))
    output = readout_of(category(199, OTHER), own)
    exact, members = any_change(output, 0).bound, [search.diameter(part[None], np.ones(1)).bound for part in own]
    limited = partial(_limited, search.diameter)
    monkeypatch.setattr(reach, "diameter", limited)
    found = any_change(output, 0)
    assert found.cells is None
    assert exact <= found.bound <= 2.0 * (0.25 * members[0] + 0.75 * members[1]) * (1 + 1e-12)
