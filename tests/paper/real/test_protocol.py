"""Which models are trained on which data."""

from __future__ import annotations

from lambdak.paper.real.protocol import Run


def test_runs_know_their_preprocessing():
    assert [Run(model, 3, 0.1, 0).kind for model in ("spectral", "mlp-2", "fm", "linear-continuous")] == [
        "dense", "dense", "bucketed", "continuous",
    ]  # fmt: skip
