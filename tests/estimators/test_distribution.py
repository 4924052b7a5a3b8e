"""Quantiles at any level, numbers' levels, intervals that cover, samples: order, monotone columns and caps as computed.

Tests ``distribution``, ``single_quantile``, ``skpro``, ``model/distribution``, ``training/calibration``,
``governance/coverage`` and ``governance/distribution_plots``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import lambdak
from lambdak import SpectralQuantileRegressor, SpectralRegressor
from lambdak.model.calibration import HELD_OUT, LEFT_OUT
from lambdak.shapes import OutputRange, Rising

RNG = np.random.default_rng(0)
ROWS = 600
X = pd.DataFrame({
    "a": RNG.uniform(-1, 1, ROWS), "b": RNG.uniform(-1, 1, ROWS), "g": RNG.choice(["u", "v", "w"], ROWS),
})  # fmt: skip
X.loc[::17, "a"] = np.nan
Y = (np.nan_to_num(X["a"]) + np.sin(3 * X["b"]) + (1 + X["b"]) * RNG.standard_t(4, ROWS)).to_numpy()
FEW = {"effort": "fast", "max_iter": 4, "random_state": 0}
LEVELS = np.concatenate([[0.0, 1e-300, 1e-9], np.linspace(0.001, 0.999, 41), [1 - 1e-9, 1.0]])
FINITE = LEVELS[1:-1]


@pytest.fixture(scope="module")
def model():
    return SpectralQuantileRegressor((0.1, 0.5, 0.9), monotonic_cst={"a": 1}, calibrate_by="g", **FEW).fit(X, Y)


def hard_rows():
    """Rows with missing cells, unseen levels, cells out of range, and at and beside the knots of a column."""
    rows = X.sample(60, random_state=0).reset_index(drop=True)
    rows.loc[:9, "g"] = "unseen"
    rows.loc[5:14, "g"] = None
    rows.loc[10:19, "b"] = [-1e12, 1e12, np.nan, -1.0, 1.0, 5.0, -5.0, 0.0, 1e-300, -0.0]
    return rows


def test_quantiles_are_in_order_at_any_level(model):
    found = model.predict_quantiles(hard_rows(), LEVELS)
    assert (np.diff(found[:, 1:-1], axis=1) >= 0).all()
    assert (found[:, [0, -1]] == [-np.inf, np.inf]).all()
    np.testing.assert_array_equal(model.predict_quantiles(X, [0.1, 0.5, 0.9]), model.predict_quantiles(X))
    turned = model.predict_quantiles(X[:5], [0.9, 0.2])
    np.testing.assert_array_equal(turned, model.predict_quantiles(X[:5], [0.2, 0.9])[:, ::-1])


def test_a_monotone_column_never_falls_at_any_level_or_end(model):
    knots = model.model_.encoder.columns[0].knots
    cells = np.unique([k for knot in knots for k in (np.nextafter(knot, -9), knot, np.nextafter(knot, 9), knot + 1e-3)])
    cells = np.concatenate([[-1e9], np.sort(cells), [1e9]])
    margin = 2 * model.certify().claims[0].margin + 1e-12
    rows = hard_rows()[:20]
    moved = pd.concat([rows.assign(a=cell) for cell in cells], ignore_index=True)
    intervals = [model.predict_interval(moved, share, side=side) for share in (0.5, 0.9) for side in ("both", "upper")]
    found = np.hstack([model.predict_quantiles(moved, FINITE), *intervals])
    steps = np.diff(np.nan_to_num(found, neginf=0.0).reshape(len(cells), len(rows), -1), axis=0)
    assert (steps >= -margin).all()
    assert (steps > margin).any()


def test_levels_of_numbers_are_the_inverse_of_quantiles(model):
    for level in (0.01, 0.1, 0.37, 0.9, 0.99):
        quantile = model.predict_quantiles(X[:50], [level])[:, 0]
        np.testing.assert_allclose(model.predict_cdf(X[:50], quantile), level, rtol=1e-6)
    several = model.predict_cdf(X[:50], np.linspace(-9, 9, 30)[None])
    assert several.shape == (50, 30)
    assert (np.diff(several, axis=1) >= 0).all()
    np.testing.assert_array_equal(several[:, 0], model.predict_cdf(X[:50], -9.0))


def test_intervals_hold_each_other_and_groups_have_their_own(model):
    ends = [model.predict_interval(X, coverage) for coverage in (0.3, 0.6, 0.8, 0.9, 0.95)]
    for inner, outer in pairwise(ends):
        assert (outer[:, 0] <= inner[:, 0]).all()
        assert (inner[:, 1] <= outer[:, 1]).all()
    calibration = model.model_.calibration
    assert calibration.source == LEFT_OUT
    assert calibration.groups == (0, 1, 2)
    assert calibration.rows[0] == sum(calibration.rows[1:])
    np.testing.assert_array_equal(model.predict_interval(X), model.predict_quantiles(X)[:, [0, -1]])
    side = model.predict_interval(X, 0.95, side="lower")
    assert (side[:, 1] == np.inf).all()
    np.testing.assert_array_equal(side[:, 0], np.minimum(side[:, 0], model.predict_quantiles(X, [0.5])[:, 0]))


def test_left_out_rows_are_those_that_a_team_has_not_seen(model):
    """Two members share a fold of a tenth of the rows: three members of "fast" leave two folds out, one team counts."""
    assert 0 < model.model_.calibration.rows[0] < ROWS / 2


def test_rows_that_the_fit_did_not_see_cover_as_often_as_wanted():
    half = ROWS // 2
    inside = []
    model = SpectralQuantileRegressor((0.1, 0.5, 0.9), **FEW).fit(X[:half], Y[:half])
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(np.arange(half, ROWS))
        model.calibrate(X.iloc[order[:150]], Y[order[:150]])
        low, high = model.predict_interval(X.iloc[order[150:]], 0.8).T
        inside.append(((low <= Y[order[150:]]) & (Y[order[150:]] <= high)).mean())
    assert model.model_.calibration.source == HELD_OUT
    assert np.mean(inside) == pytest.approx(0.8, abs=0.025)


def test_what_is_calibrated_survives_files_and_copies(model, tmp_path):
    expected = model.predict_interval(X, 0.9)
    model.save(tmp_path / "m.safetensors")
    for other in (lambdak.load(tmp_path / "m.safetensors"), lambdak.from_json(model.to_json())):
        np.testing.assert_array_equal(other.predict_interval(X, 0.9), expected)
        np.testing.assert_array_equal(other.predict_quantiles(X, FINITE), model.predict_quantiles(X, FINITE))
    assert "if it is exchangeable with" in str(lambdak.load(tmp_path / "m.safetensors").certify())


def test_samples_follow_the_distribution(model):
    drawn = model.sample(X[:3], 4000, random_state=0)
    for row, numbers in zip([X[i : i + 1] for i in range(3)], drawn, strict=True):
        share = np.array([(numbers <= q).mean() for q in model.predict_quantiles(row, [0.05, 0.3, 0.5, 0.95])[0]])
        np.testing.assert_allclose(share, [0.05, 0.3, 0.5, 0.95], atol=0.03)
    np.testing.assert_array_equal(drawn, model.sample(X[:3], 4000, random_state=0))


def test_predictions_stay_in_their_range_at_any_level():
    constraints = [OutputRange(-1.0, 2.0), Rising("a")]
    model = SpectralQuantileRegressor((0.1, 0.5, 0.9), constraints=constraints, **FEW)
    with pytest.warns(UserWarning, match="targets are outside"):
        model.fit(X, Y)
    found = model.predict_quantiles(X, LEVELS)
    assert found.min() == -1
    assert found.max() == 2
    assert (np.diff(found, axis=1) >= 0).all()
    assert (model.predict_cdf(X, 2.0) == 1).all()


def test_the_score_is_a_metric_and_the_mean_of_rows(model):
    value = model.crps(X, Y)
    levels = (np.arange(2000) + 0.5) / 2000
    error = Y[:, None] - model.predict_quantiles(X, levels)
    assert value == pytest.approx(2 * np.maximum(levels * error, (levels - 1) * error).mean(), rel=2e-3)


def test_coverage_says_where_targets_are(model):
    found = model.coverage(X, Y)
    np.testing.assert_array_equal(found.levels, model.predict_cdf(X, Y))
    low, high = model.predict_interval(X, 0.9).T
    assert found.observed[2] == ((low <= Y) & (high >= Y)).mean()
    assert found.pit(10).sum() == pytest.approx(1)
    groups = found.by("g")
    assert groups.rows.sum() == ROWS
    assert groups.observed @ groups.rows / ROWS == pytest.approx(found.observed[2])
    assert found.to_frame().shape == (4, 3)
    for what in ("levels", "intervals", "pit", "g"):
        assert found.plot(what).get_title()


def test_mapie_takes_single_quantiles(model):
    mapie = pytest.importorskip("mapie.regression")
    numbers = X[["a", "b"]].to_numpy()
    fitted = SpectralQuantileRegressor(**FEW).fit(numbers[:300], Y[:300])
    lower, upper, median = fitted.single_quantiles(0.8)
    np.testing.assert_array_equal(lower.predict(numbers), fitted.predict_quantiles(numbers, [0.1])[:, 0])
    conformal = mapie.ConformalizedQuantileRegressor([lower, upper, median], 0.8, prefit=True)
    conformal.conformalize(numbers[300:450], Y[300:450])
    low, high = conformal.predict_interval(numbers[450:])[1][:, :, 0].T
    assert 0.6 < ((low <= Y[450:]) & (Y[450:] <= high)).mean() < 0.95
    with pytest.raises(NotImplementedError, match="all quantiles"):
        lower.fit(numbers, Y)


def test_skpro_takes_the_estimator():
    pytest.importorskip("skpro")
    from lambdak.estimators.skpro import SpectralProbaRegressor

    frame, y = X[["a", "b"]], pd.DataFrame({"y": Y})
    own = SpectralProbaRegressor(SpectralQuantileRegressor(**FEW)).fit(frame, y)
    quantiles = own.predict_quantiles(frame, alpha=[0.1, 0.33])
    np.testing.assert_array_equal(quantiles.to_numpy(), own.estimator_.predict_quantiles(frame, [0.1, 0.33]))
    interval = own.predict_interval(frame, coverage=0.8)
    np.testing.assert_array_equal(interval.to_numpy(), own.estimator_.predict_interval(frame, 0.8))
    mean = own.predict_proba(frame[:20]).mean().to_numpy()[:, 0]
    np.testing.assert_allclose(mean, own.estimator_.sample(frame[:20], 4000, 0).mean(axis=1), atol=0.25)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda m: m.predict_quantiles(X, [0.5, 1.2]), r"levels must be one number in \[0, 1\]"),
        (lambda m: m.predict_quantiles(X, []), "levels must be"),
        (lambda m: m.predict_interval(X, 1.0), r"coverage must be a number in \(0, 1\)"),
        (lambda m: m.predict_interval(X, 0.9, side="left"), "side must be 'both', 'lower' or 'upper'"),
        (lambda m: m.predict_interval(X, side="lower"), "give coverage=0.9"),
        (lambda m: m.predict_cdf(X, [1.0, 2.0]), "y must be a number, one for each of the 600 rows"),
        (lambda m: m.calibrate(X, Y, by="b"), "by must name a category .*'b' is a column of numbers"),
        (lambda m: m.calibrate(X, Y, by="a"), "by must name a category"),
        (lambda m: m.calibrate(X, Y, by="nobody"), "by must be a column of"),
    ],
)
def test_errors_say_what_is_wanted(model, call, match):
    with pytest.raises(ValueError, match=match):
        call(model)


def test_groups_of_a_promised_column_are_refused():
    with pytest.raises(ValueError, match="calibrate_by must name a column of which nothing is promised"):
        SpectralQuantileRegressor(calibrate_by="g", max_influence={"g": 0.1}, **FEW).fit(X, Y)


def test_coverage_is_not_promised_where_no_rows_were_left_out(model):
    for other in (
        SpectralQuantileRegressor(**FEW | {"validation_fraction": 0.0}).fit(X, Y),
        SpectralQuantileRegressor(**FEW).fit(X, Y).partial_fit(X, Y),
    ):
        assert np.isfinite(other.predict_quantiles(X, [0.001])).all()
        with pytest.raises(ValueError, match="call calibrate"):
            other.predict_interval(X, 0.9)
        assert np.isfinite(other.calibrate(X, Y).predict_interval(X, 0.9)).all()
    assert not hasattr(SpectralRegressor("quantile"), "predict_interval")


def test_validation_rows_are_counted_where_they_are_given():
    model = SpectralQuantileRegressor((0.1, 0.9), calibrate_by="g", **FEW)
    model.fit(X[:400], Y[:400], X_val=X[400:], y_val=Y[400:])
    calibration = model.model_.calibration
    assert (calibration.source, calibration.rows[0], calibration.groups) == (HELD_OUT, 200, (0, 1, 2))
    low, high = model.predict_interval(X[400:], 0.8).T
    assert ((low <= Y[400:]) & (Y[400:] <= high)).mean() >= 0.8
