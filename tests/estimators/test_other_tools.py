"""Partial dependence of scikit-learn and SHAP on integers, text and gaps, as the guide shows it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import PartialDependenceDisplay, partial_dependence

from lambdak import SpectralRegressor

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "estimators.md"
RNG = np.random.default_rng(0)
MIXED = pd.DataFrame({"age": RNG.integers(18, 80, 120), "bp": RNG.normal(size=120), "sex": RNG.choice(["f", "m"], 120)})
MIXED.loc[::10, "bp"] = np.nan
Y = MIXED["age"] / 20 + (MIXED["sex"] == "m")
FLOATS = MIXED.astype({"age": float})


@pytest.fixture(scope="module")
def reader():
    return SpectralRegressor(effort="fast", max_iter=3, dim=3, n_estimators=2, random_state=0).fit(MIXED, Y)


def test_partial_dependence_takes_text_gaps_and_integers_as_floats(reader):
    for name, settings in {"age": {}, "bp": {}, "sex": {"categorical_features": ["sex"]}}.items():
        found = partial_dependence(reader, FLOATS, [name], grid_resolution=4, **settings)
        for value, mean in zip(found["grid_values"][0], found["average"][0], strict=True):
            assert mean == pytest.approx(reader.predict(FLOATS.assign(**{name: value})).mean())


def test_integers_and_the_same_floats_are_predicted_alike(reader):
    assert (reader.predict(FLOATS) == reader.predict(MIXED)).all()


@pytest.mark.slow
def test_the_display_draws_all_kinds_of_columns(reader):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    PartialDependenceDisplay.from_estimator(
        reader, FLOATS, ["age", "bp", "sex"], categorical_features=["sex"], grid_resolution=4
    )
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_way_of_the_guide_to_shap_adds_up(reader):
    pytest.importorskip("shap", reason="SHAP is not installed")
    blocks = re.findall(r"^```py\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if "import shap" in block)
    exec(compile(block, str(GUIDE), "exec"), {"np": np, "pd": pd, "mixed": FLOATS, "reader": reader})
