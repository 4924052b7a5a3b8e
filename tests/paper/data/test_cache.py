"""Caches: no half of one passes for a whole."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from lambdak.paper.data.higgs import higgs
from lambdak.paper.data.miniature import higgs_lines


def test_meta_names_the_rows_and_the_checksum_of_the_file(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(50), ".gz")
    higgs(path, tmp_path / "cache", progress=False)
    meta = json.loads((tmp_path / "cache" / "meta.json").read_text())
    assert meta["rows"] == 50
    assert meta["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_cache_is_used_again_and_rebuilt_for_another_file(higgs_file, tmp_path, monkeypatch):
    path = higgs_file(higgs_lines(50))
    first = higgs(path, tmp_path / "cache", progress=False)
    monkeypatch.setattr("lambdak.paper.data.higgs.building", None)  # it would fail if it were called
    np.testing.assert_array_equal(higgs(path, tmp_path / "cache", progress=False).features, first.features)
    monkeypatch.undo()
    higgs_file(higgs_lines(60, seed=1))
    assert len(higgs(path, tmp_path / "cache", progress=False).labels) == 60


def test_what_a_killed_build_left_behind_is_removed(higgs_file, tmp_path):
    stale = tmp_path / ".cache.0123456789abcdef.part"
    stale.mkdir()
    (stale / "features").write_bytes(b"half")
    path = higgs_file(higgs_lines(50))
    higgs(path, tmp_path / "cache", progress=False)
    assert {item.name for item in tmp_path.iterdir()} == {path.name, "cache"}


def test_a_cache_whose_array_was_cut_is_refused(higgs_file, tmp_path):
    path = higgs_file(higgs_lines(50))
    higgs(path, tmp_path / "cache", progress=False)
    array = tmp_path / "cache" / "features"
    array.write_bytes(array.read_bytes()[:-4])
    with pytest.raises(ValueError, match="features must have 5600 bytes; got 5596"):
        higgs(path, tmp_path / "cache", progress=False)
