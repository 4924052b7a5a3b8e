"""The search for slow files always comes to a file: benchmarks/fuzzing halves counts until one is small enough."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def families():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from fuzzing.slow import FAMILIES
    finally:
        sys.path.remove(str(BENCHMARKS))
    return FAMILIES


@pytest.mark.parametrize("family", ["model", "training", "pipeline", "checkpoint"])
def test_the_smallest_counts_make_a_file(families, family):
    ranges, make = families[family]
    least = {name: low for name, (low, _) in ranges.items()}
    for seed in range(6):
        _, data = make(least, seed)
        assert 0 < len(data) < 10_000
