"""Offsets of classifiers, and exposure: an offset of its logarithm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralRegressor, load
from lambdak.optimize import predicted

RNG = np.random.default_rng(0)
ROWS = 400
X = pd.DataFrame({"age": RNG.uniform(-1, 1, ROWS), "wealth": RNG.uniform(-1, 1, ROWS)})
OFFSET = RNG.choice([-2.0, 0.0, 2.0], ROWS)
ODDS = 1.5 * X["age"].to_numpy() + OFFSET
Y = (RNG.random(ROWS) < 1 / (1 + np.exp(-ODDS))).astype(int)
YEARS = RNG.uniform(0.1, 2.0, ROWS)
CLAIMS = RNG.poisson(YEARS * np.exp(X["age"]))
QUICK = {"effort": "fast", "dim": 3, "n_estimators": 2, "max_iter": 8, "random_state": 0}


@pytest.fixture(scope="module")
def classifier():
    return SpectralClassifier(**QUICK).fit(X, Y, offset=OFFSET)


@pytest.fixture(scope="module")
def poisson():
    return SpectralRegressor("poisson", monotonic_cst={"age": 1}, **QUICK).fit(X, CLAIMS, exposure=YEARS)


def test_an_offset_of_a_classifier_is_not_learnt_again(classifier):
    plain = SpectralClassifier(**QUICK).fit(X, Y)
    oracle = LogisticRegression(C=1e6).fit(np.column_stack([X, OFFSET]), Y)
    own = classifier.decision_function(X)
    wanted = X.to_numpy() @ oracle.coef_[0, :2] + oracle.intercept_[0]
    assert np.corrcoef(own, wanted)[0, 1] > 0.9
    losses = [-np.log(model.predict_proba(X, offset=o)[np.arange(ROWS), Y]).mean()
              for model, o in ((classifier, OFFSET), (plain, None))]  # fmt: skip
    assert losses[0] < losses[1] - 0.05


def test_an_offset_is_added_to_the_log_odds_by_every_method(classifier, tmp_path):
    raw = classifier.decision_function(X)
    moved = classifier.decision_function(X, offset=OFFSET)
    assert (moved == raw + OFFSET).all()
    assert np.allclose(classifier.predict_proba(X, offset=OFFSET)[:, 1], 1 / (1 + np.exp(-moved)))
    assert (classifier.predict(X, offset=OFFSET) == (moved > 0)).all()
    assert classifier.score(X, Y, offset=OFFSET) == np.mean((moved > 0) == Y)
    row, predictor = tuple(X.iloc[0]), classifier.predictor()
    assert predictor.raw(row, offset=1.0) == raw[0] + 1.0
    assert predictor.predict_proba(row, offset=1)[1] == pytest.approx(1 / (1 + np.exp(-raw[0] - 1.0)))
    assert predictor.many([row], offset=50.0) == [1]
    classifier.save(tmp_path / "model.safetensors")
    assert (load(tmp_path / "model.safetensors").predict_proba(X, offset=1.0)
            == classifier.predict_proba(X, offset=1.0)).all()  # fmt: skip


def test_an_offset_moves_every_cut_point_of_ordered_classes_alike():
    y = np.digitize(ODDS - OFFSET + 0.3 * RNG.standard_normal(ROWS), [-0.5, 0.5])
    model = SpectralOrdinalClassifier(**QUICK).fit(X, y, offset=OFFSET)
    below, moved = (np.cumsum(model.predict_proba(X, offset=o), axis=1)[:, :-1] for o in (0.0, 1.0))
    odds = np.log(below / (1 - below))
    assert np.allclose(np.log(moved / (1 - moved)), odds + 1.0, atol=1e-6)
    row = tuple(X.iloc[0])
    assert np.allclose(np.subtract(model.predictor().raw(row, 1.0), model.predictor().raw(row)), 1.0)
    continued = model.partial_fit(X, y, offset=OFFSET)
    assert continued is model


def test_an_offset_of_several_classes_in_no_order_is_refused_with_the_way_out(classifier):
    y = np.arange(ROWS) % 3
    words = "one number per row moves the scores of all classes alike, which changes nothing: use two classes, or"
    with pytest.raises(ValueError, match=words):
        SpectralClassifier(**QUICK).fit(X, y, offset=OFFSET)
    model = SpectralClassifier(**QUICK).fit(X, y)
    for call in (model.predict, model.predict_proba, model.decision_function, model.predictor().many):
        with pytest.raises(ValueError, match=words):
            call([tuple(row) for row in X[:2].to_numpy()], offset=1.0)
    with pytest.raises(ValueError, match=r"offset must have \d+ entries"):
        classifier.predict(X, offset=OFFSET[:3])


def test_an_offset_changes_nothing_in_the_certificate(classifier):
    plain = SpectralClassifier(**QUICK).fit(X, Y, offset=np.zeros(ROWS))
    assert (plain.predict_proba(X) == SpectralClassifier(**QUICK).fit(X, Y).predict_proba(X)).all()
    assert [claim.statement for claim in classifier.certify().claims]


def test_exposure_is_an_offset_of_its_logarithm(poisson):
    other = SpectralRegressor("poisson", monotonic_cst={"age": 1}, **QUICK).fit(X, CLAIMS, offset=np.log(YEARS))
    assert (poisson.predict(X, exposure=YEARS) == other.predict(X, offset=np.log(YEARS))).all()
    assert np.allclose(poisson.predict(X, exposure=2.0), 2.0 * poisson.predict(X))
    assert poisson.score(X, CLAIMS, exposure=YEARS) == other.score(X, CLAIMS, offset=np.log(YEARS))
    row, predictor = tuple(X.iloc[0]), poisson.predictor()
    twice = 2.0 * predictor(row)
    assert predictor(row, exposure=2.0) == pytest.approx(twice) == predictor.many([row], exposure=[2.0])[0]
    assert np.exp(predictor.raw(row, exposure=2.0)) == pytest.approx(twice)
    wanted = poisson.inverse(X.iloc[0], "age", twice, exposure=2.0)
    assert wanted.value == poisson.inverse(X.iloc[0], "age", twice, offset=np.log(2.0)).value
    assert str(predicted(poisson, exposure=1.0)) == str(predicted(poisson))


def test_methods_that_take_an_offset_take_an_exposure(poisson):
    calls = (
        lambda **own: poisson.margin(X[:1], 1.0, ["age"], **own),
        lambda **own: poisson.counterfactual(X[:1], ("<=", 0.5), ["age"], **own),
    )
    for call in calls:
        assert str(call(exposure=YEARS[:1])) == str(call(offset=np.log(YEARS[:1])))


def test_partial_fit_and_validation_rows_take_exposures(poisson):
    a, b = (SpectralRegressor("poisson", **QUICK).partial_fit(X, CLAIMS, **own).partial_fit(X, CLAIMS, **own)
            for own in ({"exposure": YEARS}, {"offset": np.log(YEARS)}))  # fmt: skip
    assert (a.predict(X) == b.predict(X)).all()
    val = {"X_val": X, "y_val": CLAIMS}
    a, b = (SpectralRegressor("poisson", **QUICK).fit(X, CLAIMS, **val, **own)
            for own in ({"exposure": YEARS, "exposure_val": YEARS},
                        {"offset": np.log(YEARS), "offset_val": np.log(YEARS)}))  # fmt: skip
    assert (a.validation_curve_ == b.validation_curve_).all()
    with pytest.raises(ValueError, match="offset must be given with offset_val"):
        SpectralRegressor("poisson", **QUICK).fit(X, CLAIMS, exposure=YEARS, **val)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_an_exposure_that_is_not_positive_is_named_by_its_row(poisson, bad):
    years = np.where(np.isin(np.arange(ROWS), [4, 9]), bad, YEARS)
    words = r"exposure must be positive and finite; got \S+ at rows 4 and 9: correct these rows, or drop them"
    for call in (SpectralRegressor("poisson").fit, poisson.partial_fit, poisson.score):
        with pytest.raises(ValueError, match=words):
            call(X, CLAIMS, exposure=years)
    with pytest.raises(ValueError, match=words):
        poisson.predict(X, exposure=years)


def test_offset_and_exposure_together_are_refused_with_the_way_out(poisson):
    words = r"exposure and offset must not both be given.*: give offset=offset \+ np.log\(exposure\)"
    for call in (
        lambda: SpectralRegressor("poisson").fit(X, CLAIMS, offset=OFFSET, exposure=YEARS),
        lambda: poisson.predict(X, offset=OFFSET, exposure=YEARS),
        lambda: poisson.predictor()(tuple(X.iloc[0]), 1.0, 1.0),
        lambda: poisson.margin(X[:1], 1.0, offset=1.0, exposure=1.0),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_other_losses_refuse_an_exposure_with_a_sentence(classifier):
    words = (
        "exposure needs a loss with a log link, which are 'poisson', 'gamma' and 'tweedie'; got '{}': divide y by it"
    )
    with pytest.raises(ValueError, match=words.format("squared_error")):
        SpectralRegressor().fit(X, CLAIMS, exposure=YEARS)
    with pytest.raises(ValueError, match=words.format("log_loss")):
        classifier.margin(X[:1], 0.5, exposure=1.0)


def test_offsets_and_exposures_are_routed_as_metadata():
    with sklearn.config_context(enable_metadata_routing=True):
        model = SpectralRegressor("poisson", **QUICK)
        model.set_fit_request(exposure=True).set_score_request(exposure=True)
        found = cross_validate(model, X, CLAIMS, cv=2, params={"exposure": YEARS})
        assert np.isfinite(found["test_score"]).all()
        own = SpectralClassifier(**QUICK).set_fit_request(offset=True).set_score_request(offset=True)
        assert np.isfinite(cross_validate(own, X, Y, cv=2, params={"offset": OFFSET})["test_score"]).all()


def test_a_large_table_has_an_exposure_by_name(tmp_path):
    frame = X.assign(claims=CLAIMS, years=YEARS, log=np.log(YEARS), label=Y, shift=OFFSET)
    frame.to_parquet(tmp_path / "table.parquet")
    frame.drop(columns="log").to_parquet(tmp_path / "years.parquet")
    frame.drop(columns="years").to_parquet(tmp_path / "log.parquet")
    new = lambda: SpectralRegressor("poisson", **QUICK)  # noqa: E731
    a = new().fit(tmp_path / "years.parquet", "claims", exposure="years")
    b = new().fit(tmp_path / "log.parquet", "claims", offset="log")
    assert (a.model_.coef == b.model_.coef).all()
    with pytest.raises(ValueError, match="exposure needs a loss with a log link"):
        SpectralRegressor().fit(tmp_path / "years.parquet", "claims", exposure="years")
    labels = SpectralClassifier(**QUICK).fit(tmp_path / "log.parquet", "label", offset="shift")
    assert "shift" not in labels.feature_names_in_


def test_a_checkpoint_belongs_to_its_offsets(tmp_path):
    from lambdak.training.checkpoint import rows_digests
    from lambdak.training.rows import GivenRows

    one, two = (
        rows_digests(GivenRows(X, Y, None, OFFSET, validation=GivenRows(X, Y, None, own))) for own in (OFFSET, -OFFSET)
    )
    assert one["offset_val"] != two["offset_val"]
    assert one["offset"] == two["offset"]
