"""Caps on columns of many cells: they hold for all pairs in the end, and no step of training tries all pairs."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralRegressor, load
from lambdak.eigen.packing import packed_size, sym
from lambdak.model.readout import readouts
from lambdak.pencil import diameter as search
from lambdak.table.category_column import Category
from lambdak.table.category_levels import OTHER
from lambdak.table.curve_column import Curve
from lambdak.table.linear_column import Linear
from lambdak.training import caps
from lambdak.training.caps import Cap, steepest_of_many

QUICK = {"effort": "fast", "max_iter": 1, "random_state": 0}
COLUMNS = {
    "levels": Category("c", 1, levels=(*map(str, range(200)), None, OTHER)),
    "knots": Curve("c", 1, knots=np.arange(140.0), median=1.0, has_missing=True),
}


def largest(rows):
    """max ‖C_j − C_i‖₂ of every model, (models,), by dense norms in float64."""
    first, second = np.triu_indices(rows.shape[1], 1)
    moves = sym((rows[:, second] - rows[:, first]).astype(np.float64))
    return np.linalg.norm(moves, 2, axis=(-2, -1)).max(axis=1)


def random_coef(column, dim=3, models=4, dtype=np.float32):
    size = 10.0 ** np.linspace(-2, 2, models)[:, None, None]  # some above a cap of one, some below
    rng = np.random.default_rng(0)
    return (size * rng.standard_normal((models, column.stop + 2, packed_size(dim)))).astype(dtype)


# ---- one step --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_proven_cap_holds_for_all_pairs_of_cells(name, dtype):
    column, before = COLUMNS[name], random_coef(COLUMNS[name], dtype=dtype)
    after = before.copy()
    Cap(column, 1.0, 3).apply_(after, proven=True)
    own = slice(column.start, column.stop)
    high = largest(before[:, own]) > 1
    assert set(high) == {False, True}
    assert (largest(after[:, own]) <= 1).all()
    np.testing.assert_allclose(largest(after[:, own])[high], 1, rtol=1e-4)
    np.testing.assert_array_equal(after[~high], before[~high])
    np.testing.assert_array_equal(np.delete(after, own, axis=1), np.delete(before, own, axis=1))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_cap_in_training_is_nearly_the_proven_one_and_never_below_it(name):
    column = COLUMNS[name]
    own, (quick, proven) = slice(column.start, column.stop), (random_coef(column) for _ in range(2))
    Cap(column, 1.0, 3).apply_(quick)
    Cap(column, 1.0, 3).apply_(proven, proven=True)
    ratio = largest(quick[:, own]) / largest(proven[:, own])
    assert (ratio >= 1 - 1e-6).all()
    assert (ratio <= 1.2).all()


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_slope_of_many_is_the_derivative_by_central_differences(dim):
    rng, h = np.random.default_rng(dim), 1e-6
    rows, direction = rng.standard_normal((2, 5, 150, packed_size(dim)))
    bound, slope = steepest_of_many(rows)
    assert ((np.abs(slope).sum(axis=-1) > 0).sum(axis=1) == 2).all()
    ends = [steepest_of_many(rows + sign * h * direction)[0] for sign in (1, -1)]
    np.testing.assert_allclose((slope * direction).sum(axis=(1, 2)), (ends[0] - ends[1]) / (2 * h), atol=1e-6)
    assert (bound <= largest(rows) * (1 + 1e-12)).all()


def test_a_step_of_training_solves_few_matrices(monkeypatch):
    solved = []
    for name in ("eigenpair", "eigenvalue_vjp"):
        real = getattr(search, name)
        spy = functools.partial(
            lambda real, A, *rest, n_jobs: solved.append(A[..., 0].size) or real(A, *rest, n_jobs=n_jobs), real
        )
        monkeypatch.setattr(search, name, spy)
    monkeypatch.delattr(caps, "eigenvalue")
    rows = np.random.default_rng(0).standard_normal((2, 5000, 6)).astype(np.float32)
    column = Category("c", 0, levels=tuple(map(str, range(5000))))
    Cap(column, 1.0, 3).apply_(rows, threads=1)
    assert sum(solved) <= 4 * 2 * 16


# ---- caps so small or large that numbers end -------------------------------------------------------------------

EXTREME = [0.0, 5e-324, 1e-310, 1e-300, 1e-45, 1e-39, 1e-12, 1e38, 1e300, np.inf]
SIZES = [0.0, 1e-35, 1e30]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("column", [*COLUMNS.values(), Linear("x", 1, low=-1.0, high=2.0, has_missing=True)])
@pytest.mark.parametrize("limit", EXTREME)
def test_extreme_caps_hold_and_leave_numbers(limit, column, dtype):
    for size in SIZES:
        before = (size * random_coef(column, models=2)).astype(dtype)
        after, grad, cap = before.copy(), np.ones_like(before), Cap(column, limit, 3)
        cap.apply_(after, proven=True)
        cap.pull_back_(grad)
        assert np.isfinite(after).all()
        assert np.isfinite(grad).all()
        if dtype == np.float64:  # training in float32 has factors that are not normal numbers
            moves = column.swaps() @ after[:, column.start : column.stop]
            assert (np.linalg.norm(sym(moves), 2, axis=(-2, -1)) <= limit).all()
        if limit >= 1e38:
            np.testing.assert_array_equal(after, before)


def table(levels, rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, levels, rows)
    kind = np.where(rng.random(rows) < 0.1, None, code.astype(str).astype(object))
    x = np.where(rng.random(rows) < 0.1, np.nan, rng.standard_normal(rows))
    frame = pd.DataFrame({"kind": kind, "x": x, "one": np.ones(rows)})
    return frame, rng.standard_normal(levels)[code] + np.nan_to_num(np.sin(5 * x))


@pytest.mark.parametrize("cap", [1e-300, 1e-30, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_fits_with_extreme_caps_keep_them(cap, scale):
    X, y = table(140)
    model = SpectralRegressor(max_influence=cap, **QUICK).fit(X, scale * y)
    assert (model.feature_strengths_ <= cap).all()
    assert model.feature_strengths_[2] == 0.0  # it has one cell
    assert np.isfinite(model.predict(X)).all()
    assert all(claim.proven for claim in model.certify().claims if claim.requested)
    if cap > 1:
        free = SpectralRegressor(**QUICK).fit(X, scale * y)
        np.testing.assert_allclose(model.predict(X), free.predict(X), rtol=1e-4, atol=1e-4 * scale)


# ---- whole fits ------------------------------------------------------------------------------------------------


def kept(model, cap, path):
    """Whether a cap is kept, before and after saving, according to strengths and certificate."""
    model.save(path)
    for each in (model, load(path)):
        assert (each.feature_strengths_[:2] <= cap).all()
        claims = [claim for claim in each.certify().claims if claim.kind == "influence" and claim.requested]
        assert len(claims) == 2
        assert all(claim.proven for claim in claims)


@pytest.mark.parametrize(
    "settings", [{}, {"monotonic_cst": {"x": 1}, "max_iter": 20}, {"n_estimators": 3}], ids=["free", "rises", "three"]
)
def test_many_knots_and_many_levels_keep_their_caps(settings, tmp_path):
    X, y = table(150, 4000)
    longer = QUICK | {"max_iter": 3} | settings  # after a single epoch some columns are still below their caps
    model = SpectralRegressor(max_influence={"kind": 0.4, "x": 0.4}, n_knots=140, **longer).fit(X, y)
    assert min(len(column.all_names()) for column in model.model_.encoder.columns[:2]) > 128
    kept(model, 0.4, tmp_path / "model.safetensors")
    assert (model.feature_strengths_[:2] >= 0.35).all()  # members have different farthest pairs


def test_classes_keep_the_caps_of_many_levels(tmp_path):
    X, y = table(150, 4000)
    model = SpectralClassifier(max_influence={"kind": 0.4, "x": 0.4}, **QUICK).fit(X, np.digitize(y, [-0.5, 0.5]))
    kept(model, 0.4, tmp_path / "model.safetensors")


@pytest.mark.parametrize("levels", [20, 1000])
def test_an_unseen_level_and_a_missing_one_keep_the_cap(levels, tmp_path):
    X, y = table(levels, 4000)
    model = SpectralRegressor(max_influence={"kind": 0.3, "x": 0.3}, **QUICK).fit(X, y)
    column = model.model_.encoder.columns[0]
    assert column.all_names()[-1] == "an unseen level"
    assert "missing" in column.cell_names()
    kept(model, 0.3, tmp_path / "model.safetensors")
    rows = pd.concat([X.head(1).assign(kind=kind) for kind in ("never seen", None, *column.levels[:40])])
    assert np.ptp(model.predict(rows)) <= 0.3
    own = readouts(model.model_)[0].column(0)
    assert model.model_.scale * np.linalg.norm(sym(own), 2, axis=(-2, -1)).max() <= 0.3
