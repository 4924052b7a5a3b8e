"""Small problems for the trainer, trainers of them, and a step engine that is recorded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from spread_cases import constrained, one_cone

from lambdak.eigen.engine import AdamConstants
from lambdak.eigen.packing import unsym
from lambdak.losses import Pinball, SoftmaxLog, SquaredError
from lambdak.model.model import evaluate
from lambdak.model.outputs import ClassOutputs, OrderedOutputs, SingleOutput, outputs_of
from lambdak.pencil.initial import gapped
from lambdak.table.encoder import TableEncoder
from lambdak.training.cones import ConeCoordinates
from lambdak.training.coordinates import design_moments, free_blocks
from lambdak.training.parameters import Parameters
from lambdak.training.problem import Problem
from lambdak.training.trainer import Trainer
from lambdak.training.whitening import ColumnWhitening, FreeCoordinates

DIM, INDEX, WIDTH = 5, 2, 15
DAMPING, DECAY = (0.1, 1.0, 10.0), (1.0, 3.0, 1.0)
OUTPUTS = {
    "one output": (SquaredError(), SingleOutput((2,))),
    "several indices": (Pinball((0.1, 0.5, 0.9)), OrderedOutputs((1, 2, 4))),
    "several pencils": (SoftmaxLog(3), ClassOutputs((2,), 3)),
}
OWN_ROWS = np.array([[3, 1, 1, 7, 11], [0, 2, 11, 5, 4]], np.int32)


def table(rows=400, columns=2, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, (rows, columns))


def smooth(X):
    return np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 0] + 10.0


def regression(X, y, encoder, loss=None, weight=None, offset=None, outputs=None):
    loss = SquaredError() if loss is None else loss
    start, scale = loss.start(y, weight, offset), loss.scale(y, weight, offset)
    outputs = outputs_of(loss, (INDEX,)) if outputs is None else outputs
    return Problem(encoder.transform(X), y, weight, offset, loss, start, scale, outputs)


def trainer_of(
    problem, validation, encoder, signs=None, damping=DAMPING, decay=DECAY, seed=0, folds=None, anchors=None
):
    """A trainer of one model per damping and decay (and neuron), with columns by position → +1 or −1 in cones."""
    signs, rng = signs or {}, np.random.default_rng(seed)
    moments = design_moments(problem.design, encoder.n_design, problem.weight)
    pairs = np.repeat([damping, decay], problem.outputs.pencils, axis=1)
    free = FreeCoordinates(
        ColumnWhitening(free_blocks(encoder.columns, constrained(encoder.columns, signs)), moments), pairs[0].tolist()
    )
    cones = [one_cone(encoder.columns[i], sign, encoder.columns[i].rising()) for i, sign in signs.items()]
    coordinates = [ConeCoordinates(cones, moments, DIM)] if cones else []
    start = Parameters(free, coordinates, DIM, pairs[1].tolist())
    start.start_(np.stack([constant(problem, anchors, rng) for _ in pairs[0]]), rng)
    return Trainer(problem, start, rng, folds, validation)


def constant(problem, anchors, rng):
    if anchors is None:
        return gapped(0, DIM, problem.outputs.indices[0], random_state=rng)[0]
    return anchored(DIM, problem.outputs.indices, anchors, rng)


def anchored(dim, indices, anchors, rng):
    """A_0 whose eigenvalues at ``indices`` are the ``anchors``, evenly spaced in between and beyond, packed (D,)."""
    index, positions = np.asarray(indices), np.arange(dim)
    slope = (anchors[-1] - anchors[0]) / max(index[-1] - index[0], 1)
    spectrum = np.interp(positions, index, anchors)
    spectrum += slope * (np.maximum(positions - index[-1], 0) - np.maximum(index[0] - positions, 0))
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return unsym(basis * spectrum @ basis.T)


def small_problem(rows=400, n_knots=8, linear=()):
    """A trainer's problem, its validation rows, and the encoder of both."""
    X, other = table(rows), table(150, seed=1)
    encoder = TableEncoder(n_knots=n_knots, linear=linear).fit(X)
    problem = regression(X, smooth(X), encoder)
    return problem, replace(problem, design=encoder.transform(other), y=smooth(other)), encoder


def noisy_problem():
    """The same with few and noisy rows, so that models without decay get worse again."""
    problem, validation, encoder = small_problem(rows=80)
    rng = np.random.default_rng(3)
    noisy = [replace(part, y=part.y + rng.standard_normal(len(part.y))) for part in (problem, validation)]
    return *noisy, encoder


def losses_of(problem, coef):
    return problem.losses(evaluate(coef, DIM, problem.outputs.indices, problem.design))


class Recorder:
    """The step engine, with an ear on the rates that reach adam, and on the rows and slopes of training steps."""

    def __init__(self, engine):
        self.engine, self.rates, self.corrections, self.rows, self.slopes = engine, [], [], [], []
        self.threads = set()

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def adam(self, state, rate, keep, rule, spared, threads):
        self.rates.append(rate)
        self.corrections.append(rule[2])
        self.threads.add(threads)
        self.engine.adam(state, rate, keep, rule, spared, threads)

    def forward(self, design, coef, dim, index, out, threads):
        if out[1] is not None:  # a training step
            self.rows.append(design[2].copy())
        self.threads.add(threads)
        self.engine.forward(design, coef, dim, index, out, threads)

    def backward(self, design, vector, slope, dim, grad, threads):
        self.slopes.append(slope.reshape(design[2].shape))
        self.threads.add(threads)
        self.engine.backward(design, vector, slope, dim, grad, threads)

    def multiply(self, left, which, right, spans, out, threads):
        self.threads.add(threads)
        self.engine.multiply(left, which, right, spans, out, threads)

    def epoch(self, design, target, head, state, basis, pace, threads):
        """Its steps are recorded as if they had been taken one by one."""
        constants = AdamConstants(pace.beta1, pace.beta2, pace.tiny)
        for step, rate in enumerate(pace.rates, pace.steps_before + 1):
            self.rates.append([rate / constants.rate_correction(step)] * len(pace.decays))
            self.corrections.append(constants.rule(step)[2])
        self.rows += np.array_split(np.repeat(design[2], head.pencils, axis=0), len(pace.rates), axis=1)
        self.threads.add(threads)
        return self.engine.epoch(design, target, head, state, basis, pace, threads)
