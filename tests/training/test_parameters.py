"""Parameters: one step against a step by hand, gradients against central differences, starts and restarts."""

from __future__ import annotations

import numpy as np
import pytest
from spread_cases import constrained, one_cone

from lambdak.eigen import steps as _steps
from lambdak.eigen.packing import sym
from lambdak.table.encoder import TableEncoder
from lambdak.training.caps import Cap
from lambdak.training.cones import ConeCoordinates
from lambdak.training.coordinates import design_moments, free_blocks
from lambdak.training.parameters import Parameters
from lambdak.training.shrink import Shrinkage
from lambdak.training.whitening import ColumnWhitening, FreeCoordinates

DIM, WIDTH, PADDED = 3, 6, 16
DAMPING, DECAY = (0.1, 1.0, 10.0), (0.0, 2.0, 30.0)
MODELS, RATE = len(DAMPING), 0.05
FREE, MONOTONE, CONVEX, CATEGORY = range(4)


def table():
    X = np.random.default_rng(0).standard_normal((200, 4))
    X[::5, MONOTONE] = np.nan
    X[:, CATEGORY] = np.random.default_rng(1).integers(0, 3, 200)
    return X


ENCODER = TableEncoder(n_knots=5, categorical_features=[CATEGORY]).fit(table())
MOMENTS = design_moments(ENCODER.transform(table()), ENCODER.n_design)


class Parts:
    """A free, a monotone, a convex and a categorical column; two of them capped, all that is free may vanish."""

    def __init__(self, caps=(MONOTONE, CATEGORY), alpha=0.0):
        columns = ENCODER.columns
        self.blocks = free_blocks(columns, constrained(columns, [MONOTONE], [CONVEX]))
        self.free = FreeCoordinates(ColumnWhitening(self.blocks, MOMENTS, apart=alpha > 0), DAMPING)
        self.cones = [
            ConeCoordinates([one_cone(columns[MONOTONE], -1, columns[MONOTONE].rising())], MOMENTS, DIM),
            ConeCoordinates([one_cone(columns[CONVEX], 1, columns[CONVEX].hinged(0))], MOMENTS, DIM),
        ]
        self.caps = [Cap(columns[i], 0.7, DIM) for i in caps]
        self.shrinkage = Shrinkage([block.cols for block in self.blocks], DIM, alpha) if alpha else None

    def parameters(self):
        return Parameters(self.free, self.cones, DIM, DECAY, caps=self.caps, shrinkage=self.shrinkage)

    def written(self, theta, dtype=np.float32):
        """Coefficients by hand: free columns, then cones, then caps."""
        coef = np.zeros((MODELS, ENCODER.n_design, PADDED), dtype)
        self.free.write_(theta[0], coef)
        for cone, part in zip(self.cones, theta[1:], strict=True):
            cone.add_(part[..., :WIDTH], coef)
        for cap in self.caps:
            cap.apply_(coef)
        return coef


def random_theta(parameters, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    theta = [size * rng.standard_normal(part.shape).astype(np.float32) for part in parameters.theta]
    for part in theta:
        part[..., WIDTH:] = 0
    return theta


def random_gradient(seed=5):
    grad = np.random.default_rng(seed).standard_normal((MODELS, ENCODER.n_design, PADDED)).astype(np.float32)
    grad[..., WIDTH:] = 0
    return grad


# ---- from parameters to coefficients ---------------------------------------------------------------------------


def test_the_shapes_of_parameters_and_coefficients_are_padded_and_start_at_zero():
    parameters = Parts().parameters()
    assert [part.shape[0] for part in parameters.theta] == [MODELS] * 3
    assert [part.shape[2] for part in (*parameters.theta, parameters.coef)] == [PADDED] * 4
    assert parameters.coef.shape[1] == ENCODER.n_design
    assert not any(part.any() for part in (*parameters.theta, parameters.coef))


@pytest.mark.parametrize("size", [0.1, 10.0])
def test_coefficients_are_those_of_free_columns_and_cones_with_caps_put_on_last(size):
    parts = Parts()
    parameters = parts.parameters()
    theta = random_theta(parameters, size=size)
    parameters.continue_(theta)
    np.testing.assert_array_equal(parameters.coef, parts.written(theta))
    uncapped = Parts(caps=()).parameters()
    uncapped.continue_(theta)
    for i, column in enumerate(ENCODER.columns):
        own = slice(column.start, column.stop)
        same = np.array_equal(uncapped.coef[:, own], parameters.coef[:, own])
        assert same == (size < 1 or i not in (MONOTONE, CATEGORY))


def test_exact_coefficients_are_those_of_the_same_parameters_in_double_precision():
    parameters = Parts().parameters()
    theta = random_theta(parameters, size=3.0)
    parameters.continue_(theta)
    exact = parameters.exact(theta)
    np.testing.assert_allclose(parameters.coef, exact, atol=2e-5 * np.abs(exact).max())
    column = ENCODER.columns[MONOTONE]
    knots = sym(exact[:, column.start : column.start + len(column.knots), :WIDTH])
    assert np.linalg.eigvalsh(-np.diff(knots, axis=1)).min() > -1e-14 * np.abs(knots).max()


def test_looking_at_the_exact_coefficients_of_other_parameters_does_not_change_the_next_step():
    moved = []
    for look in (False, True):
        parameters = Parts().parameters()
        parameters.continue_(random_theta(parameters, size=3.0))
        if look:
            parameters.exact(random_theta(parameters, seed=1, size=3.0))
        parameters.step_(random_gradient(), RATE)
        parameters.step_(random_gradient(6), RATE)
        moved.append(parameters.theta)
    for got, wanted in zip(*moved, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-5)


@pytest.mark.parametrize(("cones", "caps", "guarded"), [(0, 0, False), (2, 0, True), (0, 1, True), (2, 1, True)])
def test_parameters_with_cones_or_caps_promise_something(cones, caps, guarded):
    parts = Parts()
    parameters = Parameters(parts.free, parts.cones[:cones], DIM, DECAY, caps=parts.caps[:caps])
    assert parameters.guarded is guarded


def test_at_the_start_all_columns_contribute_little_around_the_constants():
    parameters, rng = Parts().parameters(), np.random.default_rng(0)
    constants = 10 * rng.standard_normal((MODELS, WIDTH)).astype(np.float32)
    parameters.start_(constants, rng)
    Z = ENCODER.transform(table()).to_sparse(ENCODER.n_design).toarray()
    matrices = np.einsum("rp,mpd->mrd", Z, parameters.coef[..., :WIDTH])
    np.testing.assert_allclose(matrices.mean(axis=1), constants, atol=0.3)
    assert 0 < matrices.std(axis=1).max() < 0.5
    for part in (parameters.coef, *parameters.theta):
        np.testing.assert_array_equal(part[..., WIDTH:], 0)
    assert (parameters.theta[0][0] != parameters.theta[0][1]).any(), "models start apart"


def test_continuing_gives_the_same_coefficients_and_shares_no_memory():
    first, second = Parts(alpha=0.5).parameters(), Parts(alpha=0.5).parameters()
    first.start_(np.ones((MODELS, WIDTH)), np.random.default_rng(0))
    for seed in range(4):
        first.step_(random_gradient(seed), RATE)
    second.continue_(first.theta)
    np.testing.assert_array_equal(second.coef, first.coef)
    kept = [part.copy() for part in second.theta]
    first.step_(random_gradient(), RATE)
    for part, same in zip(second.theta, kept, strict=True):
        np.testing.assert_array_equal(part, same)


def test_continuing_with_the_parameters_of_other_columns_is_refused():
    parameters = Parts().parameters()
    theta = random_theta(parameters)
    for wrong in (theta[:-1], [*theta, theta[-1]], [theta[0][:, 1:], *theta[1:]]):
        with pytest.raises(ValueError, match=r"zip|broadcast"):
            parameters.continue_(wrong)


# ---- steps -----------------------------------------------------------------------------------------------------


def adam_by_hand(theta, grads, decay, spared_rows):
    """All steps of Adam with decoupled decay on (models, size, width), in float64."""
    theta, m, v = theta.astype(np.float64), 0.0, 0.0
    for step, grad in enumerate(grads, 1):
        m, v = 0.9 * m + 0.1 * grad, 0.99 * v + 0.01 * grad**2
        keep = np.maximum(1 - RATE * np.asarray(decay), 0)[:, None, None] * np.ones_like(theta)
        keep[:, :spared_rows] = 1
        theta = keep * theta - RATE * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)
    return theta


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_a_step_pulls_back_moves_decays_shrinks_and_writes(alpha):
    parts = Parts(alpha=alpha)
    parameters, grad_coef = parts.parameters(), random_gradient()
    theta = random_theta(parameters)
    parameters.continue_(theta)
    parameters.step_(grad_coef.copy(), RATE)
    parameters.shrink_()

    parts.written(theta)  # the caps remember their last call
    for cap in parts.caps:
        cap.pull_back_(grad_coef)
    grads = [np.zeros_like(part) for part in theta]
    parts.free.pull_back_(grad_coef, grads[0])
    for cone, part, grad in zip(parts.cones, theta[1:], grads[1:], strict=True):
        grad[..., :WIDTH] = cone.pull_back(part[..., :WIDTH], grad_coef)
    slow = 0.1 * np.array(DECAY)  # the roots in cones decay slower
    moved = [adam_by_hand(part, [grad], slow if i else DECAY, 0 if i else 1)
             for i, (part, grad) in enumerate(zip(theta, grads, strict=True))]  # fmt: skip
    if alpha:
        parts.shrinkage.apply_(moved[0], RATE)
    for got, wanted in zip(parameters.theta, moved, strict=True):
        np.testing.assert_allclose(got, wanted, atol=2e-6)
    np.testing.assert_array_equal(parameters.coef, parts.written(parameters.theta))


def test_moments_and_their_corrections_build_up_over_the_steps():
    parts = Parts(caps=())
    parameters, grads = parts.parameters(), [random_gradient(seed) for seed in range(5)]
    pulled = []
    for grad_coef in grads:
        pulled.append(np.zeros_like(parameters.theta[0]))
        parts.free.pull_back_(grad_coef, pulled[-1])
    theta = random_theta(parameters)
    parameters.continue_(theta)
    for grad_coef in grads:
        parameters.step_(grad_coef, RATE)
    np.testing.assert_allclose(parameters.theta[0], adam_by_hand(theta[0], pulled, DECAY, 1), atol=1e-5)


def test_without_a_gradient_everything_decays_but_the_constant():
    parameters = Parts(caps=()).parameters()
    theta = random_theta(parameters)
    parameters.continue_(theta)
    parameters.step_(np.zeros_like(parameters.coef), RATE)
    free, *cones = parameters.theta
    np.testing.assert_array_equal(free[:, 0], theta[0][:, 0])
    fast, slow = (np.maximum(1 - RATE * share * np.array(DECAY), 0)[:, None, None] for share in (1, 0.1))
    np.testing.assert_allclose(free[:, 1:], fast * theta[0][:, 1:], rtol=1e-6)
    for part, before in zip(cones, theta[1:], strict=True):
        np.testing.assert_allclose(part, slow * before, rtol=1e-6)
    assert (free[2, 1:] == 0).all()  # a decay beyond 1 / rate does not turn signs around


# ---- gradients -------------------------------------------------------------------------------------------------


class Ear:
    """The reference engine in any dtype, which hears the gradients that reach adam and moves nothing."""

    multiply = staticmethod(_steps.multiply)

    def __init__(self):
        self.grads = []

    def adam(self, state, *rest):
        self.grads.append(state[1].astype(np.float64))


@pytest.mark.parametrize("size", [0.1, 3.0], ids=["below the caps", "above the caps"])
def test_the_gradient_through_caps_cones_and_free_columns_is_that_of_central_differences(size, monkeypatch):
    ear, rng, h = Ear(), np.random.default_rng(0), 1e-5
    for module in ("whitening", "parameters"):
        monkeypatch.setattr(f"lambdak.training.{module}.step_engine", lambda: ear)
    parts = Parts()
    parameters = parts.parameters()
    theta = [part.astype(np.float64) for part in random_theta(parameters, size=size)]
    parameters.theta, parameters.coef = [part.copy() for part in theta], parameters.coef.astype(np.float64)
    parameters.write_()
    target = rng.standard_normal(parameters.coef.shape)

    def loss(at):
        return np.sin(parts.written(at, np.float64) * target)[..., :WIDTH].sum(axis=(1, 2))

    grad_coef = np.cos(parameters.coef * target) * target
    grad_coef[..., WIDTH:] = 0
    parameters.step_(grad_coef, RATE)
    for i, part in enumerate(theta):
        direction = rng.standard_normal(part.shape)
        direction[..., WIDTH:] = 0
        ends = [loss([*theta[:i], part + sign * h * direction, *theta[i + 1 :]]) for sign in (1, -1)]
        got = (ear.grads[i].reshape(part.shape) * direction).sum(axis=(1, 2))
        size_of_it = np.linalg.norm(ear.grads[i]) * np.sqrt(part[0].size)
        np.testing.assert_allclose(got, (ends[0] - ends[1]) / (2 * h), atol=1e-5 * size_of_it)
