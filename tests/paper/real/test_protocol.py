"""Which models are trained on which data, from which seeds, and where the released runs and the text differ."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from lambdak.eigen.packing import sym
from lambdak.paper.data.rows import DenseData, SparseData
from lambdak.paper.protocols import REAL_CONVENTIONS, CriteoColumns, RealConventions, study_command
from lambdak.paper.real.protocol import Run, make_model, real_protocol

RELEASED, TEXT = REAL_CONVENTIONS["released"], REAL_CONVENTIONS["text"]


def run(model, dim=3):
    return Run("tuning", model, dim, 0.1, 0, 0)


def test_runs_know_their_preprocessing():
    assert [run(model).kind for model in ("spectral", "mlp-2", "fm", "linear-continuous")] == [
        "dense", "dense", "bucketed", "continuous",
    ]  # fmt: skip


def test_the_two_protocols_differ_in_every_field():
    for kind, pair in ((RealConventions, (RELEASED, TEXT)), (CriteoColumns, (RELEASED.columns, TEXT.columns))):
        assert all(len({getattr(each, field.name) for each in pair}) == 2 for field in fields(kind))


def test_sample_counts_are_those_of_the_released_runs():
    higgs, criteo = (real_protocol(name, "full").samples for name in ("higgs", "criteo"))
    assert higgs == tuple(2**k for k in (12, 14, 16, 18, 20, 22, 23, 24, 25, 26))
    assert criteo == tuple(2**k for k in (12, 14, 16, 18, 20, 22, 24, 26, 28))
    assert real_protocol("higgs-text", "full").samples == tuple(2**k for k in range(12, 27))


@pytest.mark.parametrize(("name", "shapes"), [("higgs", 13), ("criteo", 11)])
def test_eight_starts_choose_the_rate_and_twenty_four_fresh_runs_are_reported(name, shapes):
    protocol = real_protocol(name, "full")
    tuning = [each for each, _ in protocol.tuning_runs()]
    assert len(tuning) == len({each.name for each in tuning}) == shapes * 8 * 8
    assert {(each.data_seed, each.start_seed) for each in tuning} == {(0, start) for start in range(8)}
    best = {(*shape, n): protocol.rates[0] for shape in protocol.shapes() for n in protocol.samples}
    evaluation = [each for each, _ in protocol.evaluation_runs(best)]
    assert len(evaluation) == shapes * 24
    pairs = {(each.data_seed, each.start_seed) for each in evaluation}
    assert pairs == {(data, start) for data in range(1, 5) for start in range(3, 9)}
    assert not {each.name for each in tuning} & {each.name for each in evaluation}


def test_a_rate_is_evaluated_for_the_sample_counts_at_which_it_won():
    protocol = real_protocol("higgs", "quick")
    low, high = protocol.rates
    best = {(*shape, n): high if n < 1000 else low for shape in protocol.shapes() for n in protocol.samples}
    best |= {("linear", 0, n): low for n in protocol.samples}
    found = {(each.model, each.rate): samples for each, samples in protocol.evaluation_runs(best)}
    assert found["spectral", high] == (256, 512)
    assert found["spectral", low] == (1024, 2048, 4096)
    assert found["linear", low] == protocol.samples
    assert ("linear", high) not in found


def test_the_text_takes_five_runs_to_tune_and_five_fresh_ones():
    protocol = real_protocol("criteo-text", "full")
    assert len(list(protocol.tuning.pairs())) == len(list(protocol.evaluation.pairs())) == 5
    assert not set(protocol.tuning.pairs()) & set(protocol.evaluation.pairs())


@pytest.mark.parametrize("profile", ["quick", "small"])
def test_smaller_profiles_have_both_phases_too(profile):
    for name in ("higgs", "criteo-text"):
        protocol = real_protocol(name, profile)
        assert len(list(protocol.tuning.pairs())) >= 2
        assert not set(protocol.tuning.pairs()) & set(protocol.evaluation.pairs())


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_spectral_neurons_start_with_the_jitter_of_their_protocol(jitter):
    labels, splits = np.zeros(4, np.float32), {"train": (0, 4)}
    dense = DenseData(labels, splits, "", np.zeros((4, 28), np.float32))
    sparse = SparseData(labels, splits, "", np.zeros((4, 39), np.int32), np.zeros((4, 0), np.float32), 60)
    for model, data in (("spectral", dense), ("spectral-bucketed", sparse)):
        matrices = sym(make_model(run(model), data, 0, jitter).coef[1:].astype(np.float64))
        multiples = matrices[:, :1, :1] * np.eye(3)
        assert np.allclose(matrices, multiples, atol=1e-7) == (jitter == 0)


def test_the_command_of_a_study_of_the_text_says_so():
    assert study_command("criteo-text") == "lambdak reproduce criteo --protocol text"
    assert study_command("univariate") == "lambdak reproduce univariate"
