"""When training stops: early_stopping="auto", validation rows, and metrics by name.

Tests ``fit_arguments`` and ``training/scoring``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance, roc_auc_score

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["a", "b", "c"])
NOISE = 1000.0 + 50.0 * RNG.normal(size=300)
LAW = 1000.0 + 50.0 * X["a"].to_numpy()
QUICK = {"effort": "fast", "dim": 2, "n_estimators": 2, "random_state": 0}


def epochs(rows=300, **settings):
    """Of a fit to pure noise, which stops at once if it may."""
    given = {name: settings.pop(name) for name in ("X_val", "y_val", "eval_set") if name in settings}
    model = SpectralRegressor(**QUICK | {"max_iter": 30, "n_iter_no_change": 2} | settings)
    rng = np.random.default_rng(1)  # no row comes twice: copies among the rows left out make noise look like a law
    return model.fit(rng.normal(size=(rows, 3)), 1000.0 + 50.0 * rng.normal(size=rows), **given).n_iter_


def test_auto_stops_early_with_validation_rows_or_many_rows_only():
    assert epochs(early_stopping=False) == 30
    assert epochs(early_stopping=True) < 30
    assert epochs(early_stopping="auto") == 30
    assert epochs(early_stopping="auto", X_val=X.to_numpy()[:50], y_val=NOISE[150:200]) < 30


@pytest.mark.slow
def test_auto_stops_early_from_ten_thousand_rows_on():
    assert epochs(10_000, early_stopping="auto") == 30
    assert epochs(10_001, early_stopping="auto") < 30


def test_other_words_than_auto_are_refused():
    with pytest.raises(ValueError, match="early_stopping must be True, False or 'auto'; got 'yes'"):
        epochs(early_stopping="yes")


def test_eval_set_is_a_pair_of_validation_rows():
    given = [
        {"X_val": X[200:], "y_val": LAW[200:]},
        {"eval_set": (X[200:], LAW[200:])},
        {"eval_set": [(X[200:], LAW[200:])]},
    ]
    models = [SpectralRegressor(max_iter=3, **QUICK).fit(X[:200], LAW[:200], **own) for own in given]
    for model in models[1:]:
        assert (model.validation_curve_ == models[0].validation_curve_).all()
    with pytest.raises(ValueError, match="eval_set and X_val must not both be given"):
        SpectralRegressor().fit(X, LAW, eval_set=(X, LAW), X_val=X, y_val=LAW)
    with pytest.raises(ValueError, match="eval_set must be one pair"):
        SpectralRegressor().fit(X, LAW, eval_set=[(X, LAW), (X, LAW)])
    with pytest.raises(ValueError, match="sample_weight_val must be given with X_val and y_val"):
        SpectralRegressor().fit(X, LAW, sample_weight_val=np.ones(300))


def test_validation_rows_have_weights_of_their_own():
    def curve(rows, **own):
        model = SpectralRegressor(max_iter=3, **QUICK)
        return model.fit(X[:200], LAW[:200], X_val=X.iloc[rows], y_val=LAW[rows], **own).validation_curve_

    every, half = np.arange(200, 300), np.arange(200, 250)
    np.testing.assert_allclose(curve(every, sample_weight_val=every < 250), curve(half), rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "own", "wrong"),
    [
        (SpectralRegressor, {"y_val": LAW[:0], "X_val": X[:0]}, "y_val must have at least one row; got none"),
        (SpectralRegressor, {"y_val": np.full(300, np.nan)}, "y_val must be finite .* got nan at rows 0"),
        (SpectralClassifier, {"y_val": LAW[:0] > 0, "X_val": X[:0]}, "y_val must have at least one row; got none"),
        (SpectralRegressor, {"sample_weight_val": np.zeros(300)}, "sample_weight_val must have a positive entry"),
        (
            SpectralRegressor,
            {"sample_weight_val": np.ones(5)},
            "sample_weight_val must .* one per row of X_val",
        ),
        (SpectralRegressor, {"offset_val": np.ones(300)}, "offset_val must be given with offset"),
    ],
)
def test_errors_name_the_validation_rows(kind, own, wrong):
    y = LAW > 1000 if kind is SpectralClassifier else LAW
    with pytest.raises(ValueError, match=wrong):
        kind(**QUICK).fit(X, y, **{"X_val": X, "y_val": y} | own)


def test_a_metric_by_name_is_that_of_scikit_learn_in_the_units_of_the_target():
    """Of one member that is not refitted, the last epoch is the model, if it was the best one."""
    one = QUICK | {"n_estimators": 1, "max_iter": 3}
    val = {"X_val": X[200:], "y_val": LAW[200:]}
    model = SpectralRegressor(scoring="neg_mean_absolute_error", **one).fit(X[:200], LAW[:200], **val)
    assert model.train_score_.shape == model.validation_score_.shape == (3, 1) == model.loss_curve_.shape
    assert model.validation_curve_[-1] == model.validation_curve_.min()
    wanted = -mean_absolute_error(LAW[200:], model.predict(X[200:]))
    assert model.validation_score_[-1, 0] == pytest.approx(wanted, rel=0.1)
    trained = -mean_absolute_error(LAW[:200], model.predict(X[:200]))
    assert model.train_score_[-1, 0] == pytest.approx(trained, rel=0.1)


@pytest.mark.parametrize(
    ("kind", "settings", "y", "scoring"),
    [
        (SpectralClassifier, {}, LAW > 1000, "roc_auc"),
        (SpectralClassifier, {}, np.array(["x", "y", "z"])[np.digitize(LAW, [980, 1020])], "accuracy"),
        (SpectralOrdinalClassifier, {}, np.digitize(LAW, [980, 1020]), "neg_log_loss"),
        (SpectralQuantileRegressor, {}, LAW, "r2"),
        (SpectralRegressor, {"loss": "poisson"}, np.round(LAW / 1e6, 6), "neg_mean_poisson_deviance"),
    ],
)
def test_every_estimator_has_curves_of_a_metric(kind, settings, y, scoring):
    model = kind(scoring=scoring, max_iter=8, **QUICK, **settings).fit(X, y, np.linspace(0.5, 1.5, 300))
    assert model.validation_score_.shape == (8, 2)
    own = {
        "roc_auc": lambda: roc_auc_score(y, model.predict_proba(X)[:, 1]),
        "neg_log_loss": lambda: np.log(model.predict_proba(X)[np.arange(300), y]).mean(),
        "neg_mean_poisson_deviance": lambda: -mean_poisson_deviance(y, model.predict(X)),
    }.get(scoring, lambda: model.score(X, y))()
    assert model.train_score_[-1].mean() == pytest.approx(own, abs=0.15 * max(1.0, abs(own)))
    assert model.train_score_[-1].mean() > model.train_score_[0].mean() - 1e-9


def test_the_metric_decides_when_training_stops():
    settings = QUICK | {"max_iter": 40, "early_stopping": True, "n_iter_no_change": 2}
    model = SpectralClassifier(scoring="accuracy", **settings).fit(X, LAW > 1000)
    score = model.validation_score_
    assert model.n_iter_ < 40
    best = np.maximum.accumulate(score, axis=0)
    assert not (score[-2:] > best[-3]).any()


def test_the_loss_has_scores_too_and_unknown_metrics_are_refused():
    model = SpectralRegressor(max_iter=2, **QUICK).fit(X, LAW)
    assert (model.validation_score_ == -model.validation_curve_).all()
    with pytest.raises(
        ValueError, match=r"scoring must be 'loss' or a metric .* got 'roc_aucc'. Did you mean 'roc_auc"
    ):
        SpectralRegressor(scoring="roc_aucc", **QUICK).fit(X, LAW)
    with pytest.raises(ValueError, match="scoring='roc_auc' cannot measure this model"):
        SpectralRegressor(scoring="roc_auc", max_iter=1, **QUICK).fit(X, LAW)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_a_metric_that_validation_rows_cannot_have_is_refused():
    with pytest.raises(ValueError, match="scoring='r2' has no value on the validation rows"):
        SpectralRegressor(scoring="r2", max_iter=2, **QUICK).fit(X, LAW, X_val=X[:1], y_val=LAW[:1])


def test_a_metric_counts_the_offset_of_a_row():
    offset = 40.0 * X["b"].to_numpy()
    settings = QUICK | {"n_estimators": 1, "validation_fraction": 0.0}
    model = SpectralRegressor(scoring="r2", max_iter=5, **settings).fit(X, LAW + offset, offset=offset)
    assert model.train_score_[-1, 0] == pytest.approx(model.score(X, LAW + offset, offset=offset), abs=1e-3)
    assert model.score(X, LAW + offset, offset=offset) - model.score(X, LAW) > 1e-2  # both would be the same otherwise


def test_a_large_table_refuses_a_metric(tmp_path):
    X.assign(y=LAW).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="scoring must be 'loss' with a large table"):
        SpectralRegressor(scoring="r2", **QUICK).fit(tmp_path / "x.parquet", "y")
