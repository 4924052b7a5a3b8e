"""Penalties on the norms of the matrices, and how tight they make the influence bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from lambdak.paper.data.miniature import write_miniature
from lambdak.paper.parts import read_results
from lambdak.paper.real.origin import Origin
from lambdak.paper.real.runs import train
from lambdak.paper.real.tightness import Penalised, Shrunk, run_tightness, strengths, tighten


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The folder of the quick study."""
    out = tmp_path_factory.mktemp("studies")
    assert list(run_tightness("quick", out, progress=False))[-1] == (12, 12)
    return out


@pytest.mark.slow
def test_stronger_penalties_make_norms_smaller_and_the_bound_tighter(study):
    found = list(tighten(read_results(study / "tightness-quick")))
    assert [(each.dim, each.strength) for each in found] == [(d, s) for d in (3, 5) for s in (0.0, 0.01, 0.1)]
    for own in (found[:3], found[3:]):
        assert own[0].norms > own[1].norms > own[2].norms > 0
        assert own[0].mean_ratio < own[1].mean_ratio < own[2].mean_ratio <= 1
        assert own[0].features == 28 > own[2].features
        assert own[0].median < own[2].median  # what the strongest one costs


@pytest.mark.slow
def test_a_study_that_lost_a_part_ends_with_the_same_rows(study):
    folder = study / "tightness-quick"
    whole = read_results(folder)
    next((folder / "parts").iterdir()).unlink()
    assert list(run_tightness("quick", study, progress=False)) == [(11, 12), (12, 12)]
    assert read_results(folder).equals(whole)


def test_full_and_small_have_the_dims_of_the_paper_and_no_penalty_among_the_strengths():
    for profile in ("small", "full"):
        grid = strengths(profile)
        assert grid.dims == (3, 7, 11)
        assert grid.strengths[0] == 0
    with pytest.raises(ValueError, match="profile must be one of"):
        strengths("huge")


def test_a_step_is_followed_by_the_proximal_step_of_its_length_for_every_matrix_but_the_constant(tmp_path):
    data = Origin("higgs", write_miniature("higgs", tmp_path, rows=200), tmp_path).load()["dense"]
    run = Shrunk(3, 0.01, 0.01, 0, 0)
    plain, shrunk = Penalised(replace(run, strength=0.0)), Penalised(run)
    for model in (plain, shrunk):
        list(train(model, data, (128,), 128, 0))
    second = plain.neuron._flat[2, : plain.neuron.coef.size].reshape(plain.neuron.coef.shape)[1:]
    lengths = 0.01 / (np.sqrt(second / 0.001).mean(axis=1) + 1e-8)  # of the first step of Adam
    for before, after, length in zip(plain.neuron.coef[1:], shrunk.neuron.coef[1:], lengths, strict=True):
        np.testing.assert_allclose(matrix(after), lowered(matrix(before), 0.01 * length), atol=1e-6)
    np.testing.assert_array_equal(plain.neuron.coef[0], shrunk.neuron.coef[0])


def matrix(packed):
    full = np.zeros((3, 3))
    full[np.tril_indices(3)] = packed / np.where(np.equal(*np.tril_indices(3)), 1.0, np.sqrt(2.0))
    return full + np.tril(full, -1).T


def lowered(a, threshold):
    """The largest eigenvalues, by size, are lowered to one level, by the threshold in total."""
    values, vectors = np.linalg.eigh(a)
    size = np.sort(np.abs(values))[::-1]
    level = max(max((size[: k + 1].sum() - threshold) / (k + 1) for k in range(3)), 0.0)
    return (vectors * np.sign(values) * np.minimum(np.abs(values), level)) @ vectors.T


def test_validation_chooses_rate_and_samples_and_test_does_not():
    facts = {"dim": 3, "strength": 0.1, "norms": 2.0, "median_ratio": 0.3, "features": 5}
    rows = [
        facts | {"rate": rate, "samples": n, "validation": v, "test": t, "mean_ratio": r}
        for rate, n, v, t, r in (
            (0.1, 64, 0.5, 0.1, 0.9), (0.1, 128, 0.4, 0.2, 0.8), (0.1, 128, 0.4, 0.4, 0.6),
            (0.2, 128, np.nan, 0.0, 0.7),
        )
    ]  # fmt: skip
    (found,) = tighten(pa.Table.from_pylist(rows))
    assert (found.rate, found.samples, found.validation) == (0.1, 128, 0.4)
    assert (found.low, found.median, found.high, found.mean_ratio) == pytest.approx((0.25, 0.3, 0.35, 0.7))
