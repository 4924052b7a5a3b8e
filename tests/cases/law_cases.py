"""Errors that follow a known law."""

from __future__ import annotations

import numpy as np

from lambdak.paper.synthetic.grid import Cell
from lambdak.paper.synthetic.laws import (
    Curves,
)
from lambdak.paper.synthetic.sweep import CellResult

SIGMA = 2.0
DIMS, SAMPLES = (5, 9, 15, 31, 63), np.array([32, 10_000, 32_000, 64_000, 160_000, 320_000])
TRUTH = np.array([0.7, 0.9, 2.6, 0.4, 0.2])  # log A, α, log B, β, γ


def by_hand(form, d, n):
    a, alpha, b, beta, gamma = np.exp(TRUTH[0]), TRUTH[1], np.exp(TRUTH[2]), TRUTH[3], TRUTH[4]
    capacity, learning = a * d**-alpha, b * n**-beta
    power = {
        "product": capacity * n**-beta,
        "sum": capacity + learning,
        "sum, coupled": capacity + learning * d**gamma,
        "squares": np.hypot(capacity, learning),
        "squares, coupled": np.hypot(capacity, learning * d**gamma),
    }[form]
    return 1 / np.sqrt(1 / SIGMA**2 + 1 / power**2)


def errors_of(form):
    return np.array([[by_hand(form, d, n) for n in SAMPLES.astype(float)] for d in DIMS])


def curves_of(form, spread=0.0, targets=8):
    """One rate and one seed; targets differ by a factor, and in the capacity part of it."""
    factors = np.exp(spread * np.random.default_rng(0).standard_normal((targets, 1)))
    tables = [(own * factors)[:, None, None] for own in errors_of(form)]
    return Curves(Cell(1, "general", 20, 0.0, 63), DIMS, SAMPLES, tuple(CellResult(t, t) for t in tables), SIGMA)
