"""The file of a model is plain safetensors, and is written whole or not at all."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from safetensors import safe_open
from saved_cases import FRAME, LAW, NUMBERS, QUICK, assert_same
from sklearn.base import clone

import lambdak
from lambdak import SpectralQuantileRegressor, SpectralRegressor


def test_files_are_plain_safetensors_and_always_the_same(tmp_path):
    model = SpectralQuantileRegressor(**QUICK).fit(FRAME, LAW)
    model.save(tmp_path / "a")
    lambdak.load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with safe_open(tmp_path / "a", "numpy") as file:
        header = json.loads(file.metadata()["lambdak"])
        assert set(file.keys()) == {"coef", "start", "weights", "calibration"}
        np.testing.assert_array_equal(file.get_tensor("coef"), model.model_.coef[..., :10])
    assert (header["format"], header["lambdak"]) == (8, lambdak.__version__)
    assert header["columns"][0]["knots"] == model.model_.encoder.columns[0].knots.tolist()


def test_an_interrupted_save_leaves_the_old_model(tmp_path, monkeypatch):
    model = SpectralRegressor(**QUICK).fit(NUMBERS, LAW)
    model.save(tmp_path / "m")

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(NUMBERS, -LAW).save(tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"]
    assert_same(model, lambdak.load(tmp_path / "m"), NUMBERS)


def test_absent_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot load '.*absent': there is no such file: give the path of"):
        lambdak.load(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"does not exist: create .*absent first"):
        SpectralRegressor(**QUICK).fit(NUMBERS, LAW).save(tmp_path / "absent" / "m")
