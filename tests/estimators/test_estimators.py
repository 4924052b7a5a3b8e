"""The estimators: scikit-learn's manners, accuracy, guarantees that hold on every row, and errors that help."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.eigen.packing import sym

ALL = [SpectralRegressor, SpectralClassifier, SpectralQuantileRegressor, SpectralOrdinalClassifier]


@pytest.mark.slow
@parametrize_with_checks([kind(effort="fast", max_iter=4, random_state=0) for kind in ALL])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    """A mixed table with a known law: an interaction, a category, gaps, and a rising column."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame(
        {
            "income": rng.gamma(2, 2, n),
            "age": rng.uniform(18, 80, n),
            "noise": rng.standard_normal(n),
            "region": pd.Categorical(rng.choice(["north", "south", "west"], n)),
        }
    )
    lift = frame["region"].map({"north": 0.0, "south": 1.0, "west": -1.0}).astype(float).to_numpy()
    law = np.sqrt(frame["income"]) * (1 + lift) + np.sin(frame["age"] / 8)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    y = (law + 0.2 * rng.standard_normal(n)).to_numpy()
    return frame, y


@pytest.mark.slow
def test_regressor_finds_an_interaction_that_a_linear_model_cannot(table):
    X, y = table
    model = SpectralRegressor(random_state=0).fit(X[:2000], y[:2000])
    linear = LinearRegression().fit(pd.get_dummies(X[:2000]).fillna(50), y[:2000])
    ours = model.score(X[2000:], y[2000:])
    assert ours > 0.88
    assert ours > linear.score(pd.get_dummies(X[2000:]).fillna(50), y[2000:]) + 0.1


def random_pairs(X, column, rng, n=20_000):
    """Random rows, twice: only `column` differs, and is larger in the second."""
    rows = X.iloc[rng.integers(0, len(X), n)].reset_index(drop=True)
    spread = np.nanmax(X[column]) - np.nanmin(X[column])
    ends = np.sort(
        rng.uniform(np.nanmin(X[column]) - 0.2 * spread, np.nanmax(X[column]) + 0.2 * spread, (n, 2)), axis=1
    )
    return rows.assign(**{column: ends[:, 0]}), rows.assign(**{column: ends[:, 1]})


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_columns_hold_on_random_pairs(table, sign):
    X, y = table
    rng = np.random.default_rng(1)
    # asked against the data for -1: a guarantee does not depend on what the data say
    model = SpectralRegressor(monotonic_cst={"income": sign, "age": sign}, effort="fast", random_state=0).fit(X, y)
    for column in ("income", "age"):
        low, high = random_pairs(X, column, rng)
        assert (sign * (model.predict(high) - model.predict(low)) >= -1e-5).all(), column
    if sign == 1:
        assert model.score(X, y) > 0.6


def test_monotone_pencils_are_semidefinite_from_knot_to_knot(table):
    X, y = table
    model = SpectralRegressor(monotonic_cst={"income": 1}, effort="fast", random_state=0).fit(X, y)
    column = model.model_.encoder.columns[0]
    for pencil in model.model_.pencils:
        steps = np.diff(pencil.matrices[column.start : column.start + len(column.knots)].astype(np.float64), axis=0)
        assert np.linalg.eigvalsh(steps).min() > -1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "sign"), [("convex", 1), ("concave", -1)])
def test_shaped_models_are_convex_or_concave_on_random_segments(shape, sign):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (1500, 3))
    y = sign * (np.abs(X[:, 0] + X[:, 1]) + X[:, 2] ** 2) + 0.05 * rng.standard_normal(1500)
    model = SpectralRegressor(shape=shape, dim=9, effort="fast", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    a, b = rng.uniform(-4, 4, (2, 5000, 3))
    t = rng.uniform(0, 1, (5000, 1))
    chord = t[:, 0] * model.predict(a) + (1 - t[:, 0]) * model.predict(b)
    assert (sign * (chord - model.predict(t * a + (1 - t) * b)) >= -1e-4).all()


def test_feature_strengths_bound_every_change_of_a_column(table):
    X, y = table
    rng = np.random.default_rng(3)
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    strengths = dict(zip(X.columns, model.feature_strengths_, strict=True))
    for column in X.columns:
        other = X.iloc[rng.permutation(len(X))].reset_index(drop=True)
        change = model.predict(X.reset_index(drop=True).assign(**{column: other[column]})) - model.predict(X)
        assert np.abs(change).max() <= strengths[column] + 1e-4
    assert strengths["noise"] < strengths["income"]


def test_an_unseen_level_is_the_average_level_and_stays_within_the_bound(table):
    X, y = table
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y)
    seen = np.stack([model.predict(X.assign(region=level)) for level in ("north", "south", "west")])
    unseen = model.predict(X.assign(region="east"))
    assert (unseen > seen.min(axis=0) - 1e-3).mean() > 0.95
    assert (unseen < seen.max(axis=0) + 1e-3).mean() > 0.95
    assert np.abs(unseen - seen).max() <= model.feature_strengths_[3] * (1 + 1e-5)


def test_continuing_with_other_settings_is_refused(table):
    X, y = table
    model = SpectralRegressor(effort="fast", warm_start=True, max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators must stay 1 where training continues; got 2"):
        model.set_params(n_estimators=2).fit(X, y)


def test_warm_start_goes_on_and_gets_better(table):
    X, y = table
    model = SpectralRegressor(effort="fast", warm_start=True, max_iter=2, random_state=0).fit(X[:2000], y[:2000])
    before, knots = model.score(X[2000:], y[2000:]), model.model_.encoder
    model.set_params(max_iter=8).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > before
    assert model.model_.encoder is knots


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_partial_fit_learns_from_one_piece_after_the_other(table, kind):
    X, y = table
    target = np.digitize(y, np.quantile(y, [0.3, 0.7])) if "Classifier" in kind.__name__ else y
    pieces = [slice(start, start + 500) for start in range(0, 2500, 500)]
    model, alone = (kind(effort="fast", random_state=0).fit(X[pieces[0]], target[pieces[0]]) for _ in range(2))
    for piece in pieces[1:]:
        model.partial_fit(X[piece], target[piece])
    assert model.score(X[2500:], target[2500:]) > alone.score(X[2500:], target[2500:])


def test_partial_fit_of_a_classifier_can_name_classes_that_come_later(table):
    X, y = table
    target = (y > np.median(y)).astype(int)
    few = np.flatnonzero(target == 0)[:300]
    model = SpectralClassifier(effort="fast", random_state=0).partial_fit(X.iloc[few], target[few], classes=[0, 1])
    model.partial_fit(X, target)
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"y must hold known classes; got .*2.* at row 0"):
        model.partial_fit(X, target + 2)


def test_class_weight_is_the_weight_of_the_rows_of_a_class(table):
    X, y = table
    target = np.where(y > np.quantile(y, 0.9), "rare", "usual")
    settings = {"effort": "fast", "max_iter": 5, "random_state": 0}
    weighted = SpectralClassifier(class_weight={"rare": 4.0, "usual": 1.0}, **settings).fit(X, target)
    rows = SpectralClassifier(**settings).fit(X, target, np.where(target == "rare", 4.0, 1.0))
    np.testing.assert_array_equal(weighted.predict_proba(X), rows.predict_proba(X))
    balanced = SpectralClassifier(class_weight="balanced", **settings).fit(X, target)
    plain = SpectralClassifier(**settings).fit(X, target)
    assert (balanced.predict(X) == "rare").mean() > 1.2 * (plain.predict(X) == "rare").mean()


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0.5, {"income": 0.3}])
def test_max_influence_is_never_exceeded(table, cap):
    X, y = table
    model = SpectralRegressor(effort="fast", max_influence=cap, random_state=0).fit(X, y)
    limits = np.full(4, cap) if isinstance(cap, float) else np.array([0.3, np.inf, np.inf, np.inf])
    assert (model.feature_strengths_ <= limits).all()
    assert model.feature_strengths_[0] > 0.9 * limits[0]  # the cap is used, not avoided
    low, high = (model.predict(X.assign(income=value)) for value in (0.0, 30.0))
    assert np.abs(high - low).max() <= limits[0]


@pytest.mark.slow
def test_alpha_makes_noise_columns_exactly_zero(table):
    X, y = table
    rng = np.random.default_rng(1)
    noisy = X.assign(**{f"noise{i}": rng.standard_normal(len(X)) for i in range(10)})
    model = SpectralRegressor(effort="fast", alpha=1.0, random_state=0).fit(noisy, y)
    zero = model.feature_strengths_ == 0
    assert zero[4:].all()
    assert not zero[[0, 1, 3]].any()


def test_n_jobs_leaves_the_model_and_the_thread_count_as_they_were(table):
    X, y = table
    before = lambdak.get_num_threads()
    one, two = (SpectralRegressor(effort="fast", max_iter=3, n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.model_.coef, two.model_.coef)
    assert lambdak.get_num_threads() == before


def test_quantiles_never_cross_and_cover_what_they_should():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (4000, 2))
    y = X[:, 0] + (0.3 + np.abs(X[:, 1])) * rng.standard_normal(4000)
    levels = (0.1, 0.5, 0.9)
    model = SpectralQuantileRegressor(levels, effort="fast", random_state=0).fit(X[:3000], y[:3000])
    far = rng.uniform(-10, 10, (20_000, 2))
    assert (np.diff(model.predict_quantiles(far), axis=1) >= 0).all()
    below = (y[3000:, None] <= model.predict_quantiles(X[3000:])).mean(axis=0)
    np.testing.assert_allclose(below, levels, atol=0.06)
    assert np.array_equal(model.predict_interval(X), model.predict_quantiles(X)[:, [0, 2]])
    assert np.array_equal(model.predict(X), model.predict_quantiles(X)[:, 1])
    width = np.diff(model.predict_interval(np.array([[0.0, 0.0], [0.0, 2.0]])), axis=1)[:, 0]
    assert width[1] > 1.5 * width[0]


def test_steps_from_quantile_to_quantile_are_semidefinite(table):
    X, y = table
    model = SpectralQuantileRegressor((0.1, 0.3, 0.5, 0.9), effort="fast", n_estimators=3, random_state=0).fit(X, y)
    for pencil in model.model_.pencils:
        for step in np.diff(pencil.packed[-4:], axis=0):
            assert np.linalg.eigvalsh(sym(step)).min() > -1e-12


@pytest.mark.slow
def test_several_quantiles_of_one_model_are_as_good_as_separate_models(table):
    X, y = table
    levels = (0.1, 0.5, 0.9)
    together = SpectralQuantileRegressor(levels, random_state=0).fit(X[:2000], y[:2000]).predict_quantiles(X[2000:])
    losses = []
    for q, predicted in zip(levels, together.T, strict=True):
        alone = SpectralRegressor("quantile", quantile=q, random_state=0).fit(X[:2000], y[:2000]).predict(X[2000:])
        losses.append([np.maximum(q * e, (q - 1) * e).mean() for e in (y[2000:] - predicted, y[2000:] - alone)])
    joint, separate = np.mean(losses, axis=0)
    assert joint < 1.1 * separate


@pytest.mark.slow
def test_classifiers_reach_the_usual_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    assert cross_val_score(SpectralClassifier(effort="fast", random_state=0), X, y, cv=3).mean() > 0.94
    X, y = load_wine(return_X_y=True)
    assert cross_val_score(SpectralClassifier(effort="fast", random_state=0), X, y, cv=3).mean() > 0.93


def test_ordinal_probabilities_are_a_distribution_and_rise_with_a_monotone_column():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (2000, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(2000), [-1, 0, 1])
    model = SpectralOrdinalClassifier(monotonic_cst=[1, 0], effort="fast", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert (p >= 0).all()
    low, high = (np.column_stack([np.full(500, x), rng.uniform(-2, 2, 500)]) for x in (-0.7, 0.9))
    high[:, 1] = low[:, 1]
    at_most = [np.cumsum(model.predict_proba(part), axis=1) for part in (low, high)]
    assert (at_most[1] <= at_most[0] + 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
)
def test_every_loss_beats_the_constant(loss):
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (1500, 2))
    y = rng.poisson(np.exp(1 + X[:, 0])) + (1.0 if loss == "gamma" else 0.0)
    model = SpectralRegressor(loss, effort="fast", random_state=0).fit(X, y)
    constant = model.model_.loss.value(np.full((1, len(y)), model.model_.start[0]), y.astype(float))[0]
    fitted = model.model_.loss.value(model._raw(X)[None], y.astype(float))[0]
    assert fitted < 0.97 * constant


def test_offset_is_added_to_the_raw_score():
    rng = np.random.default_rng(7)
    X, exposure = rng.uniform(-1, 1, (2000, 1)), rng.uniform(0.1, 2, 2000)
    y = rng.poisson(exposure * np.exp(X[:, 0]))
    model = SpectralRegressor("poisson", effort="fast", random_state=0).fit(X, y, offset=np.log(exposure))
    np.testing.assert_allclose(model.predict(X, offset=np.log(exposure)), exposure * model.predict(X), rtol=1e-4)
    rate = model.predict(np.array([[-0.5], [0.5]]))
    np.testing.assert_allclose(rate, np.exp([-0.5, 0.5]), rtol=0.15)


def test_weights_decide_between_contradicting_rows():
    X = np.tile([[0.0], [1.0]], (300, 1))
    y = np.concatenate([np.tile([0.0, 1.0], 150), np.tile([1.0, 0.0], 150)])
    weight = np.repeat([10.0, 0.1], 300)
    model = SpectralRegressor(effort="fast", random_state=0).fit(X, y, sample_weight=weight)
    assert np.diff(model.predict([[0.0], [1.0]]))[0] > 0.8


def test_same_seed_gives_the_same_model_whatever_the_threads(table):
    X, y = table
    before = lambdak.get_num_threads()
    predictions = []
    try:
        for threads in (1, 2, 3):
            lambdak.set_num_threads(threads)
            predictions.append(SpectralRegressor(effort="fast", max_iter=3, random_state=0).fit(X, y).predict(X))
    finally:
        lambdak.set_num_threads(before)
    assert np.array_equal(predictions[0], predictions[1])
    assert np.array_equal(predictions[0], predictions[2])
    other = SpectralRegressor(effort="fast", max_iter=3, random_state=1).fit(X, y).predict(X)
    assert not np.array_equal(predictions[0], other)


@pytest.mark.slow
def test_a_single_pencil_predicts_what_the_model_predicts():
    X, y = load_diabetes(return_X_y=True)
    model = SpectralRegressor(n_estimators=1, effort="fast", random_state=0).fit(X, y)
    (pencil,) = model.model_.pencils
    assert model.model_.weights.tolist() == [1.0]
    rows = model.model_.encoder.transform(X).to_sparse(model.model_.encoder.n_design).toarray()[:, 1:]
    np.testing.assert_allclose(model.model_.start[0] + model.model_.scale * pencil(rows), model.predict(X), rtol=1e-4)


def test_members_are_a_convex_combination(table):
    X, y = table
    model = SpectralRegressor(effort="fast", n_estimators=4, max_iter=3, random_state=0).fit(X, y)
    assert 1 <= len(model.model_.weights) <= 4
    assert len(model.model_.pencils) == len(model.model_.weights)
    assert (model.model_.weights > 0).all()
    assert model.model_.weights.sum() == pytest.approx(1)
    assert model.loss_curve_.shape == model.validation_curve_.shape == (3, 4)


def test_estimators_work_inside_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    model = SpectralRegressor(effort="fast", max_iter=3, random_state=0)
    search = GridSearchCV(make_pipeline(FunctionTransformer(), model), {"spectralregressor__dim": [3, 5]}, cv=2).fit(
        X, y
    )
    assert search.best_estimator_.predict(X).shape == y.shape
    X, y = load_breast_cancer(return_X_y=True)
    calibrated = CalibratedClassifierCV(SpectralClassifier(effort="fast", max_iter=3, random_state=0), cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    fitted = model.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert clone(fitted).get_params() == fitted.get_params()


def test_interrupting_a_fit_keeps_the_best_models_so_far(table, monkeypatch, capsys):
    X, y = table
    from lambdak.training.trainer import Trainer

    whole = Trainer.run

    def interrupted(self, schedule):
        for event in whole(self, schedule):
            yield event
            if event.epoch == 2 and self.parameters.dim == 9:
                raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "run", interrupted)
    model = SpectralRegressor(effort="fast", dim=9, verbose=1, random_state=0).fit(X, y)
    assert model.n_iter_ == 2
    assert np.isfinite(model.predict(X)).all()
    assert "keeping the best models after 2 epochs" in capsys.readouterr().out


def test_validation_rows_of_the_user_are_used(table):
    X, y = table
    model = SpectralRegressor(effort="fast", early_stopping=True, n_iter_no_change=2, random_state=0)
    model.fit(X[:2000], y[:2000], X_val=X[2000:], y_val=y[2000:])
    assert model.validation_curve_.min() > 0
    assert model.score(X[2000:], y[2000:]) > 0.8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"effort": "heroic"}, r"effort must be one of \['balanced', 'best', 'fast'\]; got 'heroic'"),
        ({"loss": "mse"}, "squared_error"),
        ({"dim": 0}, r"dim must be in \[1, 129\); got 0"),
        ({"dim": 5, "eig_idx": 5}, r"eig_idx must be in \[0, 5\); got 5"),
        ({"shape": "round"}, "shape must be None, 'convex' or 'concave'; got 'round'"),
        ({"monotonic_cst": {"incme": 1}}, r"monotonic_cst names columns that X does not have: \['incme'\]"),
        ({"monotonic_cst": {"region": 1}}, "column 'region' must be 0, because it is a category"),
        ({"monotonic_cst": {"income": 2}}, "column 'income' must be -1, 0 or 1; got 2"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst must have 4 entries, one per column; got 2"),
        ({"monotonic_cst": "upwards"}, "monotonic_cst must be 'increasing', 'decreasing', a dict or an array"),
        ({"n_estimators": 0}, r"n_estimators must be in \[1, 65\); got 0"),
    ],
)
def test_bad_settings_are_named(table, settings, message):
    with pytest.raises(ValueError, match=message):
        SpectralRegressor(**settings).fit(*table)


def test_bad_targets_weights_and_offsets_are_named(table):
    X, y = table
    with pytest.raises(ValueError, match="poisson"):
        SpectralRegressor("poisson").fit(X, y - 100)
    with pytest.raises(ValueError, match="y must have 3000 entries"):
        SpectralRegressor().fit(X, y[:10])
    with pytest.raises(ValueError, match=r"offset must have shape \(3000,\)"):
        SpectralRegressor().fit(X, y, offset=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight must be finite; got nan at row 2"):
        SpectralRegressor().fit(X, y, sample_weight=np.where(np.arange(3000) == 2, np.nan, 1.0))
    with pytest.raises(ValueError, match="SpectralOrdinalClassifier"):
        SpectralClassifier(monotonic_cst={"income": 1}).fit(X, np.arange(3000) % 3)
    with pytest.raises(ValueError, match="at least two classes"):
        SpectralClassifier().fit(X, np.zeros(3000))
    with pytest.raises(ValueError, match="dim must be at least 4"):
        SpectralOrdinalClassifier(dim=3).fit(X, np.arange(3000) % 5)


def test_bad_validation_rows_and_weights_are_named(table):
    X, y = table
    labels = np.where(y > y.mean(), "b", "a")
    with pytest.raises(ValueError, match=r"y_val must hold known classes; got .*'c'.* at row 1: they are \['a', 'b'\]"):
        SpectralClassifier().fit(X, labels, X_val=X[:2], y_val=["a", "c"])
    with pytest.raises(ValueError, match="y_val must have 2 entries, one per row of X_val; got 3"):
        SpectralRegressor().fit(X, y, X_val=X[:2], y_val=y[:3])
    for estimator, target in (
        (SpectralRegressor(), y),
        (SpectralQuantileRegressor(), y),
        (SpectralClassifier(), labels),
    ):
        with pytest.raises(ValueError, match="X_val and y_val must be given together; got X_val without y_val"):
            estimator.fit(X, target, X_val=X[:5])
        with pytest.raises(ValueError, match="X_val and y_val must be given together; got y_val without X_val"):
            estimator.fit(X, target, y_val=target[:5])
    with pytest.raises(ValueError, match="X_val cannot be given with an offset"):
        SpectralRegressor().fit(X, y, offset=np.zeros(3000), X_val=X[:5], y_val=y[:5])
    with pytest.raises(ValueError, match=r"sample_weight must not be negative; got -1\.0 at row 2"):
        SpectralRegressor().fit(X, y, sample_weight=np.where(np.arange(3000) == 2, -1.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight must have a positive entry"):
        SpectralRegressor().fit(X, y, sample_weight=np.zeros(3000))


def test_weights_are_routed_through_pipelines_and_searches(table):
    X, y = table
    weight = np.where(X["income"] > 4, 3.0, 1.0)
    settings = {"effort": "fast", "max_iter": 3, "random_state": 0}
    with sklearn.config_context(enable_metadata_routing=True):
        model = SpectralRegressor(**settings).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"alpha": [0.0]}, cv=2).fit(X, y, sample_weight=weight)
    direct = SpectralRegressor(**settings).fit(X, y, weight).predict(X)
    np.testing.assert_array_equal(pipeline.predict(X), direct)
    np.testing.assert_array_equal(search.predict(X), direct)


def test_names_of_a_transformer_with_set_output_reach_the_model(table):
    X, y = table
    scaled = ColumnTransformer([("numbers", StandardScaler(), ["income", "age"])], remainder="passthrough")
    pipeline = make_pipeline(scaled, SpectralRegressor(effort="fast", max_iter=3, random_state=0))
    pipeline.set_output(transform="pandas").fit(X, y)
    names = ["numbers__income", "numbers__age", "remainder__noise", "remainder__region"]
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert pipeline[-1].model_.encoder.columns[3].kind == "category"


def test_intervals_of_mapie_cover_what_they_should(table):
    regression = pytest.importorskip("mapie.regression")
    X, y = table
    model = SpectralRegressor(effort="fast", random_state=0).fit(X[:1500], y[:1500])
    conformal = regression.SplitConformalRegressor(model, confidence_level=0.9, prefit=True)
    conformal.conformalize(X[1500:2300], y[1500:2300])
    _, intervals = conformal.predict_interval(X[2300:])
    low, high = intervals[:, 0, 0], intervals[:, 1, 0]
    assert 0.85 < np.mean((low <= y[2300:]) & (y[2300:] <= high)) < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error"])
def test_units_of_the_target_do_not_matter(table, loss):
    X, y = table
    settings = {"effort": "fast", "max_iter": 5, "random_state": 0}
    plain = SpectralRegressor(loss, **settings).fit(X, y).score(X, y)
    for unit, shift in ((1e-12, 0.0), (1e12, 0.0), (1.0, 1e8), (1e30, 0.0)):
        other = SpectralRegressor(loss, **settings).fit(X, unit * y + shift)
        assert other.score(X, unit * y + shift) == pytest.approx(plain, abs=0.02)


def test_a_fit_that_fails_or_is_interrupted_leaves_the_model_as_it_was(table, monkeypatch):
    X, y = table
    model = SpectralRegressor(effort="fast", max_iter=2, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="zz"):
        model.set_params(monotonic_cst={"zz": 1}).fit(X, 50 * y)
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(NotFittedError):
        SpectralRegressor().predict(X)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("lambdak.training.trainer.Trainer.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(monotonic_cst=None).fit(X, 50 * y)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("change", [{"monotonic_cst": {"income": -1}}, {"alpha": 3.0}, {"loss": "huber"}])
def test_going_on_refuses_what_it_cannot_change(table, change):
    X, y = table
    model = SpectralRegressor(effort="fast", max_iter=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"{next(iter(change))} must stay"):
        model.set_params(**change).fit(X, y)


def test_partial_fit_on_a_row_does_not_shift_the_quantiles_of_others(table):
    X, y = table
    model = SpectralQuantileRegressor((0.1, 0.5, 0.9), effort="fast", random_state=0).fit(X, y)
    before = model.predict_quantiles(X)
    after = model.partial_fit(X[:1], y[:1] + 30).predict_quantiles(X)
    assert np.abs(after - before).mean() < 0.5


def test_a_class_of_weight_zero_does_not_count(table):
    X, y = table
    target = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = SpectralClassifier(effort="fast", max_iter=2, random_state=0).fit(X, target, (target != 1) * 1.0)
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="at least two classes"):
        SpectralClassifier().fit(X, target, (target == 1) * 1.0)


def test_levels_of_another_type_are_refused_by_name():
    X = pd.DataFrame({"code": ["0", "1", "2"] * 20})
    model = SpectralRegressor(effort="fast", max_iter=1).fit(X, np.arange(60.0))
    with pytest.raises(ValueError, match="column 'code' must hold strings, as in training; got 0"):
        model.predict(X.astype(int))


def test_ordinal_classifiers_make_room_for_many_classes(table):
    X, y = table
    target = np.digitize(y, np.quantile(y, np.linspace(0.08, 0.92, 12)))
    model = SpectralOrdinalClassifier(effort="fast", max_iter=2, random_state=0).fit(X, target)
    assert model.predict_proba(X).shape == (len(X), 13)


def test_convex_models_of_straight_columns_predict_in_double_precision(table):
    X, y = table
    model = SpectralRegressor(shape="convex", n_knots=0, dim=5, effort="fast", max_iter=2).fit(
        X[["income", "noise"]], y
    )
    assert model.model_.coef.dtype == np.float64


@pytest.mark.parametrize("shape", ["convex", "concave"])
def test_a_shape_is_refused_where_several_eigenvalues_cannot_hold_it(table, shape):
    X, y = table
    settings = {"shape": shape, "effort": "fast", "max_iter": 1, "random_state": 0}
    cuts = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    with pytest.raises(
        ValueError, match=rf"shape must be None for 3 ordered classes; got '{shape}': .*SpectralClassifier"
    ):
        SpectralOrdinalClassifier(**settings).fit(X, cuts)
    with pytest.raises(ValueError, match="shape must be None for 3 ordered classes"):
        SpectralOrdinalClassifier(**settings).partial_fit(X, cuts)
    for model, target in ((SpectralOrdinalClassifier, cuts > 0), (SpectralQuantileRegressor, y)):
        held = [each for each in model(**settings).fit(X, target).certify().claims if each.kind == shape]
        assert held[0].proven
        assert held[0].requested


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_iter": 0}, "max_iter must be in"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be in"),
        ({"alpha": float("nan")}, "alpha must be a finite number"),
        ({"shape": "convex", "eig_idx": 1}, "eig_idx must be None with shape='convex'"),
        ({"max_influence": True}, "max_influence of column 'income' must be a positive number; got True"),
    ],
)
def test_settings_that_make_no_sense_are_named(table, settings, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        SpectralRegressor(**settings).fit(X, y)


def test_columns_without_names_are_named_by_position():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = X[:, 0] - X[:, 1] ** 2
    settings = {"effort": "fast", "max_iter": 2, "random_state": 0}
    model = SpectralRegressor(monotonic_cst={0: 1}, max_influence={1: 0.5}, **settings).fit(X, y)
    assert model.model_.promises.signs == (1, 0)
    assert model.feature_strengths_[1] <= 0.5 * (1 + 1e-6)
    same = SpectralRegressor(monotonic_cst={0: 1}, max_influence={1: 0.5}, **settings).fit(pd.DataFrame(X), y)
    assert (same.predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match="got 0, the label of the column at 1"):
        SpectralRegressor(monotonic_cst={0: 1}).fit(pd.DataFrame(X, columns=[1, 0]), y)


def test_no_rows_give_no_predictions(table):
    X, y = table
    model = SpectralQuantileRegressor(effort="fast", max_iter=1, random_state=0).fit(X, y)
    assert model.predict_quantiles(X[:0]).shape == (0, 3)
