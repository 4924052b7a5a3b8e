"""Numbers so far beyond the training range that a column that continues straight cannot be computed with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak import shapes as s

RNG = np.random.default_rng(0)
X = pd.DataFrame({"mass": 1e-12 * RNG.standard_normal(60), "age": RNG.standard_normal(60)})
Y = 1e12 * X["mass"] + X["age"]
SETTINGS = {"effort": "fast", "max_iter": 3, "n_estimators": 2, "random_state": 0}
SHAPES = {
    "compared": [s.RisingAlong({"mass": 1.0, "age": 1.0})],
    "convex": [s.Convex("mass")],
    "in a range": [s.Convex("mass"), s.OutputRange(low=-9)],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("n_knots", ["auto", 0])
def test_a_finite_cell_gives_a_number_or_an_error_that_names_column_and_row(name, n_knots):
    model = SpectralRegressor(constraints=SHAPES[name], n_knots=n_knots, **SETTINGS).fit(X, Y)
    rows = pd.DataFrame({"mass": [1.0, 1e200, -1e250, 1e300], "age": [0.0, 1.0, 2.0, 3.0]})
    assert np.isfinite(model.predict(rows[:3])).all()
    words = "column 'mass' continues straight beyond its training range, and row {} has a number too far"
    with pytest.raises(ValueError, match=words.format(3)):
        model.predict(rows)
    for row in ({"mass": 1e300, "age": 3.0}, (1e300, 3.0)):
        with pytest.raises(ValueError, match=words.format(0)):
            model.predictor().predict(row)


def test_probabilities_of_cells_that_are_too_far_are_refused_too():
    model = SpectralClassifier(constraints=SHAPES["convex"], **SETTINGS).fit(X, Y > 0)
    far = pd.DataFrame({"mass": [1e300], "age": [0.0]})
    for predict in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match="column 'mass' continues straight"):
            predict(far)


def test_flat_columns_take_any_number():
    model = SpectralRegressor(constraints=[s.Rising("mass")], **SETTINGS).fit(X, Y)
    far = pd.DataFrame({"mass": [1e300, X["mass"].max()], "age": [0.0, 0.0]})
    assert np.ptp(model.predict(far)) == 0.0
