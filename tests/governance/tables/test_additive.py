"""The search for the best tables: it ends at the minimum, from wherever it starts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from lambdak.governance.tables.additive import Target, _Search
from lambdak.losses.links import LOG, LOGIT

LEVELS = (6, 8, 5)


def _rows(n=4000):
    """Codes of three columns, one of them with a rare level."""
    rng = np.random.default_rng(3)
    codes = [rng.integers(levels - 1, size=n) for levels in LEVELS]
    codes[1][:3] = LEVELS[1] - 1
    starts = np.cumsum((1, *LEVELS[:-1]))
    ids = np.column_stack([np.zeros(n, int), *(code + start for code, start in zip(codes, starts, strict=True))])
    matrix = sparse.csr_array((np.ones(ids.size), (np.repeat(np.arange(n), 4), ids.ravel())))
    joint = rng.normal(0, 2, (LEVELS[0], LEVELS[1]))[codes[0], codes[1]]
    return matrix, joint + np.linspace(-4, 4, LEVELS[2])[codes[2]]


@pytest.mark.parametrize("link", [LOGIT, LOG])
@pytest.mark.parametrize("far", [0.0, 6.0, 40.0])
def test_the_search_ends_at_the_minimum_from_wherever_it_starts(link, far):
    Z, raw = _rows()
    target = Target.of(raw, np.ones(len(raw)), link, 1.0)
    start = far * np.random.default_rng(1).normal(size=Z.shape[1])
    found = _Search(Z, target, start, np.zeros(Z.shape[1])).run(start, np.ones(Z.shape[1], bool))
    mean = expit if link is LOGIT else np.exp
    wanted = mean(target.raw) / len(raw)
    oracle = minimize(
        lambda theta: target.loss(Z @ theta),
        np.zeros(Z.shape[1]),
        jac=lambda theta: Z.T @ (mean(Z @ theta) / len(raw) - wanted),
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 5000},
    )
    assert Z.T @ (mean(Z @ found) / len(raw)) == pytest.approx(Z.T @ wanted, abs=1e-7 * wanted.sum())
    assert target.loss(Z @ found) <= target.loss(Z @ oracle.x) + 1e-9 * abs(target.loss(Z @ oracle.x))
