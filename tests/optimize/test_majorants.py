"""Convex functions above a score, and where the convex–concave procedure ends.

Tests ``descent``.
"""

from __future__ import annotations

import numpy as np
import pytest
from convex_cases import clock
from pencil_cases import random_pencil

from lambdak.optimize import minimize
from lambdak.optimize.minimum.build import build
from lambdak.optimize.minimum.descent import descend_by_majorants, majorant, straight_score
from lambdak.optimize.minimum.expression import as_expression, read_constraints

ROUNDING = 1e-9
CASES = [(n, dim, k) for n, dim in [(1, 3), (2, 5), (4, 6)] for k in range(dim)]


def problem_of(f, constraints=None):
    names = [f"z{i}" for i in range(f.n_features)]
    limits = read_constraints(constraints, names, {})
    return build(as_expression(f), limits, names, [(-1, 1)] * f.n_features, None, (), False)


@pytest.mark.parametrize(("n", "dim", "k"), CASES)
def test_the_majorant_lies_between_the_score_and_that_of_the_convex_parts(n, dim, k):
    f, rng = random_pencil(dim, n, k, seed=dim + k), np.random.default_rng(k)
    score = straight_score(problem_of(f))
    for at in rng.uniform(-1, 1, (5, n)):
        above = majorant(score, at)
        Z = rng.uniform(-1, 1, (200, n))
        last, parts = f.convex_parts(at), f.convex_parts(Z)
        tangent = last.minus + (Z - at) @ last.minus_subgradient
        assert (f(Z) <= above.values(Z) + ROUNDING).all()
        assert (above.values(Z) <= parts.plus - tangent + ROUNDING).all()
        assert above.values(at[None])[0] == pytest.approx(f(at), abs=ROUNDING)


@pytest.mark.parametrize(("n", "dim", "k"), CASES)
def test_the_majorant_is_convex(n, dim, k):
    f, rng = random_pencil(dim, n, k), np.random.default_rng(k)
    above = majorant(straight_score(problem_of(f)), rng.uniform(-1, 1, n))
    a, b, share = rng.uniform(-1, 1, (100, n)), rng.uniform(-1, 1, (100, n)), rng.uniform(0, 1, 100)
    between = above.values(share[:, None] * a + (1 - share)[:, None] * b)
    assert (between <= share * above.values(a) + (1 - share) * above.values(b) + ROUNDING).all()


@pytest.mark.slow
@pytest.mark.parametrize("constraints", [None, "z0 + z1 <= 0.3", ["z0 - z1 == 0.2"]])
@pytest.mark.parametrize("seed", range(4))
def test_the_procedure_never_ends_above_its_start_nor_below_the_bound(seed, constraints):
    rng = np.random.default_rng(seed)
    f = random_pencil(5, 3, int(rng.integers(5)), seed)
    problem = problem_of(f, constraints)
    score, bound = straight_score(problem), minimize(f, bounds=[(-1, 1)] * 3, constraints=constraints, gap=1e-2).bound
    for start in problem.starts(2, rng)[:2]:
        end, value = descend_by_majorants(problem, score, start, clock())
        assert bound - ROUNDING <= value <= f(start) + ROUNDING
        assert f(end) == pytest.approx(value, abs=ROUNDING)
        assert problem.linear.hold(end[None])[0]
        assert descend_by_majorants(problem, score, end, clock())[1] >= value - 1e-4 * problem.spread


@pytest.mark.slow
def test_with_many_inputs_both_methods_end_where_no_step_leads_lower():
    f = random_pencil(7, 6, 3, seed=1)
    problem = problem_of(f)
    for method in ("convex-concave", "auto"):
        found = minimize(f, bounds=[(-1, 1)] * 6, method=method, gap=1e-2)
        x = np.array(list(found.row.values()))
        assert found.bound <= found.value
        assert (
            descend_by_majorants(problem, straight_score(problem), x, clock())[1] >= found.value - 1e-3 * problem.spread
        )


@pytest.mark.slow
def test_a_gap_that_stays_open_is_said():
    found = minimize(random_pencil(5, 8, 2, seed=1), bounds=[(-1, 1)] * 8, method="convex-concave", gap=1e-6)
    assert (found.status, found.method) == ("local", "convex-concave")
    assert found.gap > 1e-6
    assert "ended where no step improves the row: convex-concave" in str(found)
