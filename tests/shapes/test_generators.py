"""Generators of cones: every ray keeps all statements, and together they reach what the statements allow."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import nnls

from lambdak.shapes.generators import _directions, _rays, _sampled, different, generators, without_implied


def reached(rays, free, point):
    """How far a point is from the sums of rays and of multiples of what is free."""
    return nnls(np.column_stack([rays, free, -free]), point)[1]


def points_of(statements, rng, count=40):
    """Random points of a cone: projections on it, by Dykstra's algorithm on its statements."""
    for _ in range(count):
        x = rng.normal(size=statements.shape[1])
        corrections = np.zeros(statements.shape)
        for _ in range(300):
            for i, row in enumerate(statements):
                y = x + corrections[i]
                x = y - min(0.0, row @ y) / (row @ row) * row
                corrections[i] = y - x
        yield x


def interval(segments):
    """0 ≤ s_j ≤ m for every segment: a cone over a cube."""
    eye, m = np.eye(segments), np.ones((segments, 1))
    return np.block([[eye, 0 * m], [-eye, m]])


@pytest.mark.parametrize("seed", range(6))
def test_all_of_a_cone_is_reached_where_its_rays_are_few(seed):
    rng = np.random.default_rng(seed)
    statements = rng.integers(-1, 2, (5, 3)).astype(float)
    statements = statements[np.abs(statements).max(axis=1) > 0]
    rays, free = generators(statements, [0, 3]), null_space(statements)
    assert (statements @ rays).min(initial=0.0) > -1e-9
    for point in points_of(statements, rng):
        assert reached(rays, free, point) < 1e-4


def test_the_corners_of_a_square_are_all_rays_of_the_cone_over_it():
    rays = generators(interval(2), [0, 2])
    corners = {tuple(np.round(ray / ray[-1], 9)) for ray in different(rays).T}
    assert corners == {(*corner, 1.0) for corner in product((0.0, 1.0), repeat=2)}


def test_of_a_cube_with_many_corners_there_are_those_that_step_once():
    segments = 14
    rays = different(generators(interval(segments), [0, segments]))
    corners = {tuple(np.round(ray[:-1] / ray[-1]).astype(int)) for ray in rays.T}
    assert rays.shape[1] < 6 * segments
    assert np.linalg.matrix_rank(rays) == segments + 1
    ones = np.ones(segments, int)
    assert {tuple(ones), tuple(0 * ones)} <= corners
    assert (interval(segments) @ rays).min() > -1e-9


def test_sampled_rays_span_what_all_rays_span():
    rng = np.random.default_rng(0)
    for _ in range(5):
        statements = rng.normal(size=(9, 4))
        rays = _sampled(statements, _directions(np.eye(4), [0, 2, 4])[:2])
        assert (statements @ rays).min(initial=0.0) > -1e-9
        exact = _rays(statements, [0, 2, 4])
        assert np.linalg.matrix_rank(rays, 1e-8) == np.linalg.matrix_rank(exact, 1e-8)


def test_statements_that_others_imply_are_left_out():
    statements = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    assert len(without_implied(statements)) == 2


def test_without_statements_nothing_is_generated():
    assert generators(np.zeros((0, 3)), [0, 3]).shape == (3, 0)
    assert generators(np.zeros((2, 3)), [0, 3]).shape == (3, 0)
