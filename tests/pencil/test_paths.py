"""Mean projectors along straight paths: against adaptive quadrature by SciPy, entry by entry, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hand_made_models import symmetric
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from score_cases import packed_from, unpacked

from lambdak.pencil import paths
from lambdak.pencil.paths import mean_outer


@pytest.fixture
def intervals(monkeypatch):
    """How many intervals each round of halving looked at: the work, whatever the machine."""
    seen, rules = [], paths._rules
    monkeypatch.setattr(paths, "_rules", lambda all_, some: seen.append(len(some.path)) or rules(all_, some))
    return seen


def mean(start, delta, index, tol=1e-10):
    return unpacked(mean_outer(packed_from(start)[None], packed_from(delta)[None], index, tol).mean[0])


def projector(start, delta, index, t):
    _, vectors = np.linalg.eigh(start + t * delta)
    return np.outer(vectors[:, index], vectors[:, index])


def change(start, delta, index):
    return np.linalg.eigvalsh(start + delta)[index] - np.linalg.eigvalsh(start)[index]


@pytest.mark.parametrize(("dim", "index"), [(1, 0), (2, 1), (4, 0), (5, 2)])
def test_every_entry_is_the_integral_that_scipy_finds(dim, index):
    rng = np.random.default_rng(dim)
    start, delta = symmetric(rng, dim), symmetric(rng, dim)
    found = mean(start, delta, index)
    for i in range(dim):
        for j in range(dim):
            expected, _ = quad(
                lambda t, i=i, j=j: projector(start, delta, index, t)[i, j], 0, 1, epsabs=1e-11, limit=200
            )
            assert found[i, j] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1.0, 30.0]), st.data())
def test_parts_of_the_path_add_up_to_the_change_of_the_eigenvalue(dim, seed, size, data):
    rng = np.random.default_rng(seed)
    index = data.draw(st.integers(0, dim - 1))
    start, delta = symmetric(rng, dim), symmetric(rng, dim, size)
    found = mean(start, delta, index, 1e-9)
    assert np.trace(delta @ found) == pytest.approx(change(start, delta, index), abs=1e-9)
    assert np.trace(found) == pytest.approx(1.0, abs=1e-9)


def test_true_crossings_make_a_kink_and_the_shares_are_the_times_on_either_side():
    start, delta = np.diag([0.0, 0.3, 5.0]), np.diag([1.0, 0.0, 0.0])
    found = mean(start, delta, 0)
    np.testing.assert_allclose(found, np.diag([0.3, 0.7, 0.0]), atol=1e-9)
    np.testing.assert_allclose(mean(start, delta, 1), np.diag([0.7, 0.3, 0.0]), atol=1e-9)


def test_many_crossings_on_one_path_are_all_found():
    start, delta = np.diag(np.arange(9.0)), np.diag(-2.0 * np.arange(9.0))
    start[4, 4] = delta[4, 4] = 0.0
    rng = np.random.default_rng(0)
    jitter = np.diag(rng.uniform(0, 0.4, 9))
    times = (np.arange(200_000) + 0.5) / 200_000
    diagonals = np.diag(start + jitter) + times[:, None] * np.diag(delta)
    for index in (0, 4, 8):
        place = np.argsort(diagonals, axis=1)[:, index]
        expected = np.bincount(place, minlength=9) / len(times)
        np.testing.assert_allclose(np.diag(mean(start + jitter, delta, index)), expected, atol=2e-5)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("index", [0, 1])
def test_near_crossings_are_resolved_however_narrow_the_gap(gap, index):
    start = np.array([[-0.37, gap / 2], [gap / 2, 0.37]])
    delta = np.diag([1.0, -1.0])
    turn = (-1.0, 1.0)[index]  # λ = ±√(x² + gap²/4) with x from −0.37 to 0.63, so v₁² = (1 ± x/√…)/2
    expected = 0.5 * (1 + turn * (np.hypot(0.63, gap / 2) - np.hypot(0.37, gap / 2)))
    assert mean(start, delta, index)[0, 0] == pytest.approx(expected, abs=1e-8)


def test_a_path_that_goes_nowhere_has_the_projector_of_its_start():
    start = symmetric(np.random.default_rng(0), 4)
    np.testing.assert_allclose(mean(start, np.zeros((4, 4)), 2), projector(start, start, 2, 0.0), atol=1e-12)


def test_paths_do_not_disturb_each_other():
    rng = np.random.default_rng(1)
    starts, deltas = ([packed_from(symmetric(rng, 4)) for _ in range(30)] for _ in range(2))
    together = mean_outer(np.array(starts), np.array(deltas), 1, 1e-9).mean
    for start, delta, found in zip(starts, deltas, together, strict=True):
        np.testing.assert_allclose(found, mean_outer(start[None], delta[None], 1, 1e-9).mean[0], atol=1e-13)
    assert [part.shape for part in mean_outer(np.empty((0, 10)), np.empty((0, 10)), 1, 1e-9)] == [(0, 10), (0,), (0,)]


@pytest.mark.parametrize("tol", [1e-13, 1e-18])
@pytest.mark.parametrize("size", [1.0, 1e9])
def test_a_tolerance_below_rounding_ends_all_the_same(tol, size, intervals):
    rng = np.random.default_rng(2)
    for dim in (2, 6, 9):
        start, delta = symmetric(rng, dim, size), symmetric(rng, dim, size)
        found = mean(start, delta, dim // 2, tol)
        assert np.trace(delta @ found) == pytest.approx(change(start, delta, dim // 2), abs=1e-11 * size)
    assert sum(intervals) < 20_000


def test_large_matrices_are_not_halved_below_their_rounding(intervals):
    rng = np.random.default_rng(2)
    mean(symmetric(rng, 6, 1e9), symmetric(rng, 6, 1e9), 3, 1e-9)
    assert sum(intervals) < 500


def test_an_eigenvalue_that_stays_repeated_ends_and_still_adds_up(intervals):
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    start, delta = turn @ np.diag([1.0, 1.0, 2.0, 3.0]) @ turn.T, turn @ np.diag([0.5, 0.5, 0.0, 2.0]) @ turn.T
    for index in (0, 1):
        assert np.trace(delta @ mean(start, delta, index)) == pytest.approx(0.5, abs=1e-9)
    assert sum(intervals) < 20_000
