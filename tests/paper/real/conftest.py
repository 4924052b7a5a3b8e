"""Studies of real data, run once on generated files; libraries are imported where tests were not skipped."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def studies(tmp_path_factory):
    """The folder of the quick studies of HIGGS and Criteo."""
    pytest.importorskip("torch")
    from lambdak.paper.real.protocol import DATASETS
    from lambdak.paper.real.runs import run_real

    out = tmp_path_factory.mktemp("studies")
    for name in DATASETS:
        *_, (done, total) = run_real(name, "quick", out, progress=False)
        assert done == total
    return out
