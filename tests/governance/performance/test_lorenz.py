"""Lorenz curves and Gini against scikit-learn, row replication, and the curve of its Tweedie example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, roc_auc_score

from lambdak.governance.performance.lorenz import Ranking, auc_and_ks, lorenz_curve, perfect_ranking, roc_curve


def lorenz_of_scikit_learn(y_true, y_pred, exposure):
    """As in its example "Tweedie regression on insurance claims"."""
    ranking = np.argsort(y_pred)
    ranked_exposure, ranked_pure_premium = exposure[ranking], y_true[ranking]
    cumulated = np.cumsum(ranked_pure_premium * ranked_exposure)
    return np.cumsum(ranked_exposure) / exposure.sum(), cumulated / cumulated[-1]


def normalised(score, weight, actual):
    return Ranking.of(score, weight, actual).gini() / perfect_ranking(weight, actual).gini()


def test_gini_is_that_of_scikit_learns_insurance_example():
    rng = np.random.default_rng(0)
    exposure, rate = rng.uniform(0.01, 1, 500), rng.gamma(2, 0.1, 500)
    y = rng.poisson(rate * exposure) / exposure
    x, L = lorenz_of_scikit_learn(y, rate, exposure)
    own = Ranking.of(rate, exposure, y * exposure)
    assert own.curve()[0][1:] == pytest.approx(x)
    assert own.curve()[1][1:] == pytest.approx(L)
    # that example begins its area at the first row instead of at zero
    assert own.gini() == pytest.approx(1 - 2 * auc(np.append(0, x), np.append(0, L)))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(1, 4)), min_size=2, max_size=60))
def test_for_a_binary_target_normalised_gini_is_twice_auc_minus_one(rows):
    score, target, weight = (np.array(part, float) for part in zip(*rows, strict=True))
    if 0 < target.sum() < len(target):
        wanted = roc_auc_score(target, score, sample_weight=weight)
        assert normalised(score, weight, target * weight) == pytest.approx(2 * wanted - 1, abs=1e-12)
        ranking = Ranking.of(score, weight, target * weight)
        assert auc_and_ks(ranking)[0] == pytest.approx(wanted, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 4)), min_size=2, max_size=40))
def test_a_row_of_weight_three_counts_as_three_rows(rows):
    score, total, weight = (np.array(part, float) for part in zip(*rows, strict=True))
    if total.any():
        often = weight.astype(int)
        repeated = Ranking.of(np.repeat(score, often), np.ones(often.sum()), np.repeat(total, often))
        assert Ranking.of(score, weight, weight * total).gini() == pytest.approx(repeated.gini(), abs=1e-12)
        once = Ranking.of(score, np.ones(len(score)), total)
        assert once.gini(weight) == pytest.approx(repeated.gini(), abs=1e-12)


def test_with_ties_gini_is_the_mean_over_all_orders_of_the_tied_rows():
    rng = np.random.default_rng(1)
    score, weight, actual = rng.integers(0, 3, 30).astype(float), rng.uniform(0.1, 1, 30), rng.poisson(1.0, 30) * 1.0
    drawn = []
    for _ in range(4000):
        broken = score + 1e-6 * rng.random(30)
        drawn.append(Ranking.of(broken, weight, actual).gini())
    assert Ranking.of(score, weight, actual).gini() == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 4000**0.5)


def test_equal_predictions_tell_nothing_apart_and_a_perfect_order_everything():
    actual, ones = np.array([0.0, 1.0, 4.0]), np.ones(3)
    assert Ranking.of(ones, ones, actual).gini() == pytest.approx(0.0)
    assert normalised(actual, ones, actual) == pytest.approx(1.0)
    assert normalised(-actual, ones, actual) == pytest.approx(-1.0)


def test_a_long_curve_keeps_its_gini_and_its_ends():
    rng = np.random.default_rng(0)
    score, actual = rng.random(20_000), rng.random(20_000)
    own, perfect = Ranking.of(score, np.ones(20_000), actual), perfect_ranking(np.ones(20_000), actual)
    found = lorenz_curve(own, perfect, ("rows", "y"), None)
    assert len(found.x) < 3_000
    assert (found.x[0], found.x[-1], found.curve[0], found.curve[-1]) == (0, 1, 0, 1)
    assert found.gini == own.gini()
    assert 1 - 2 * np.trapezoid(found.curve, found.x) == pytest.approx(found.gini, abs=1e-4)
    assert (found.perfect <= found.curve + 1e-9).all()


def test_roc_and_ks_are_those_of_scikit_learn_and_scipy():
    from scipy.stats import ks_2samp
    from sklearn.metrics import roc_curve as peer

    rng = np.random.default_rng(0)
    target = rng.random(300) < 0.4
    score = np.round(target + rng.normal(0, 1, 300), 1)
    found = roc_curve(score, Ranking.of(score, np.ones(300), target * 1.0), "share", None)
    false, true, threshold = peer(target, score, drop_intermediate=False)
    assert found.false_positive_rate == pytest.approx(false, abs=1e-12)
    assert found.true_positive_rate == pytest.approx(true, abs=1e-12)
    assert found.threshold == pytest.approx(threshold)
    assert found.auc == pytest.approx(roc_auc_score(target, score))
    assert found.ks == pytest.approx(ks_2samp(score[target], score[~target]).statistic)


@pytest.mark.parametrize("ratio", [1e-16, 1e-12, 1.0, 1e12, 1e16])
def test_auc_is_exact_however_little_one_class_weighs(ratio):
    rng = np.random.default_rng(0)
    target = rng.random(300) < 0.4
    score, weight = np.round(target + rng.normal(0, 1, 300), 1), np.where(target, ratio, 1.0)
    ranking = Ranking.of(score, weight, target * weight)
    wanted = roc_auc_score(target, score)  # weights of whole classes cancel out
    assert auc_and_ks(ranking)[0] == pytest.approx(wanted, rel=1e-13)
    assert roc_curve(score, ranking, "share", None).auc == pytest.approx(wanted, rel=1e-13)
