"""An output is chosen by its label or its position, in the same way everywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitted_models import CUTS, SMALL, X, Y, fitted

from lambdak import SpectralClassifier
from lambdak.model.output_choice import output_labels, position_of
from lambdak.optimize import predicted

NAMES = np.array(["low", "middle", "high"])


@pytest.fixture(scope="module")
def named():
    y = NAMES[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
    return SpectralClassifier(**SMALL).fit(X[["income", "age"]], y), y


@pytest.mark.parametrize(
    ("labels", "output", "position"),
    [
        (["a", "b"], "b", 1),
        (["a", "b"], 0, 0),
        (["a", "b"], np.int64(1), 1),
        ([1, 2, 3], 1, 0),
        ([0.1, 0.9], 0.9, 1),
        ([0.1, 0.9], 0, 0),
        ([False, True], True, 1),
        ([1.0, 2.0], 2, 1),
    ],
)
def test_a_label_comes_first_and_a_position_second(labels, output, position):
    assert position_of(labels, output) == position


@pytest.mark.parametrize(
    ("labels", "output", "words"),
    [
        (["a", "b"], "c", r"output must be one of \['a', 'b'\], or its position in \[0, 2\); got 'c'"),
        (["a", "b"], 2, "got 2"),
        (["a", "b"], -1, "got -1"),
        ([1, 2, 3], 0, r"output must be one of \[1, 2, 3\]; got 0"),  # where numbers are labels, they are no positions
        (["a", "b"], np.array(["a", "b"]), "output must be one of"),
    ],
)
def test_what_names_no_output_is_refused(labels, output, words):
    with pytest.raises(ValueError, match=words):
        position_of(labels, output)


def test_what_outputs_are_called_by():
    assert output_labels(fitted("binary").model_) == ["no", "yes"]
    assert output_labels(fitted("ordinal").model_) == [0, 1, 2]
    assert output_labels(fitted("quantiles").model_) == [0.1, 0.5, 0.9]
    assert output_labels(fitted("poisson").model_) == []


def test_explanations_performance_and_drift_take_the_names_of_classes(named):
    model, y = named
    table = X[["income", "age"]]
    at = model.classes_.tolist().index("middle")
    assert model.explain_global(table, output="middle").output == "class 'middle'"
    assert model.explain_global(table, output=at).output == "class 'middle'"
    local = model.explain_local(table[:4], output="middle")
    assert set(local.output) == {"class 'middle'"}
    np.testing.assert_allclose(local.prediction, model.predict_proba(table[:4])[:, at], rtol=1e-9)
    by_name, by_position = (model.performance(table, y, output=own, n_resamples=0) for own in ("middle", at))
    assert by_name.scored.outcome.words == by_position.scored.outcome.words == "share of class 'middle'"
    drift = model.drift(table[:100], table[100:], output="middle")
    assert drift.mean_old == pytest.approx(model.predict_proba(table[:100])[:, at].mean())
    with pytest.raises(ValueError, match="output must be a class of"):
        model.explain_local(table[:1], output="none")


def test_the_other_one_of_two_classes_has_the_opposite_effects():
    model = fitted("binary")
    yes, no = (model.explain_global(X, output=own) for own in ("yes", "no"))
    assert (yes.output, no.output) == ("class 'yes'", "class 'no'")
    np.testing.assert_allclose(no["income"].effect, -yes["income"].effect, atol=1e-12)
    np.testing.assert_allclose(no["income"].low, -yes["income"].high, atol=1e-12)
    assert (yes["income"].sign, no["income"].sign) == (1, -1)
    local = model.explain_local(X[:5], output="no")
    np.testing.assert_allclose(local.prediction, model.predict_proba(X[:5])[:, 0], rtol=1e-9)
    np.testing.assert_allclose(local.attribution, -model.explain_local(X[:5]).attribution, atol=1e-6)
    assert model.explain_global(X, output=0).output == "class 'no'"  # positions count classes


def test_optimisers_take_positions_too():
    by_level, by_position = (predicted(fitted("quantiles"), own).products[0].predicted for own in (0.9, 2))
    assert by_level.output == by_position.output == 2
    both = [predicted(fitted("binary"), own) for own in ("no", 0)]
    assert both[0].constant == both[1].constant == 1.0


def test_numbers_that_are_labels_mean_the_labels():
    y = pd.Series(CUTS + 1)
    model = SpectralClassifier(**SMALL).fit(X[["income"]], y)
    assert model.explain_global(X[["income"]], output=1).output == "class 1"
    assert model.performance(X[["income"]], y, output=4, n_resamples=0).scored.outcome.words == "share of class 4"
