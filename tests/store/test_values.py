"""Settings of an estimator come back from a file."""

from __future__ import annotations

import os

import numpy as np
import pytest
from saved_cases import FRAME, LAW, NUMBERS, QUICK

import lambdak
from lambdak import SpectralRegressor


def test_settings_survive(tmp_path):
    given = {
        "monotonic_cst": {"income": np.int64(1)},
        "max_influence": [1.0, np.inf],
        "categorical_features": np.array([False, False]),
        "tol": np.float32(0.5),
        "n_jobs": 1,
        "random_state": np.int32(7),
    }
    model = SpectralRegressor(effort="fast", max_iter=1, dim=3, **given).fit(FRAME[["income", "age"]], LAW)
    model.save(tmp_path / "m")
    found = lambdak.load(tmp_path / "m").get_params()
    assert found["monotonic_cst"] == {"income": 1}
    assert found["max_influence"] == [1.0, np.inf]
    assert found["categorical_features"].dtype == bool
    assert (found["tol"], found["n_jobs"], found["random_state"]) == (0.5, 1, 7)
    assert {**model.get_params(), **given}.keys() == found.keys()


@pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.mtrand._rand])
def test_a_generator_is_kept_as_none(tmp_path, state):
    SpectralRegressor(**{**QUICK, "random_state": state}).fit(NUMBERS, LAW).save(tmp_path / "m")
    assert lambdak.load(tmp_path / "m").random_state is None


class _Count:
    """Counts as an int for ``fit``, but is none."""

    def __index__(self):
        return 0


def test_a_setting_that_json_cannot_hold_is_named(tmp_path):
    model = SpectralRegressor(**QUICK, verbose=_Count()).fit(NUMBERS, LAW)
    with pytest.raises(TypeError, match=r"verbose must be made of None, booleans, .* got _Count"):
        model.save(tmp_path / "m")
    assert os.listdir(tmp_path) == []
