"""Harrell's concordance against its definition, pair by pair."""

import numpy as np
import pytest
from survival_cases import lines_of_all_kinds, simulated

from lambdak.model.concordance import concordance


def pair_by_pair(lines, risk, weight):
    """The share of pairs whose order is known and right, one after the other."""
    right = total = 0.0
    for i, (code, _, _, end) in enumerate(lines):
        for j, (other, entry, start, _) in enumerate(lines):
            if code == 0 or not (start > end or (start == end and other == 0)) or entry >= end:
                continue
            total += weight[i] * weight[j]
            right += weight[i] * weight[j] * (0.5 if risk[i] == risk[j] else float(risk[i] > risk[j]))
    return right / total


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_share_of_pairs_in_order(weighted):
    rng = np.random.default_rng(0)
    lines = lines_of_all_kinds(60)
    lines[:, 1:] = np.round(lines[:, 1:], 1)  # with ties
    risk, weight = rng.integers(0, 9, 60).astype(float), rng.integers(0, 3, 60).astype(float)
    given = weight if weighted else None
    assert concordance(lines, risk, given) == pytest.approx(
        pair_by_pair(lines, risk, weight if weighted else np.ones(60)), rel=1e-12
    )


def test_perfect_order_reversed_order_and_no_order():
    _, time, event = simulated(60)
    lines = np.column_stack([event, np.zeros(60), time, time])
    assert concordance(lines, -time) == 1.0
    assert concordance(lines, time) == 0.0
    assert concordance(lines, np.zeros(60)) == 0.5
    assert np.isnan(concordance(lines * [0, 1, 1, 1], time))
