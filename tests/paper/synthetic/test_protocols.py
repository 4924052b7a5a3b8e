"""The released runs and the text of the paper, difference by difference, each drawn again in plain NumPy and SciPy."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from lambdak.eigen.packing import packed_size, sym
from lambdak.paper.protocols import CONVENTIONS, Conventions, study_name
from lambdak.paper.synthetic.grid import Cell, Grid, study
from lambdak.paper.synthetic.stacks import make_stack
from lambdak.paper.synthetic.sweep import run_cell
from lambdak.paper.synthetic.targets import HIGH, LOW, make_targets

RELEASED, TEXT = CONVENTIONS["released"], CONVENTIONS["text"]
SEEDS = range(32)


def at_knots(targets, which, complexity):
    axes = [np.linspace(LOW, HIGH, complexity)] * targets.inputs
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return targets(np.full(x.shape[:-1], which), x)


def test_the_two_protocols_differ_in_every_field():
    assert all(getattr(RELEASED, field.name) != getattr(TEXT, field.name) for field in fields(Conventions))


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("complexity", [5, 13])
def test_released_functions_are_those_of_the_authors_generators(inputs, complexity):
    shape = (complexity,) * inputs
    for kind in ("general", "monotone"):
        targets = make_targets(kind, inputs, complexity, SEEDS, RELEASED)
        for seed in SEEDS:
            values = np.random.default_rng(seed).normal(0.0, 1.0, size=shape)
            if kind == "monotone":
                values = np.cumsum(np.exp(values), axis=-1)
                values = (values - values.mean()) / values.std()
            np.testing.assert_allclose(at_knots(targets, seed, complexity), values, atol=1e-11)


def test_splines_of_one_input_end_as_their_protocol_says():
    grid, x = np.linspace(LOW, HIGH, 10), np.linspace(LOW, HIGH, 333)
    for conventions, ends in ((RELEASED, "natural"), (TEXT, "not-a-knot")):
        targets = make_targets("general", 1, 10, range(3), conventions)
        for which in range(3):
            oracle = CubicSpline(grid, at_knots(targets, which, 10), bc_type=ends)
            np.testing.assert_allclose(targets(np.full(len(x), which), x[:, None]), oracle(x), atol=1e-11)


def test_the_text_draws_uniform_values_and_standardises_every_slice():
    flat = np.stack([at_knots(make_targets("general", 2, 9, [seed], TEXT), 0, 9) for seed in SEEDS])
    assert np.abs(flat).max() <= 3**0.5 + 1e-9
    assert flat.std() == pytest.approx(1.0, abs=0.05)
    slices = at_knots(make_targets("monotone", 2, 9, [0], TEXT), 0, 9)
    np.testing.assert_allclose(slices.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(slices.std(axis=1), 1.0, atol=1e-12)
    together = at_knots(make_targets("monotone", 2, 9, [0], RELEASED), 0, 9)
    assert np.ptp(together.mean(axis=1)) > 0.1


@pytest.mark.parametrize("fit", ["general", "monotone"])
def test_released_matrices_start_as_multiples_of_the_identity(fit):
    for name, is_multiple in (("bivariate", True), ("bivariate-text", False)):
        stack = make_stack(Cell(2, fit, 5, 0.0, 5), study(name, "quick"), np.random.default_rng(0))
        features = sym(stack.coef[:, 1:, : packed_size(5)].astype(np.float64))
        multiples = features[..., :1, :1] * np.eye(5)
        assert np.allclose(features, multiples, atol=1e-6) == is_multiple


def test_validation_labels_have_noise_in_the_text_only():
    cell, grids = Cell(1, "general", 5, 0.1, 5), (study(name, "quick") for name in ("univariate", "univariate-text"))
    short = [replace(grid, checkpoints=(600,), measured=512, rates=(1e-2, 1e-1)) for grid in grids]
    released, text = (run_cell(grid, cell).validation.min(axis=2) for grid in short)
    assert (released < 0.085).any()
    assert (text > 0.085).all()  # noise of 0.1 bounds the error from below


def test_the_text_is_tested_on_ten_thousand_points():
    assert study("univariate-text", "full").tested == 10_000
    assert study("univariate", "full").measured == 4096
    assert study_name("univariate", "text") == "univariate-text"


def test_results_from_before_have_the_conventions_of_their_time():
    assert Grid.from_dict({"inputs": 1, "complexities": [5]}).protocol == "own"
