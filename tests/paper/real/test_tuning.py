"""Which rate is reported."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lambdak.paper.real.tuning import tune


def test_validation_chooses_the_rate_and_test_does_not():
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
