"""Promises that hold to rounding are made to hold exactly, by as little as possible.

Tests ``statements``.
"""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import SMALL, X, Y

from lambdak import SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.eigen.packing import unsym
from lambdak.model.promises import Promises
from lambdak.model.statements import bending, rising
from lambdak.model.widening import widen_
from lambdak.pencil.exact import Work
from lambdak.table.curve_column import Curve
from lambdak.table.encoder import TableEncoder
from lambdak.table.linear_column import Linear

MODEL = SpectralRegressor(**SMALL).fit(X, Y).model_


def steps(rng, count, dim):
    """Singular steps of rank one, of very different sizes, and some that are zero."""
    vectors = rng.normal(size=(count, dim, 1)) * 10.0 ** rng.integers(-9, 1, (count, 1, 1))
    vectors[::4] = 0.0
    return unsym(vectors @ np.swapaxes(vectors, 1, 2))


def encoder_of(column):
    return TableEncoder(columns=(column,), clamp=column.clamp)


def widened(coef, column, sign, shape=None):
    result = coef.copy()
    widen_(result, encoder_of(column), Promises.requested([column], {0: sign}, None, shape), MODEL.loss, MODEL.outputs)
    return result


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dim", [1, 3, 9])
def test_singular_steps_become_exactly_semidefinite(sign, dim):
    rng = np.random.default_rng(dim)
    knots = np.sort(rng.normal(size=12))
    column = Curve("x", 1, knots=knots)
    width = dim * (dim + 1) // 2
    coef = rng.normal(size=(3, 13, width))
    coef[:, 1:] = coef[:, 1:2]
    coef[:, 2:] += sign * np.cumsum([steps(rng, 11, dim) for _ in range(3)], axis=1)
    found = widened(coef, column, sign)
    assert rising(column, found, sign).all_true(Work(np.inf), exact=True)
    assert np.abs(found - coef).max() <= 1e-12 * np.abs(coef).max()
    np.testing.assert_array_equal(found[:, 0], coef[:, 0])
    off_diagonal = [i for i in range(width) if i not in {j * (j + 3) // 2 for j in range(dim)}]
    np.testing.assert_array_equal(found[..., off_diagonal], coef[..., off_diagonal])


def test_what_is_proven_already_is_left_alone():
    column = Curve("x", 1, knots=np.arange(4.0))
    coef = np.zeros((1, 5, 3))
    coef[0, 2:] = np.cumsum(np.tile(unsym(np.eye(2)), (3, 1)), axis=0)
    np.testing.assert_array_equal(widened(coef, column, 1), coef)
    np.testing.assert_array_equal(widened(np.zeros((1, 5, 3)), column, -1), np.zeros((1, 5, 3)))


@pytest.mark.parametrize("shape", ["convex", "concave"])
@pytest.mark.parametrize("sign", [0, 1, -1])
def test_bends_become_exactly_semidefinite_and_stay_monotone(shape, sign):
    rng = np.random.default_rng(5)
    column = Curve("x", 1, knots=np.cumsum(10.0 ** rng.uniform(-4, 0, 9)), clamp=False)
    bend = 1 if shape == "convex" else -1
    spread = column.hinged(sign * bend)
    hinges = np.array([steps(rng, spread.shape[1], 5) for _ in range(2)])
    coef = np.concatenate([rng.normal(size=(2, 1, 15)), bend * (spread @ hinges)], axis=1)
    found = widened(coef, column, sign, shape)
    assert bending(column, found, bend).all_true(Work(np.inf), exact=True)
    assert not sign or rising(column, found, sign).all_true(Work(np.inf), exact=True)
    assert np.abs(found - coef).max() <= 1e-7 * np.abs(coef).max()


def test_a_line_is_widened_too():
    column = Linear("x", 1, low=-1.0, high=1.0, median=0.0)
    coef = np.zeros((1, 2, 3))
    coef[0, 1] = unsym(np.array([[1.0, 0.1], [0.1, 0.01]]))
    assert rising(column, widened(coef, column, 1), 1).all_true(Work(np.inf), exact=True)


def test_knots_too_close_for_a_shape_are_named():
    column = Curve("narrow", 1, knots=np.array([0.0, 5e-324, 1.0]), clamp=False)
    coef = np.zeros((1, 4, 6))
    coef[0, 2] = unsym(np.diag([1.0, -1.0, 0.0]))
    with pytest.raises(ValueError, match="'narrow' must have knots further apart"):
        widened(coef, column, 0, "convex")


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        SpectralRegressor(monotonic_cst={"income": 1, "age": -1}, effort="fast", random_state=0),
        SpectralRegressor("poisson", monotonic_cst={"income": 1}, effort="fast", dim=15, random_state=0),
        SpectralRegressor(shape="convex", monotonic_cst={"income": 1}, effort="fast", dim=7, random_state=0),
        SpectralRegressor(shape="concave", effort="fast", dim=7, random_state=0),
        SpectralQuantileRegressor((0.1, 0.5, 0.9), monotonic_cst={"income": 1}, effort="fast", random_state=0),
        SpectralOrdinalClassifier(monotonic_cst={"income": 1}, effort="fast", dim=9, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.shape}",
)
def test_whole_fits_end_with_promises_that_are_proven_in_integers(model):
    target = np.digitize(Y, [0.5, 1.5, 2.5]) if "Ordinal" in type(model).__name__ else np.maximum(Y, 0.0)
    assert model.fit(X, target).certify(exact=True).holds
    if model.shape is None:  # continued training ends in the same way
        assert model.partial_fit(X[:80], target[:80]).certify(exact=True).holds
