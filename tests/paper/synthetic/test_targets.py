"""The random targets of the synthetic studies: SciPy's interpolants are the oracle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import BSpline, CubicSpline, PchipInterpolator, RectBivariateSpline, make_interp_spline

from lambdak.paper.synthetic.targets import HIGH, LOW, make_targets, quintic

COMPLEXITIES = {1: (5, 10, 20), 2: (5, 9, 13)}
CASES = [(kind, n, c) for kind in ("general", "monotone") for n, cs in COMPLEXITIES.items() for c in cs]
SEEDS = range(4)


def axis(complexity):
    return np.linspace(LOW, HIGH, complexity)


def on_lattice(targets, which, *axes):
    """Values of one function on a product of axes."""
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return targets(np.full(x.shape[:-1], which), x)


def interpolated(kind, inputs, complexity, seed):
    """The values that a function of this seed was made to pass through, drawn again in plain NumPy."""
    rng = np.random.default_rng([int(kind == "monotone"), inputs, complexity, seed])
    shape = (complexity,) * inputs
    if kind == "general":
        return rng.standard_normal(shape)
    sums = np.cumsum(np.exp(rng.standard_normal(shape)), axis=-1)
    return (sums - np.mean(sums)) / np.std(sums)


@pytest.mark.parametrize(("kind", "inputs", "complexity"), CASES)
def test_a_target_passes_through_its_random_values(kind, inputs, complexity):
    targets = make_targets(kind, inputs, complexity, SEEDS)
    for which, seed in enumerate(SEEDS):
        got = on_lattice(targets, which, *[axis(complexity)] * inputs)
        np.testing.assert_allclose(got, interpolated(kind, inputs, complexity, seed), atol=1e-12)


@pytest.mark.parametrize("complexity", COMPLEXITIES[1])
def test_a_general_target_of_one_input_is_the_natural_cubic_spline(complexity):
    targets, x = make_targets("general", 1, complexity, SEEDS), np.linspace(LOW, HIGH, 777)
    for which in SEEDS:
        values = on_lattice(targets, which, axis(complexity))
        oracle = CubicSpline(axis(complexity), values, bc_type="natural")
        np.testing.assert_allclose(on_lattice(targets, which, x), oracle(x), atol=1e-11)


@pytest.mark.parametrize("complexity", COMPLEXITIES[1])
def test_a_monotone_target_of_one_input_is_pchip(complexity):
    targets, x = make_targets("monotone", 1, complexity, SEEDS), np.linspace(LOW, HIGH, 777)
    for which in SEEDS:
        values = on_lattice(targets, which, axis(complexity))
        np.testing.assert_allclose(
            on_lattice(targets, which, x), PchipInterpolator(axis(complexity), values)(x), atol=1e-12
        )


@pytest.mark.parametrize("complexity", COMPLEXITIES[2])
def test_a_general_target_of_two_inputs_is_the_tensor_product_of_not_a_knot_splines(complexity):
    targets, x, y = make_targets("general", 2, complexity, SEEDS), np.linspace(LOW, HIGH, 101), np.linspace(-3.9, 4, 83)
    for which in SEEDS:
        values = on_lattice(targets, which, axis(complexity), axis(complexity))
        got = on_lattice(targets, which, x, y)
        along = make_interp_spline(axis(complexity), values)(x)
        twice = make_interp_spline(axis(complexity), along, axis=1)(y)
        np.testing.assert_allclose(got, twice, atol=1e-11)
        fitpack = RectBivariateSpline(axis(complexity), axis(complexity), values, s=0)
        np.testing.assert_allclose(got, fitpack(x, y), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("complexity", COMPLEXITIES[2])
def test_a_monotone_target_of_two_inputs_is_pchip_slices_blended_by_the_quintic(complexity):
    targets, x = make_targets("monotone", 2, complexity, SEEDS), np.random.default_rng(0).uniform(LOW, HIGH, (500, 2))
    knots = axis(complexity)
    for which in SEEDS:
        slices = on_lattice(targets, which, knots, knots)
        left = np.searchsorted(knots, x[:, 0], side="right") - 1
        t = (x[:, 0] - knots[left]) / (knots[1] - knots[0])
        share = 6 * t**5 - 15 * t**4 + 10 * t**3
        low, high = (
            np.array([PchipInterpolator(knots, slices[i])(at) for i, at in zip(left + side, x[:, 1], strict=True)])
            for side in (0, 1)
        )
        np.testing.assert_allclose(targets(np.full(500, which), x), (1 - share) * low + share * high, atol=1e-11)


@pytest.mark.parametrize("complexity", COMPLEXITIES[1])
def test_a_monotone_target_of_one_input_never_falls(complexity):
    targets = make_targets("monotone", 1, complexity, range(32))
    values = np.stack([on_lattice(targets, which, np.linspace(LOW, HIGH, 2001)) for which in range(32)])
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("complexity", COMPLEXITIES[2])
def test_a_monotone_target_of_two_inputs_never_falls_in_the_second_but_does_in_the_first(complexity):
    targets, x = make_targets("monotone", 2, complexity, range(32)), np.linspace(LOW, HIGH, 201)
    values = np.stack([on_lattice(targets, which, x, x) for which in range(32)])
    assert (np.diff(values, axis=2) >= -1e-14).all()
    assert all((np.diff(each, axis=0) < -1e-6).any() for each in values)


@pytest.mark.parametrize("complexity", COMPLEXITIES[2])
def test_a_rising_target_falls_in_neither_input_and_rises_in_both(complexity):
    targets, x = make_targets("rising", 2, complexity, range(32)), np.linspace(LOW, HIGH, 201)
    values = np.stack([on_lattice(targets, which, x, x) for which in range(32)])
    for along in (1, 2):
        assert (np.diff(values, axis=along) >= -1e-14).all()
        assert (np.diff(values, axis=along) > 1e-6).mean() > 0.99


@pytest.mark.parametrize("complexity", COMPLEXITIES[2])
def test_a_rising_target_is_the_b_spline_of_coefficients_that_rise_by_log_normal_steps(complexity):
    x = np.linspace(LOW, HIGH, 37)
    width = (HIGH - LOW) / (complexity - 1)
    knots = LOW + width * np.arange(-3, complexity + 3)
    for seed in SEEDS:
        steps = np.exp(
            np.random.default_rng([2, 2, complexity, seed]).standard_normal((complexity + 2, complexity + 2))
        )
        net = np.zeros((complexity + 3, complexity + 3))
        for i in range(complexity + 2):
            for j in range(complexity + 2):
                net[i + 1, j + 1] = max(net[i, j + 1], net[i + 1, j]) + steps[i, j]
        net = net[1:, 1:]

        def surface(at, net=net):
            return BSpline(knots, BSpline(knots, net, 3)(at).T, 3)(at).T

        at_points = surface(axis(complexity))
        expected = (surface(x) - at_points.mean()) / at_points.std()
        np.testing.assert_allclose(
            on_lattice(make_targets("rising", 2, complexity, [seed]), 0, x, x), expected, atol=1e-10
        )


def test_rising_targets_bend_both_ways():
    targets, x = make_targets("rising", 2, 9, range(8)), np.linspace(LOW, HIGH, 101)
    for which in range(8):
        values = on_lattice(targets, which, x, x)
        for second in (
            np.diff(values, 2, axis=0),
            np.diff(values, 2, axis=1),
            np.diff(np.diff(values, axis=0), axis=1),
        ):
            assert (second > 1e-6).any()
            assert (second < -1e-6).any()


def test_general_targets_rise_and_fall():
    for inputs in (1, 2):
        targets = make_targets("general", inputs, 5, range(8))
        for which in range(8):
            steps = np.diff(on_lattice(targets, which, *[np.linspace(LOW, HIGH, 101)] * inputs), axis=-1)
            assert (steps > 0).any()
            assert (steps < 0).any()


@pytest.mark.parametrize("complexity", COMPLEXITIES[2])
def test_the_blend_has_two_continuous_derivatives_across_slices(complexity):
    targets = make_targets("monotone", 2, complexity, SEEDS)
    width, heights = 8 / (complexity - 1), np.linspace(LOW, HIGH, 17)
    # A quintic per interval: six points give its one-sided derivatives exactly, up to rounding.
    t = np.linspace(0, 1, 6)
    for which in SEEDS:
        one_sided = []
        for inner in range(complexity - 1):
            samples = on_lattice(targets, which, LOW + width * (inner + t), heights)
            powers = np.linalg.solve(np.vander(t, increasing=True), samples)
            at_start = powers[:3] * np.array([1, 1, 2])[:, None]
            at_end = np.stack([np.polynomial.polynomial.polyval(1.0, np.polynomial.polynomial.polyder(powers, order))
                               for order in range(3)])  # fmt: skip
            one_sided.append((at_start, at_end))
        for (_, left), (right, _) in pairwise(one_sided):
            np.testing.assert_allclose(left, right, atol=1e-9)


def test_the_quintic_starts_and_ends_flat():
    t = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
    np.testing.assert_allclose(quintic(np.linspace(0, 1, 9)), t(np.linspace(0, 1, 9)), atol=1e-15)
    assert [t.deriv(order)(end) for order in (1, 2) for end in (0, 1)] == [0] * 4


def test_general_targets_have_two_continuous_derivatives():
    targets, h = make_targets("general", 1, 5, SEEDS), 1e-4
    for which in SEEDS:
        for knot in axis(5)[1:-1]:
            # Third differences of a C² piecewise cubic are O(h³); a jump of a second derivative would leave O(h²).
            around = on_lattice(targets, which, knot + h * np.arange(-2, 2))
            assert abs(np.diff(around, 3)[0]) <= 1e3 * h**3


@pytest.mark.parametrize(("kind", "inputs", "complexity"), [*CASES, ("rising", 2, 5)])
def test_a_function_depends_on_its_seed_and_on_no_other(kind, inputs, complexity):
    x = np.random.default_rng(1).uniform(LOW, HIGH, (50, inputs))
    here = np.zeros(50, np.intp)
    alone = make_targets(kind, inputs, complexity, [7])(here, x)
    among = make_targets(kind, inputs, complexity, [3, 1, 7, 5])
    np.testing.assert_allclose(among(here + 2, x), alone, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(make_targets(kind, inputs, complexity, [7])(here, x), alone)
    assert np.abs(among(here, x) - alone).max() > 0.1
    assert np.abs(among(here + 1, x) - alone).max() > 0.1


@pytest.mark.parametrize(("inputs", "complexity"), [(n, c) for n, cs in COMPLEXITIES.items() for c in cs])
def test_the_values_of_a_monotone_target_are_standardised_together(inputs, complexity):
    targets = make_targets("monotone", inputs, complexity, SEEDS)
    for which in SEEDS:
        values = on_lattice(targets, which, *[axis(complexity)] * inputs)
        np.testing.assert_allclose([values.mean(), values.std()], [0, 1], atol=1e-12)
        if inputs == 2:  # not slice by slice
            assert np.abs(values.mean(axis=1)).max() > 0.01
            assert np.abs(values.std(axis=1) - 1).max() > 0.01


def test_points_of_many_functions_are_evaluated_at_once():
    for kind, inputs in (("general", 1), ("general", 2), ("monotone", 1), ("monotone", 2), ("rising", 2)):
        targets = make_targets(kind, inputs, 5, SEEDS)
        assert len(targets) == len(SEEDS)
        x = np.random.default_rng(2).uniform(LOW, HIGH, (3, 4, 10, inputs))
        together = targets(np.arange(4)[:, None], x)
        for i, j in np.ndindex(3, 4):
            np.testing.assert_array_equal(together[i, j], targets(np.full(10, j), x[i, j]))


@pytest.mark.parametrize(("kind", "inputs"), [("convex", 1), ("general", 3), ("rising", 1)])
def test_an_unknown_kind_of_target_is_refused(kind, inputs):
    with pytest.raises(ValueError, match="kind must be one of"):
        make_targets(kind, inputs, 5, [0])
