"""Random convex scores by hand, constraints on them, and their least value by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from score_cases import packed_from

from lambdak.optimize.axes import Axis
from lambdak.optimize.frontier import Clock
from lambdak.optimize.linear import LinearRows
from lambdak.optimize.scores import Score

GAP = 1e-4


def clock(gap=GAP, **settings):
    """Stops at a relative gap."""
    return Clock(lambda value, bound: value - bound <= gap * max(abs(value), 1e-3), **settings)


def symmetric(rng, dim):
    A = rng.normal(size=(dim, dim))
    return A + A.T


def semidefinite(rng, dim):
    A = rng.normal(size=(dim, rng.integers(1, dim + 1)))
    return A @ A.T


def number_curve(rng, points, dim):
    """Packed matrices at the points: a slope, and a semidefinite bend at every inner point."""
    slope, constant = symmetric(rng, dim), symmetric(rng, dim)
    bends = [semidefinite(rng, dim) * rng.choice([0.0, 1.0, 3.0]) for _ in points[1:-1]]
    middle = 0.5 * (points[0] + points[-1])
    own = [
        constant
        + (x - middle) * slope
        + sum(np.maximum(x - k, 0) * b for k, b in zip(points[1:-1], bends, strict=True))
        for x in points
    ]
    return np.array([packed_from(A) for A in own])


def axis_of(rng, kind):
    """A random axis: numbers, whole numbers or levels."""
    if kind == "levels":
        levels = tuple("abcde"[: rng.integers(1, 6)])
        return Axis("c", np.arange(float(len(levels))), levels, True)
    if kind == "whole":
        return Axis("n", np.unique(np.r_[-3, rng.integers(-3, 8, 3), 7]).astype(float), (), True)
    return Axis("x", np.unique(rng.uniform(-2, 2, rng.integers(2, 7))))


def convex_score(seed, kinds, dim=None, members=None):
    """A random score with one axis of each kind, its last eigenvalue convex."""
    rng = np.random.default_rng(seed)
    dim, members = dim or int(rng.integers(1, 6)), members or int(rng.integers(1, 4))
    axes = tuple(axis_of(rng, kind) for kind in kinds)
    curves = tuple(np.array([_curve(rng, axis, dim) for _ in range(members)]) for axis in axes)
    constant = np.array([packed_from(symmetric(rng, dim)) for _ in range(members)])
    return Score(rng.normal(), rng.uniform(0.1, 1, members), dim - 1, constant, curves, axes)


def _curve(rng, axis, dim):
    if axis.levels:
        return np.array([packed_from(3 * symmetric(rng, dim)) for _ in axis.levels])
    return number_curve(rng, axis.points, dim)


def grid(score, steps):
    """All whole numbers and levels, and a fine grid with all points for numbers, (n, axes)."""
    own = [
        np.arange(axis.low, axis.high + 1)
        if axis.whole
        else np.unique(np.r_[np.linspace(axis.low, axis.high, steps), axis.points])
        for axis in score.axes
    ]
    return np.array(list(product(*own)))


def random_rows(seed, score):
    """One or two constraints that a random point meets; levels are not part of them."""
    rng = np.random.default_rng(seed)
    numbers = np.array([not axis.levels for axis in score.axes])
    matrix = np.round(rng.normal(size=(rng.integers(1, 3), len(score.axes))), 1) * numbers
    inside = np.array([np.round(rng.uniform(axis.low, axis.high)) if axis.whole else rng.uniform(axis.low, axis.high)
                       for axis in score.axes])  # fmt: skip
    at = matrix @ inside
    low = np.where(rng.random(len(at)) < 0.5, -np.inf, at - rng.choice([0.0, 0.3, 1.0], len(at)))
    high = np.where(np.isfinite(low) & (rng.random(len(at)) < 0.5), np.inf, at + rng.uniform(0, 1, len(at)))
    return LinearRows(matrix, low, high, tuple(f"row {k}" for k in range(len(at))))
