"""Calibrations in files: what is wrong is named, by ``load`` and by the checker that shares nothing with it."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from checker_cases import run
from hostile_cases import MONOTONE, SMALL, X, Y, made, put, refuse, sealed

import lambdak
from lambdak import SpectralQuantileRegressor

QUANTILES = made(SpectralQuantileRegressor((0.1, 0.5, 0.9), calibrate_by=3, monotonic_cst=[1, 0, 0, 0], **SMALL))


def both(header, tensors):
    """Promise something of the column whose levels are groups."""
    header["parameters"]["max_influence"] = {"dict": [[3, 1e9]]}
    header["calibration"] |= {"column": 3, "groups": [0], "rows": [8, 8]}
    tensors["calibration"] = np.concatenate([tensors["calibration"][:1]] * 2)


def turned(header, tensors):
    tensors["calibration"] = tensors["calibration"][..., ::-1].copy()


def beyond(header, tensors):
    tensors["calibration"] = 2 * tensors["calibration"]


def without(header, tensors):
    del tensors["calibration"]


CHANGES = {
    "levels out of order": (turned, "further apart for larger shares"),
    "levels beyond 1": (beyond, r"levels of calibration must be in \[0, 1\]"),
    "no levels": (without, "calibration"),
    "tail of a wrong side": (put("calibration", "below", value=-1.0), "tails of calibration must not be negative"),
    "tail of text": (put("calibration", "above", value="1"), "above of calibration must be a finite number"),
    "no rows": (put("calibration", "rows", value=[0]), "rows of calibration must be an int"),
    "more rows": (put("calibration", "rows", value=[8, 8, 8]), "groups of calibration"),
    "column of numbers": (put("calibration", "column", value=0), "a column of numbers"),
    "promised column": (both, "of which nothing is promised"),
    "older format": (put("format", value=7), "unknown field 'calibration'"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_forged_calibration_is_refused_by_both(tmp_path, case):
    change, match = CHANGES[case]
    header, tensors = deepcopy(QUANTILES)
    change(header, tensors)
    refuse(tmp_path, sealed(header, tensors), match)
    assert run(tmp_path / "model.safetensors").returncode == 2


def test_a_calibration_of_other_losses_is_refused(tmp_path):
    header, tensors = deepcopy(MONOTONE)
    header |= {"format": 8, "calibration": QUANTILES[0]["calibration"]}
    tensors |= {"calibration": QUANTILES[1]["calibration"]}
    refuse(tmp_path, sealed(header, tensors), "calibration belongs to quantiles only")
    assert run(tmp_path / "model.safetensors").returncode == 2


def test_files_without_a_calibration_still_load(tmp_path):
    header, tensors = deepcopy(QUANTILES)
    del header["calibration"], tensors["calibration"], header["parameters"]["calibrate_by"]
    path = tmp_path / "old.safetensors"
    path.write_bytes(sealed(header | {"format": 7}, tensors))
    old = lambdak.load(path)
    assert old.model_.calibration is None
    assert (np.diff(old.predict_quantiles(X, [0.1, 0.3, 0.9]), axis=1) >= 0).all()
    with pytest.raises(ValueError, match="this file is of an earlier version"):
        old.predict_quantiles(X, [0.05])
    with pytest.raises(ValueError, match="call calibrate"):
        old.predict_interval(X, 0.9)
    assert old.calibrate(X, Y).predict_interval(X, 0.8).shape == (80, 2)
    assert run(path).returncode == 0
