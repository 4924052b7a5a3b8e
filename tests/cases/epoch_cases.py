"""Whole epochs, for the kernel and for its reference: design rows, targets, a basis and a state."""

from __future__ import annotations

import numpy as np
from spread_cases import constrained as of_columns
from spread_cases import one_cone

from lambdak.eigen.engine import LossHead, Pace
from lambdak.eigen.packing import packed_size, padded_size
from lambdak.table.encoder import TableEncoder
from lambdak.training.cones import ConeCoordinates
from lambdak.training.coordinates import design_moments, free_blocks
from lambdak.training.whitening import ColumnWhitening, FreeCoordinates

LOSSES = {
    "squared_error": [],
    "absolute_error": [],
    "huber": [0.4],
    "quantile": [0.3],
    "log_loss": [],
    "half_deviance": [1.0, 0.0],
    "softmax": [],
}
ROWS, DIM, KINDS = 150, 6, (0.1, 10.0)
MOVED = ("theta", "first", "second")  # what a step changes of the constrained columns
ARGUMENTS = ("design", "target", "head", "state", "basis", "pace")


CONSTRAINED = (0, 2)  # columns, the first of which rises and the other bends


def epoch_arguments(loss="squared_error", models=2, numbers=None, weighted=True, batches=4, constrained=False):
    """Arguments of an epoch by name: two columns are correlated, so that some directions are whitened jointly.

    Where columns are ``constrained``, the last one keeps a free slope.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 3))
    X[:, 1] += 2 * X[:, 0]
    encoder = TableEncoder(8).fit(X)
    design, pencils = encoder.transform(X), 3 if loss == "softmax" else 1
    moments = design_moments(design, encoder.n_design)
    damping = [KINDS[i % 2] for i in range(models * pencils)]
    blocks = free_blocks(
        encoder.columns, of_columns(encoder.columns, CONSTRAINED[:1], CONSTRAINED[1:]) if constrained else {}
    )
    free = FreeCoordinates(ColumnWhitening(blocks, moments), damping)
    theta = np.zeros((len(damping), free.size, padded_size(DIM)), np.float32)
    theta[..., : packed_size(DIM)] = 0.2 * rng.standard_normal((*theta.shape[:2], packed_size(DIM)))
    coef = np.zeros((len(damping), free.n_design, padded_size(DIM)), np.float32)
    free.write_(theta, coef)
    cones = cones_of(encoder.columns, moments, coef, rng) if constrained else None
    order = np.stack([rng.permutation(ROWS)[: ROWS - 3] for _ in range(models)]).astype(np.int32)
    y = rng.integers(0, 3 if pencils > 1 else 2, ROWS) + (0.5 * rng.random(ROWS) if loss not in ("softmax",) else 0)
    if loss == "log_loss":
        y = np.clip(y, 0, 1)
    extra = (rng.exponential(size=ROWS), 0.1 * rng.standard_normal(ROWS)) if weighted else (None, None)
    given = LOSSES[loss] if numbers is None else numbers
    head = LossHead(DIM, 2, pencils, [0.1, -0.2, 0.3][:pencils], 1.3, loss, given)
    pace = Pace(
        [0.01 * (i + 1) for i in range(batches)], [0.5 + i % 3 for i in range(len(damping))], 2, 0.9, 0.99, 1e-8
    )
    state = (theta, np.zeros_like(theta), np.full_like(theta, 1e-3), coef, cones)
    design_rows = (design.ids, design.weights, order)
    values = (design_rows, (y.astype(np.float64), *extra), head, state, free.basis, pace)
    return dict(zip(ARGUMENTS, values, strict=True))


def cones_of(columns, moments, coef, rng):
    """The constrained columns, whose contribution is added to the coefficients."""
    rising, bent = (columns[i] for i in CONSTRAINED)
    cones = ConeCoordinates([one_cone(rising, -1, rising.rising()), one_cone(bent, 1, bent.hinged(0))], moments, DIM)
    theta = np.zeros((len(coef), cones.size, padded_size(DIM)), np.float32)
    theta[..., : packed_size(DIM)] = cones.start(len(coef), rng)
    cones.add_(theta[..., : packed_size(DIM)], coef)
    return cones.compiled((theta, np.zeros_like(theta), np.full_like(theta, 1e-3)), coef.shape[1], 0.3)


def copied(state):
    """The same state in other arrays."""
    *parts, cones = state
    again = None if cones is None else cones._replace(**{name: getattr(cones, name).copy() for name in MOVED})
    return *(part.copy() for part in parts), again


def arrays(state):
    """All that a step changes."""
    *parts, cones = state
    return parts if cones is None else [*parts, *(getattr(cones, name) for name in MOVED)]


def taken(engine, arguments, threads=1):
    """The losses of an epoch and the state after it."""
    state = copied(arguments["state"])
    losses = engine.epoch(*({**arguments, "state": state}[name] for name in ARGUMENTS), threads)
    return np.array(losses), state
