"""Random combinations of all registered shapes: final outputs keep them, and everybody who decides agrees."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from checker_cases import verdicts
from hostile_cases import sealed
from random_shapes import DRAWN, fitted
from shape_truths import TRUTHS, truths

from lambdak.certify import certify
from lambdak.shapes.registry import SHAPES
from lambdak.store._header import describe

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TRIES = 300  # comparisons of rows for each shape of a model; benchmarks/outputs.py makes millions


@pytest.fixture(scope="module", params=SHAPES)
def combined(request):
    """A model with a random combination of shapes, one of each class among them."""
    rng = np.random.default_rng([1, list(SHAPES).index(request.param)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # targets outside of a range, and epochs that were too few
        return fitted(rng, request.param)


@pytest.fixture(scope="module")
def shape_tries():
    """The module of benchmarks that tries shapes on final outputs."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import shape_tries

        return shape_tries
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_every_shape_can_be_drawn_decided_and_tried(shape_tries):
    assert set(SHAPES) <= set(DRAWN)
    assert set(SHAPES) <= set(TRUTHS)
    assert set(SHAPES) <= set(shape_tries.TRIES)


def test_the_proof_in_float64_the_exact_one_the_checker_and_the_definition_agree(combined):
    model = combined.model.model_
    true = truths(model)
    assert false_of(true) == [], combined.shapes
    for exact in (False, True):
        claims = [claim for claim in certify(model, exact=exact).claims if claim.requested]
        assert [claim.statement for claim in claims if not claim.proven] == []
    found = verdicts(sealed(*describe(combined.model._saved())))
    assert found is not None
    assert set(found) == set(true)
    assert "refuted" not in found.values()


def false_of(true):
    return [key for key, answer in true.items() if answer is False]


def test_final_outputs_keep_every_shape(combined, shape_tries):
    tally = shape_tries.Tally()
    rng = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        for name in dict.fromkeys(type(shape).__name__ for shape in combined.model.model_.promises.shapes):
            shape_tries.try_shape_class(rng, combined.model, tally, TRIES, name)
    assert tally.tries >= TRIES
    assert tally.violations == 0, (combined.task, combined.shapes)


def test_a_shape_that_a_model_does_not_keep_is_refuted_by_everybody(combined):
    """Matrices that nothing was asked of: what they break, certify refuses as well, and nothing else is refused."""
    model = combined.model.model_
    rng = np.random.default_rng(3)
    coef = model.coef.copy()
    coef[..., : model.matrices.shape[-1]] = rng.normal(size=model.matrices.shape)
    other = model.replace(coef=coef)
    true = truths(other)
    for claim in (claim for claim in certify(other).claims if claim.requested):
        key = claim.kind, "all" if claim.kind in ("quantiles", "cut-points") else claim.subject
        assert true[key] is None or claim.proven is true[key], (claim.statement, combined.shapes)
