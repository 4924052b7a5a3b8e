"""Which rate is reported."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lambdak.paper.real.tuning import choose, tune


def test_validation_chooses_the_rate_and_test_does_not_also_in_results_without_phases():
    table = pa.table(
        {
            "model": ["m"] * 6,
            "dim": [3] * 6,
            "rate": [0.1, 0.1, 0.1, 0.01, 0.01, 0.01],
            "seed": [0, 1, 2] * 2,
            "samples": [64] * 6,
            "validation": [0.5, 0.4, np.nan, 0.45, 0.46, 0.47],
            "test": [0.1, 0.1, 0.1, 0.3, 0.2, 0.4],
        }
    )
    (found,) = tune(table)
    assert (found.rate, found.validation, found.low, found.median, found.high) == (0.01, 0.46, 0.25, 0.3, 0.35)


PHASES = [  # phase, rate, validation, test
    ("tuning", 0.1, 0.5, np.nan), ("tuning", 0.1, 0.4, np.nan), ("tuning", 0.1, np.nan, np.nan),
    ("tuning", 0.01, 0.45, np.nan), ("tuning", 0.01, 0.46, np.nan), ("tuning", 0.01, 0.47, np.nan),
    ("evaluation", 0.01, np.nan, 0.7), ("evaluation", 0.01, np.nan, 0.8),
]  # fmt: skip


def test_tuning_runs_choose_and_evaluation_runs_are_reported():
    columns = dict(zip(("phase", "rate", "validation", "test"), zip(*PHASES, strict=True), strict=True))
    table = pa.table({"model": ["m"] * 8, "dim": [3] * 8, "samples": [64] * 8, **columns})
    (found,) = tune(table)
    assert (found.rate, found.validation) == (0.01, 0.46)
    np.testing.assert_allclose((found.low, found.median, found.high), (0.725, 0.75, 0.775))
    assert choose(table)["m", 3, 64].rate == 0.01


def test_curves_are_in_the_order_of_the_tuning_runs_whichever_rate_is_evaluated_first():
    tuning = [("tuning", 0.1, n, loss) for n, loss in ((64, 0.5), (128, 0.6))]
    tuning += [("tuning", 0.01, n, loss) for n, loss in ((64, 0.6), (128, 0.5))]
    rows = [*tuning, ("evaluation", 0.01, 128, np.nan), ("evaluation", 0.1, 64, np.nan)]
    columns = dict(zip(("phase", "rate", "samples", "validation"), zip(*rows, strict=True), strict=True))
    found = tune(pa.table({"model": ["m"] * 6, "dim": [3] * 6, "test": [0.4] * 6, **columns}))
    assert [(each.samples, each.rate) for each in found] == [(64, 0.1), (128, 0.01)]
