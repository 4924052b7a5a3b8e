"""Learn, then optimise: proven optima of pencils and neurons, against grids of LAPACK's eigenvalues."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from fitted_models import NUMBERS, SMALL, Y, fitted
from hand_made_models import by_hand, symmetric
from pencil_cases import dense_values, random_pencil
from scipy.optimize import Bounds, LinearConstraint

from lambdak import Pencil, SpectralRegressor
from lambdak.optimize import column, inverse, margin, minimize, predicted, to_cvxpy
from lambdak.optimize.linear import FEASIBLE

ROUNDING = 1e-9
BOX = [(-1.0, 1.0)] * 3


def values(f, Z):
    """λ_k of rows, from LAPACK."""
    return dense_values(f, Z)[..., f.eig_idx]


def random_case(seed):
    """A small pencil, a box, perhaps a half-space through its middle, and the rows of a grid that it keeps."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    f = random_pencil(dim, n, int(rng.integers(dim)), seed)
    low = rng.uniform(-2, 0.5, n)
    ends = np.stack([low, low + rng.uniform(0.1, 2, n)], axis=1)
    grid = np.array(list(itertools.product(*(np.linspace(*end, (0, 2000, 60, 16)[n]) for end in ends))))
    a = rng.normal(size=n)
    limit = LinearConstraint(a[None], -np.inf, a @ ends.mean(axis=1)) if seed % 2 else None
    return f, ends, limit, grid if limit is None else grid[grid @ a <= limit.ub]


def check_against_grid(seed, maximize, method):
    f, ends, limit, grid = random_case(seed)
    found = minimize(f, bounds=ends, constraints=limit, maximize=maximize, gap=1e-2, method=method)
    sign = -1 if maximize else 1
    best, z = (sign * values(f, grid)).min(), np.array(list(found.row.values()))
    assert sign * found.bound <= best + ROUNDING
    assert sign * found.bound <= sign * found.value
    assert values(f, z) == pytest.approx(found.value, abs=ROUNDING)
    assert ((ends[:, 0] <= z) & (z <= ends[:, 1])).all()
    if limit is not None:
        assert limit.A @ z <= limit.ub + 2 * FEASIBLE * (np.abs(limit.A) @ np.abs(z) + abs(limit.ub))
    if found.status == "optimal":
        assert sign * found.value <= best + 1.01e-2 * max(abs(found.value), abs(best)) + 1e-3 * np.ptp(values(f, grid))


@pytest.mark.parametrize("method", ["auto", "convex-concave"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_point_of_a_grid_is_below_the_proven_bound(seed, maximize, method):
    check_against_grid(seed, maximize, method)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "convex-concave"])
def test_no_point_of_hundreds_of_grids_is_below_the_proven_bound(method):
    for seed in range(5, 155):
        check_against_grid(seed, bool(seed % 3 == 0), method)


@pytest.mark.parametrize("index", range(3))
def test_an_estimator_with_straight_columns_has_the_same_optimum(index):
    rng = np.random.default_rng(index)
    constant, *slopes = (symmetric(rng, 3) for _ in range(4))
    f = Pencil.from_matrices([constant, *slopes], index)
    ours = minimize(f, bounds=BOX, gap=1e-3)
    theirs = minimize(by_hand(constant, slopes, index), ["x0", "x1", "x2"], gap=1e-3)
    assert ours.status == theirs.status == "optimal"
    assert ours.method == theirs.method
    assert ours.value == pytest.approx(theirs.value, abs=ROUNDING)
    assert ours.bound == pytest.approx(theirs.bound, abs=ROUNDING)
    assert list(ours.row.values()) == pytest.approx(list(theirs.row.values()), abs=1e-6)


def test_a_fitted_estimator_has_the_optimum_of_its_pencil():
    model = SpectralRegressor(n_knots=0, **SMALL | {"n_estimators": 1}).fit(NUMBERS, Y)
    frozen = model.model_
    pairs = [(np.array([c.low, c.high]) - c.center) / c.scale for c in frozen.encoder.columns]
    ours = minimize(frozen.pencils[0], bounds=pairs, gap=1e-3)
    theirs = minimize(model, list(NUMBERS.columns), gap=1e-3)
    assert frozen.start[0] + frozen.scale * ours.value == pytest.approx(theirs.value, rel=1e-3)
    assert frozen.start[0] + frozen.scale * ours.bound <= theirs.value + ROUNDING
    assert theirs.bound <= frozen.start[0] + frozen.scale * ours.value + ROUNDING


def test_boxes_may_be_pairs_bounds_of_scipy_or_a_mapping():
    f, box = random_pencil(3, 2), BOX[:2]
    low, high = np.array(box).T
    spelled = [box, np.array(box), Bounds(low, high), Bounds(-1, 1), {"z0": (-1, 1), "z1": (-1, 1)}]
    first, *others = [minimize(f, bounds=own, gap=1e-2) for own in spelled]
    for other in others:
        assert (other.row, other.value, other.bound) == (first.row, first.value, first.bound)


def test_fixed_inputs_stay():
    f = random_pencil(4, 3)
    found = minimize(f, bounds=[(-1, 1)], fixed={"z0": 0.3, "z2": -0.7}, gap=1e-3)
    grid = np.column_stack([np.full(2000, 0.3), np.linspace(-1, 1, 2000), np.full(2000, -0.7)])
    assert list(found.row) == ["z0", "z1", "z2"]
    assert (found.row["z0"], found.row["z2"]) == (0.3, -0.7)
    assert found.bound <= values(f, grid).min() <= found.value + 1e-3
    as_array = minimize(f, ["z1"], bounds=[(-1, 1)], fixed=[0.3, np.nan, -0.7], gap=1e-3)
    assert as_array.value == found.value


def test_pencils_are_terms_and_limits_of_expressions():
    f, g = random_pencil(4, 2, seed=0), random_pencil(3, 2, seed=1)
    cost = predicted(f) + 0.5 * column("z0") + column("z1") * predicted(g)
    found = minimize(cost, ["z0", "z1"], BOX[:2], predicted(g) <= 0.2, gap=1e-2)
    grid = np.array(list(itertools.product(np.linspace(-1, 1, 80), repeat=2)))
    allowed = grid[values(g, grid) <= 0.2]
    costs = values(f, allowed) + 0.5 * allowed[:, 0] + allowed[:, 1] * values(g, allowed)
    assert found.bound <= costs.min() + ROUNDING
    z = np.array([found.row["z0"], found.row["z1"]])
    assert values(g, z) <= 0.2 + ROUNDING


def test_constraints_that_exclude_each_other_are_named():
    found = minimize(random_pencil(3, 2), bounds=BOX[:2], constraints=["z0 + z1 >= 1", "z0 + z1 <= -1"])
    assert found.status == "infeasible"
    assert found.conflict == ("z0 + z1 >= 1", "z0 + z1 <= -1")


def test_single_precision_is_minimised_as_it_is():
    f = random_pencil(4, 2, dtype=np.float32)
    wide = Pencil(f.packed.astype(np.float64), f.eig_idx)
    assert minimize(f, bounds=BOX[:2], gap=1e-2).value == minimize(wide, bounds=BOX[:2], gap=1e-2).value


def test_whatever_becomes_a_pencil_is_minimised_as_one():
    f = random_pencil(4, 2)
    neuron = SimpleNamespace(to_pencil=lambda: f)
    assert minimize(neuron, bounds=BOX[:2], gap=1e-2).value == minimize(f, bounds=BOX[:2], gap=1e-2).value


class Network:
    parameters = state_dict = None


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (Network(), TypeError, "no single spectral neuron.*torch.optim.*to_pencil"),
        (np.zeros((2, 3)), TypeError, r"give Pencil\(packed\)"),
        (SpectralRegressor(), TypeError, "not fitted: call fit first"),
        ("model", TypeError, "a Pencil or a SpectralNeuron; got str"),
    ],
)
def test_other_models_are_refused_with_a_way_out(model, error, words):
    with pytest.raises(error, match=words):
        minimize(model, ["z0"], bounds=[(0, 1)])


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({}, ValueError, r"'z0' has no range of training rows: give bounds=\{'z0': \(low, high\)\}"),
        ({"bounds": {"z0": (0, 1)}}, ValueError, "'z1' has no range"),
        ({"bounds": [(0, np.inf), (0, 1)]}, ValueError, "'z0' has no upper bound"),
        ({"bounds": [(0, 1)]}, ValueError, "2 pairs"),
        ({"bounds": 3}, TypeError, "2 pairs"),
        ({"bounds": {"x0": (0, 1)}}, ValueError, "must name columns, such as 'z0', 'z1'"),
        ({"bounds": [(0, 1)], "fixed": {"z0": np.nan}}, ValueError, "finite numbers.*'z0'"),
        ({"bounds": [(0, 1)], "fixed": {"z0": "a"}}, ValueError, "finite numbers.*'z0'"),
        ({"bounds": BOX[:2], "output": 1}, ValueError, "one output"),
        ({"bounds": BOX[:2], "method": "dccp"}, ValueError, "'auto', 'convex-concave'; got 'dccp'"),
        ({"bounds": BOX[:2], "method": "convex-concave", "whole": ["z0"]}, ValueError, "leave method out"),
    ],
)
def test_what_does_not_fit_a_pencil_is_refused(settings, error, words):
    with pytest.raises(error, match=words):
        minimize(random_pencil(3, 2), **settings)


def test_models_with_curves_are_left_to_branch_and_bound():
    with pytest.raises(ValueError, match="leave method out"):
        minimize(fitted("free"), ["income"], fixed={"age": 40, "region": "north", "kind": "a"},
                 method="convex-concave")  # fmt: skip


@pytest.mark.parametrize("call", [lambda f: inverse(f, [0.0, 0.0], "z0", 1.0), lambda f: margin(f, [[0.0, 0.0]])])
def test_what_needs_training_rows_says_what_to_use_instead(call):
    with pytest.raises(TypeError, match=r"minimize takes it, and Pencil\.inverse"):
        call(random_pencil(3, 2))


# ---- inside CVXPY


@pytest.mark.parametrize(("index", "sign"), [(3, 1), (0, -1)])
def test_a_convex_or_concave_pencil_is_an_expression_of_cvxpy(index, sign):
    cp = pytest.importorskip("cvxpy")
    f, z = random_pencil(4, 3, index), cp.Variable(3)
    expression = to_cvxpy(f, z)
    assert expression.is_convex() if sign > 0 else expression.is_concave()
    z.value = np.array([5.0, -3.0, 0.2])  # no box is assumed
    assert expression.value == pytest.approx(values(f, z.value), abs=1e-9)
    limits = [z >= -1, z <= 1, cp.sum(z) == 0.5]
    problem = cp.Problem((cp.Minimize if sign > 0 else cp.Maximize)(expression), limits)
    problem.solve(solver="CLARABEL")
    found = minimize(f, bounds=BOX, constraints="z0 + z1 + z2 == 0.5", maximize=sign < 0, gap=1e-6)
    assert problem.value == pytest.approx(found.value, abs=1e-5)


def test_columns_of_a_pencil_may_be_fixed_in_cvxpy():
    cp = pytest.importorskip("cvxpy")
    f, z = random_pencil(4, 2, 3), cp.Variable()
    expression = to_cvxpy(f, {"z1": z}, {"z0": 0.4})
    z.value = 0.7
    assert expression.value == pytest.approx(values(f, np.array([0.4, 0.7])), abs=1e-9)
    with pytest.raises(ValueError, match="finite numbers"):
        to_cvxpy(f, {"z1": z}, {"z0": None})


def test_an_interior_eigenvalue_is_refused_in_cvxpy_with_the_way_out():
    cp = pytest.importorskip("cvxpy")
    with pytest.raises(ValueError, match=r"last eigenvalue, 3.*its first.*reads 1: lambdak.optimize.minimize\(pencil"):
        to_cvxpy(random_pencil(4, 2, 1), cp.Variable(2))
