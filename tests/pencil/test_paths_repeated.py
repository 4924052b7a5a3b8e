"""Paths along which eigenvalues stay repeated, cross by the hundred, or come closer than numbers can tell."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hand_made_models import symmetric
from score_cases import packed_from, unpacked

from lambdak.pencil import paths
from lambdak.pencil.paths import mean_outer

TOL = 1e-7
TWICE = np.eye(2)


def found_for(start, delta, index, **size):
    return mean_outer(packed_from(start)[None], packed_from(delta)[None], index, TOL, **size)


def turned(rng, *matrices):
    turn, _ = np.linalg.qr(rng.normal(size=matrices[0].shape))
    return [turn @ A @ turn.T for A in matrices]


def fine_quadrature(start, delta, index, panels=300):
    """The mean of V Vᵀ / m over the points of Gauss's rule in many panels, V a basis of the eigenspace to 1e-9."""
    points, rule = np.polynomial.legendre.leggauss(5)
    times = ((np.arange(panels)[:, None] + 0.5 + 0.5 * points) / panels).ravel()
    values, vectors = np.linalg.eigh(start + times[:, None, None] * delta)
    same = np.abs(values - values[:, [index]]) <= 1e-9
    shares = np.tile(rule / (2 * panels), panels)[:, None] * same / same.sum(axis=1, keepdims=True)
    return ((vectors * shares[:, None, :]) @ vectors.transpose(0, 2, 1)).sum(axis=0)


def crossing_times(start, delta):
    """Where entries of diagonal pencils cross, with the ends of the path."""
    first, second = np.nonzero(np.subtract.outer(delta, delta))
    times = (start[first] - start[second]) / (delta[second] - delta[first])
    return np.unique(np.round([0.0, *times[(times > 0) & (times < 1)], 1.0], 14))


def exact_times(start, delta, index):
    """M of diagonal pencils: the time that each entry is the one at ``index``, evenly shared among equal ones."""
    shares = np.zeros(len(start))
    for low, high in pairwise(crossing_times(start, delta)):
        values = start + 0.5 * (low + high) * delta
        same = np.abs(values - np.sort(values)[index]) <= 1e-12
        shares += (high - low) * same / same.sum()
    return np.diag(shares)


def assert_right(start, delta, index, expected, atol):
    found = found_for(start, delta, index)
    change = np.linalg.eigvalsh(start + delta)[index] - np.linalg.eigvalsh(start)[index]
    mean = unpacked(found.mean[0])
    assert np.trace(delta @ mean) == pytest.approx(change, abs=TOL)
    assert np.trace(mean) == pytest.approx(1.0, abs=1e-9)
    assert abs(np.trace(delta @ mean) - change) <= found.missed[0] + 1e-12
    assert found.error[0] * np.linalg.norm(delta) < 1e-6
    np.testing.assert_allclose(mean, expected, atol=atol)


@pytest.mark.parametrize("dim", [2, 5, 9, 31])
def test_multiples_of_the_identity_share_out_evenly(dim):
    for index in (0, dim // 2, dim - 1):
        assert_right(2.0 * np.eye(dim), 0.7 * np.eye(dim), index, np.eye(dim) / dim, 1e-12)


@pytest.mark.parametrize("dim", [4, 8, 30])
@pytest.mark.parametrize("copies", ["side by side", "turned"])
def test_blocks_that_occur_twice_share_out_evenly(dim, copies):
    rng = np.random.default_rng(dim)
    start, delta = (np.kron(symmetric(rng, dim // 2), TWICE) for _ in range(2))
    if copies == "turned":
        start, delta = turned(rng, start, delta)
    for index in (0, dim // 2):
        assert_right(start, delta, index, fine_quadrature(start, delta, index, 300 if dim < 30 else 60), 1e-7)


@pytest.mark.parametrize("dim", [6, 12, 30])
@pytest.mark.parametrize("copies", ["diagonal", "turned"])
def test_equal_entries_that_cross_others_share_their_time_evenly(dim, copies):
    rng = np.random.default_rng(dim)
    start, delta = np.repeat(rng.normal(size=dim // 3), 3), np.repeat(3.0 * rng.normal(size=dim // 3), 3)
    expected, matrices = exact_times(start, delta, dim // 2), (np.diag(start), np.diag(delta))
    if copies == "turned":
        *matrices, expected = turned(rng, *matrices, expected)
    assert_right(*matrices, dim // 2, expected, 1e-7)


@pytest.mark.parametrize("copies", ["diagonal", "turned"])
def test_hundreds_of_crossings_are_all_found(copies):
    rng = np.random.default_rng(1)
    start, delta = 5.0 * rng.normal(size=31), 20.0 * rng.normal(size=31)
    expected, matrices = exact_times(start, delta, 15), (np.diag(start), np.diag(delta))
    if copies == "turned":
        *matrices, expected = turned(rng, *matrices, expected)
    assert_right(*matrices, 15, expected, 1e-7)


@pytest.mark.parametrize("jitter", [1e-10, 1e-12, 1e-14])
def test_eigenvalues_closer_than_the_tolerance_can_tell_share_out_evenly(jitter):
    rng = np.random.default_rng(3)
    start, delta = (np.kron(symmetric(rng, 3), TWICE) for _ in range(2))
    expected = fine_quadrature(start, delta, 3)
    noise = [jitter * symmetric(rng, 6) for _ in range(2)]
    assert_right(start + noise[0], delta + noise[1], 3, expected, 1e-6)


def test_a_path_that_goes_nowhere_from_a_repeated_eigenvalue_shares_its_parts_evenly_where_they_matter():
    start, delta = np.diag([1.0, 1.0, 3.0]), np.zeros((3, 3))
    assert found_for(start, delta, 0).error[0] == pytest.approx(np.sqrt(2.0))  # v is any vector of a plane
    found = found_for(start, delta, 0, size=np.array([1.0]))
    np.testing.assert_allclose(unpacked(found.mean[0]), np.diag([0.5, 0.5, 0.0]), atol=1e-12)
    assert found.error[0] < 1e-9


def test_parts_that_are_larger_than_their_sum_are_right_to_the_tolerance():
    start, delta = np.array([[-3.7e-9, 1e-9], [1e-9, 3.7e-9]]), np.diag([1e-8, -1e-8])
    expected = 0.5 * (1 + np.hypot(0.63, 0.1) - np.hypot(0.37, 0.1))
    coarse, fine = found_for(start, delta, 1), found_for(start, delta, 1, size=np.array([100.0]))
    assert abs(unpacked(fine.mean[0])[0, 0] - expected) <= max(fine.error[0], 1e-9)
    assert abs(unpacked(coarse.mean[0])[0, 0] - expected) <= coarse.error[0]


def test_what_does_not_converge_is_measured(monkeypatch):
    monkeypatch.setattr(paths, "_MOST_HALVINGS", 4)
    start, delta = np.diag([0.0, 0.3]), np.diag([1.0, 0.0])
    found = found_for(start, delta, 0)
    mean = unpacked(found.mean[0])
    assert np.trace(mean) == pytest.approx(1.0, abs=1e-12)
    assert 1e-4 < np.abs(mean - np.diag([0.3, 0.7])).max() <= found.error[0]
    assert found.missed[0] == pytest.approx(abs(np.trace(delta @ mean) - 0.3), abs=1e-12)


def test_more_open_intervals_than_crossings_can_cause_are_closed_and_measured(monkeypatch):
    monkeypatch.setattr(paths, "_FEWEST_OPEN", 2)
    monkeypatch.setattr(paths, "_MOST_OPEN", 0)
    rng = np.random.default_rng(1)
    start, delta = np.diag(5.0 * rng.normal(size=9)), np.diag(20.0 * rng.normal(size=9))
    found = found_for(start, delta, 4)
    wrong = np.linalg.norm(unpacked(found.mean[0]) - exact_times(np.diag(start), np.diag(delta), 4))
    assert 1e-4 < wrong <= 2.0 * found.error[0]


def test_rounding_that_turns_eigenvectors_counts_as_an_error():
    rng = np.random.default_rng(5)
    start, delta = (1e3 * np.kron(symmetric(rng, 3), TWICE) + 1e-8 * symmetric(rng, 6) for _ in range(2))
    assert found_for(start, delta, 3).error[0] > 1e-5


@pytest.mark.parametrize("index", range(4))
def test_a_stretch_that_no_point_of_the_rules_sees_is_found(index):
    """λ_k leaves a line and returns to it within a triangle of three lines, and both rules agree on the line."""
    start, delta = np.array([0.0, -0.302, 0.3105, 2.0]), np.array([0.0, 1.0, -1.0, 0.0])
    assert_right(np.diag(start), np.diag(delta), index, exact_times(start, delta, index), 1e-7)


@pytest.mark.parametrize("dim", [5, 12, 31])
def test_random_lines_share_the_time_as_they_cross(dim):
    rng = np.random.default_rng(7)
    for _ in range(20):
        start, delta = rng.normal(size=dim), rng.uniform(0.1, 5.0) * rng.normal(size=dim)
        index = int(rng.integers(dim))
        assert_right(np.diag(start), np.diag(delta), index, exact_times(start, delta, index), 1e-7)
