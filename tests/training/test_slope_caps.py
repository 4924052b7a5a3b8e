"""Caps on slopes: norms by LAPACK, gradients by differences, and what they leave as it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lambdak.eigen.packing import packed_size, padded_width, sym
from lambdak.table.encoder import TableEncoder
from lambdak.training import slope_caps
from lambdak.training.slope_caps import PieceCap, SlopeCap, slope_cap

DIM = 4
WIDTH = packed_size(DIM)
TABLE = np.column_stack([np.arange(40.0) ** 2, np.where(np.arange(40) % 7, np.arange(40.0), np.nan)])
COLUMNS = TableEncoder(n_knots=6).fit(TABLE).columns
LINES = TableEncoder(n_knots=0).fit(TABLE).columns
ALONE = {"free": (COLUMNS[1], True), "whole": (COLUMNS[1], False), "line": (LINES[1], True)}
DIRECTION = [(COLUMNS[0], 2.0), (COLUMNS[1], -0.5)]


def matrices(seed=0, models=6, columns=COLUMNS):
    rng = np.random.default_rng(seed)
    coef = np.zeros((models, columns[-1].stop, padded_width(WIDTH)))
    sizes = 10.0 ** np.linspace(-1, 1, models)[:, None, None]
    coef[..., :WIDTH] = sizes * rng.standard_normal((models, columns[-1].stop, WIDTH))
    return coef


def slopes(column, coef):
    """Dense matrices of all slopes, (models, pieces, d, d), by the definition."""
    own = sym(coef[:, column.start : column.stop, :WIDTH])
    if column.kind == "linear":
        return own[:, :1] / column.scale
    numbers = own[:, : len(column.knots)]
    return np.diff(numbers, axis=1) / np.diff(column.knots)[:, None, None]


def norms(dense):
    return np.linalg.norm(dense, 2, axis=(-2, -1))


def along(direction, coef):
    """The steepest slope along a direction, every choice of a piece or a flat end one by one, (models,)."""
    parts = [q * slopes(column, coef) for column, q in direction]
    parts = [np.concatenate([part, np.zeros_like(part[:, :1])], axis=1) for part in parts]
    choices = product(*(range(part.shape[1]) for part in parts))
    return np.max([norms(sum(p[:, i] for p, i in zip(parts, c, strict=True))) for c in choices], axis=0)


@pytest.mark.parametrize("case", ALONE)
def test_no_piece_is_steeper_than_the_limit_and_flatter_models_are_untouched(case):
    column, bends = ALONE[case]
    before = matrices(columns=LINES if case == "line" else COLUMNS)
    limit = float(np.median(norms(slopes(column, before)).max(axis=1)))
    after = before.copy()
    slope_cap([(column, 1.0)], limit, DIM, bends).apply_(after)
    steepest = norms(slopes(column, before)).max(axis=1)
    assert (norms(slopes(column, after)).max(axis=1) <= limit).all()
    np.testing.assert_allclose(norms(slopes(column, after)).max(axis=1), np.minimum(steepest, limit), rtol=2e-5)
    np.testing.assert_array_equal(after[steepest < 0.99 * limit], before[steepest < 0.99 * limit])
    others = [j for j in range(before.shape[1]) if not column.start <= j < column.stop or j == column.missing]
    np.testing.assert_array_equal(after[:, others], before[:, others])


def test_a_column_that_may_bend_anywhere_keeps_the_pieces_that_are_flat_enough():
    before, column = matrices(), COLUMNS[1]
    limit = float(np.median(norms(slopes(column, before))))
    after = before.copy()
    cap = slope_cap([(column, 1.0)], limit, DIM, bends=True)
    assert isinstance(cap, PieceCap)
    cap.apply_(after)
    flat = norms(slopes(column, before)) < 0.99 * limit
    assert flat.any(axis=1).sum() > 1
    np.testing.assert_allclose(slopes(column, after)[flat], slopes(column, before)[flat], atol=1e-12)
    numbers = slice(column.start, column.missing)
    np.testing.assert_allclose(after[:, numbers].mean(axis=1), before[:, numbers].mean(axis=1), atol=1e-12)


def test_a_weight_of_a_single_column_divides_its_limit():
    before, column = matrices(), COLUMNS[1]
    after = before.copy()
    slope_cap([(column, -2.0)], 0.5, DIM, bends=True).apply_(after)
    np.testing.assert_allclose(norms(slopes(column, after)).max(), 0.25, rtol=2e-5)


@pytest.mark.parametrize("few", [True, False], ids=["every choice", "climbing"])
def test_no_choice_of_pieces_along_a_direction_is_steeper_than_the_limit(few, monkeypatch):
    if not few:
        monkeypatch.setattr(slope_caps, "_FEW_CHOICES", 0)
    before = matrices()
    limit = float(np.median(along(DIRECTION, before)))
    after = before.copy()
    cap = slope_cap(DIRECTION, limit, DIM)
    assert isinstance(cap, SlopeCap)
    cap.apply_(after, proven=True)
    np.testing.assert_allclose(along(DIRECTION, after), np.minimum(along(DIRECTION, before), limit), rtol=2e-5)
    assert (along(DIRECTION, after) <= limit).all()
    quick = before.copy()
    cap.apply_(quick)
    assert (along(DIRECTION, quick) <= 1.3 * limit).all()  # while training, nearly always the steepest choice


@pytest.mark.parametrize("case", ["alone", "direction", "added up"])
def test_columns_that_are_compared_with_limited_ones_are_scaled_by_the_same_factor(case, monkeypatch):
    monkeypatch.setattr(slope_caps, "MOST_CHOICES", 10 if case == "added up" else 1 << 13)
    before, (first, second) = matrices(), COLUMNS
    direction = [(first, 1.0)] if case == "alone" else DIRECTION
    after = before.copy()
    cap = slope_cap(direction, 1e-3, DIM, tied=np.arange(first.start, second.stop))
    cap.apply_(after)
    ratios = after[:, first.start : second.stop, :WIDTH] / before[:, first.start : second.stop, :WIDTH]
    np.testing.assert_allclose(ratios, ratios[:, :1, :1] + np.zeros_like(ratios), rtol=1e-12)
    assert (ratios < 1).all()
    grad = np.ones_like(before)
    move, h = matrices(3), 1e-6
    ends = []
    for sign in (1, -1):
        moved = before + sign * h * move
        cap.apply_(moved)
        ends.append(moved)
    derivative = (ends[0] - ends[1]) / (2 * h)
    cap.apply_(before.copy())
    grad[..., WIDTH:] = 0.0
    wanted = (grad * derivative).sum(axis=(1, 2))
    cap.pull_back_(grad)
    np.testing.assert_allclose((grad * move).sum(axis=(1, 2)), wanted, atol=1e-5 * np.abs(wanted).max())


def test_with_too_many_choices_the_slopes_of_the_columns_are_added_up(monkeypatch):
    monkeypatch.setattr(slope_caps, "MOST_CHOICES", 10)
    before = matrices()
    limit = float(np.median(along(DIRECTION, before)))
    after = before.copy()
    slope_cap(DIRECTION, limit, DIM).apply_(after)
    total = sum(norms(q * slopes(column, after)).max(axis=1) for column, q in DIRECTION)
    assert (total <= limit).all()
    assert (total > 0.99 * limit).any()


@pytest.mark.parametrize("case", [*ALONE, "direction", "climbing", "added up"])
def test_pull_back_is_the_transpose_of_the_derivative_by_central_differences(case, monkeypatch):
    columns = LINES if case == "line" else COLUMNS
    monkeypatch.setattr(slope_caps, "_FEW_CHOICES", 0 if case == "climbing" else 128)
    monkeypatch.setattr(slope_caps, "MOST_CHOICES", 1 if case == "added up" else 1 << 13)
    column, bends = ALONE.get(case, (None, False))
    direction = [(column, 1.0)] if column else DIRECTION
    coef, rng, h = matrices(1, columns=columns), np.random.default_rng(0), 1e-6
    limit = float(np.median(norms(slopes(column, coef))) if column else np.median(along(DIRECTION, coef)))
    cap, move = slope_cap(direction, limit, DIM, bends), matrices(2, columns=columns)

    def capped(at):
        result = at.copy()
        cap.apply_(result)
        return result

    derivative = (capped(coef + h * move) - capped(coef - h * move)) / (2 * h)
    grad = np.zeros_like(coef)
    grad[..., :WIDTH] = rng.standard_normal((*coef.shape[:2], WIDTH))
    pulled = grad.copy()
    capped(coef)
    cap.pull_back_(pulled)
    assert (pulled != grad).any()
    got, wanted = (pulled * move).sum(axis=(1, 2)), (grad * derivative).sum(axis=(1, 2))
    np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())
