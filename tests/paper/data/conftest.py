"""Small files, read in small blocks."""

from __future__ import annotations

import paper_files
import pytest

from lambdak.paper.data import files, ids


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks from small files."""
    monkeypatch.setattr(files, "BLOCK", 20_000)
    monkeypatch.setattr(files, "_PIECE", 3_000)
    monkeypatch.setattr(files, "_TEXT", 3_000)
    monkeypatch.setattr(ids, "_STEP", 37)


@pytest.fixture
def higgs_file(tmp_path):
    return lambda lines, ending="": paper_files.write(tmp_path / f"HIGGS.csv{ending}", lines)


@pytest.fixture
def criteo_file(tmp_path):
    return lambda lines, ending="": paper_files.write(tmp_path / f"train.txt{ending}", lines)
