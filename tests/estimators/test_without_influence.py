"""A cap of zero takes all influence from a column."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor, load
from lambdak.certify import lambdak_check

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(size=200), "sex": RNG.choice(["f", "m"], 200), "pay": RNG.normal(size=200)})
X["code"] = RNG.choice([f"c{i}" for i in range(60)], 200)
Y = X["age"] + 2.0 * (X["sex"] == "m") + X["pay"] ** 2
QUICK = {"effort": "fast", "dim": 3, "n_estimators": 2, "max_iter": 4, "random_state": 0}
OTHER = X.assign(sex=X["sex"].map({"f": "m", "m": "f"}), code="c1")


@pytest.mark.parametrize(
    ("kind", "y"), [(SpectralRegressor, Y), (SpectralQuantileRegressor, Y), (SpectralClassifier, Y > 1)]
)
def test_a_cap_of_zero_takes_all_influence_from_columns(kind, y, tmp_path):
    model = kind(max_influence={"sex": 0, "code": 0.0}, **QUICK).fit(X, y)
    assert (model.predict(X) == model.predict(OTHER)).all()
    assert (model._raw(X) == model._raw(OTHER)).all()
    assert model.feature_strengths_[[1, 3]].tolist() == [0.0, 0.0]
    assert (model.feature_strengths_[[0, 2]] > 0).all()
    for exact in (False, True):
        claims = {claim.subject: claim for claim in model.certify(exact=exact).claims if claim.kind == "influence"}
        for name in ("sex", "code"):
            assert claims[name].proven
            assert claims[name].value == 0.0
            assert f"no swap of levels of {name} moves a raw score at all" in claims[name].statement
    model.save(tmp_path / "model.safetensors")
    done = subprocess.run([sys.executable, lambdak_check.__file__, tmp_path / "model.safetensors"], capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (load(tmp_path / "model.safetensors").predict(OTHER) == model.predict(X)).all()
    again = model.partial_fit(X, y)
    assert again.feature_strengths_[1] == 0.0


def test_a_group_with_a_cap_of_zero_and_a_monotone_column_without_influence():
    model = SpectralRegressor(max_influence={("age", "sex"): 0}, monotonic_cst={"age": 1}, **QUICK).fit(X, Y)
    assert (model.predict(X) == model.predict(OTHER.assign(age=0.0, code=X["code"]))).all()
    assert all(claim.proven for claim in model.certify().claims if claim.requested)


def test_a_cap_of_zero_for_all_columns_predicts_a_constant():
    model = SpectralRegressor(max_influence=0, **QUICK).fit(X, Y)
    assert np.ptp(model.predict(X)) == 0.0


def test_a_negative_cap_is_refused():
    with pytest.raises(ValueError, match="max_influence of column 'sex' must be a number that is not negative; got -1"):
        SpectralRegressor(max_influence={"sex": -1}, **QUICK).fit(X, Y)
