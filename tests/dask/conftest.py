"""A small cluster of threads for the tests of a module, and large fits of small tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dask_cases import local_cluster
from distributed import Client

from lambdak.estimators.base import SpectralEstimator


@pytest.fixture(scope="module")
def cluster():
    """Three workers of one thread each, in this process."""
    with local_cluster(3) as own:
        yield own


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as own:
        yield own


@pytest.fixture
def sampled(monkeypatch):
    """Lets tables of more than this many rows count as large."""

    def set_rows(rows):
        plain = SpectralEstimator._large_request
        monkeypatch.setattr(
            SpectralEstimator, "_large_request", lambda self, *given: replace(plain(self, *given), sample_rows=rows)
        )

    return set_rows
