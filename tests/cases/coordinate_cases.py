"""Encoded tables, and coordinates of their designs."""

from __future__ import annotations

import numpy as np

from lambdak.eigen.packing import PAD
from lambdak.table.encoder import TableEncoder

ROWS = 150


def mixed_table(seed=0, rows=ROWS):
    """A curve, a curve with missing cells, a constant, a linear column, one with missing cells, and two categories."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 7))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    X[:, 2] = 7.0
    X[:, 5:] = rng.integers(0, 3, (rows, 2))
    X[rng.random(rows) < 0.2, 1] = np.nan
    X[rng.random(rows) < 0.2, 4] = np.nan
    X[rng.random(rows) < 0.2, 6] = np.nan
    return X


CURVE, GAPPY_CURVE, CONSTANT, LINEAR, GAPPY_LINEAR, CATEGORY, GAPPY_CATEGORY = range(7)


def encoded(X, n_knots=5, categorical_features=(5, 6), linear=("x3", "x4")):
    encoder = TableEncoder(n_knots=n_knots, categorical_features=list(categorical_features), linear=linear).fit(X)
    return encoder, encoder.transform(X)


def mixed():
    return encoded(mixed_table())


def curves(rows=400, columns=2, n_knots=4, seed=0):
    X = np.random.default_rng(seed).standard_normal((rows, columns))
    X[:, -1] += 0.5 * X[:, 0]
    return encoded(X, n_knots, (), ())


def dense(design, n_design):
    Z = np.zeros((len(design), n_design))
    np.add.at(Z, (np.arange(len(design))[:, None], design.ids), design.weights.astype(np.float64))
    return Z


def random_theta(rng, models, size, width=PAD):
    return rng.standard_normal((models, size, width)).astype(np.float32)
