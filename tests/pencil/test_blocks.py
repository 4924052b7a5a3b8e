"""Rows are processed in blocks of bounded memory that do not show."""

from __future__ import annotations

import tracemalloc

import numpy as np
from pencil_cases import certificates, random_pencil, random_rows

from lambdak.pencil import blocks


class TestBlocks:
    def test_rows_are_processed_in_blocks_that_do_not_show(self, monkeypatch):
        f, Z = random_pencil(), random_rows(200, 3)
        whole = f(Z), f.gradient(Z), *certificates(f, Z)
        monkeypatch.setattr(blocks, "_BLOCK_FLOATS", 1)
        monkeypatch.setattr(blocks, "_MIN_BLOCK_ROWS", 7)
        pieces = f(Z), f.gradient(Z), *certificates(f, Z)
        for one, many in zip(whole, pieces, strict=True):
            np.testing.assert_allclose(many, one, atol=1e-12)

    def test_memory_stays_bounded_for_many_rows(self):
        f, Z = random_pencil(dim=15, n_features=2), random_rows(60_000, 2)
        unblocked = len(Z) * f.packed.shape[1] * 8  # 58 MB of packed rows
        tracemalloc.start()
        try:
            f(Z)
            assert tracemalloc.get_traced_memory()[1] < unblocked / 2
        finally:
            tracemalloc.stop()
