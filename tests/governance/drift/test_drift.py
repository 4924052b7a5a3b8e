"""Drift: PSI by hand, what training did not see, and what the drift of a column does to the mean prediction.

Tests ``stability``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitted_models import KINDS, X, fitted, rows_of
from portfolio_cases import POLICIES, YEARS, default, frequency

from lambdak.governance.drift.stability import by_chance, effective_rows, reading, stability_index


def test_psi_is_the_textbook_formula():
    p, q = np.array([0.1, 0.2, 0.7]), np.array([0.3, 0.3, 0.4])
    by_hand = 0.2 * np.log(3) + 0.1 * np.log(1.5) - 0.3 * np.log(4 / 7)
    assert stability_index(p * 50, q * 80, 50, 80) == pytest.approx(by_hand)
    assert stability_index(p, p, 9, 9) == 0
    assert stability_index(p, q, 9, 9) == pytest.approx(stability_index(q, p, 9, 9))


def test_an_empty_band_counts_as_half_a_row():
    old, new = np.array([50.0, 50.0, 0.0]), np.array([30.0, 0.0, 0.0])
    by_hand = (1 - 0.5) * np.log(1 / 0.5) + (0.5 / 30 - 0.5) * np.log((0.5 / 30) / 0.5)
    assert stability_index(old, new, 100, 30) == pytest.approx(by_hand)


def test_chance_is_what_resampling_one_population_gives():
    rng = np.random.default_rng(0)
    shares = np.full(10, 0.1)
    drawn = [stability_index(*rng.multinomial([400, 300], shares).astype(float), 400, 300) for _ in range(4000)]
    assert np.quantile(drawn, 0.95) == pytest.approx(by_chance(10, 400, 300), rel=0.05)
    assert by_chance(1, 5, 5) == 0
    assert effective_rows(np.array([2.0, 2.0, 0.0])) == pytest.approx(2)


def test_the_usual_reading_has_the_usual_limits():
    assert [reading(psi) for psi in (0.0, 0.0999, 0.1, 0.25, 0.2501)] == [
        "little change", "little change", "some change", "some change", "large change",
    ]  # fmt: skip


def test_shares_are_those_of_the_tables():
    new = POLICIES.assign(region=["south"] * 300 + ["east"] * 200 + [None] * 100)
    found = frequency().drift(POLICIES, new)["region"]
    shares = dict(zip(found.names, zip(found.old, found.new, strict=True), strict=True))
    old = POLICIES["region"].value_counts(normalize=True)
    assert shares["south"] == pytest.approx((old["south"], 0.5))
    assert shares["new levels"] == pytest.approx((0, 200 / 600))
    assert shares["missing"] == pytest.approx((0, 100 / 600))
    assert found.unseen_new == pytest.approx(200 / 600)
    assert (found.missing_old, found.missing_new) == pytest.approx((0, 100 / 600))
    p = np.array([old["north"], old["south"], old["west"], 0.5 / 600, 0.5 / 600])
    q = np.array([0.5 / 600, 0.5, 0.5 / 600, 1 / 6, 1 / 3])
    assert found.psi == pytest.approx(float(((q - p) * np.log(q / p)).sum()))
    assert found.to_frame()["new"].sum() == pytest.approx(1)


def test_numbers_outside_of_the_training_range_are_counted():
    seen = POLICIES["age"].max()
    new = POLICIES.assign(age=[seen + 1] * 60 + [40.0] * 540)
    found = frequency().drift(POLICIES, new)
    assert found["age"].unseen_new == pytest.approx(0.1)
    assert found["age"].unseen_old == 0
    assert found["age"].reading == "large change"
    assert found.columns[0].column == "age"
    assert "10 % not seen in training" in str(found)


def test_weights_count_as_repeated_rows():
    often = np.arange(600) % 3
    weighted = frequency().drift(POLICIES, POLICIES, sample_weight_new=often)
    repeated = frequency().drift(POLICIES, POLICIES.iloc[np.repeat(np.arange(600), often)])
    for own in weighted.columns:
        assert own.new == pytest.approx(repeated[own.column].new)
    assert weighted.mean_new == pytest.approx(repeated.mean_new)
    scaled = frequency().drift(POLICIES, POLICIES, sample_weight_new=often * 1e300)
    assert scaled.to_frame().equals(weighted.to_frame())


def test_the_prediction_drifts_with_its_mean():
    new = POLICIES[POLICIES["region"] == "south"]
    found = frequency().drift(POLICIES, new)
    assert found.mean_old == pytest.approx(frequency().predict(POLICIES).mean())
    assert found.prediction.mean_shift == pytest.approx(frequency().predict(new).mean() - found.mean_old)
    assert found.prediction.psi > 0.25


@pytest.mark.parametrize("kind", ["additive", "regressor", "poisson"])
def test_the_shift_of_a_column_is_that_of_its_partial_dependence(kind):
    model, old = fitted(kind), X[:60]
    new = old.assign(income=old["income"] * 1.5)
    found = model.drift(old, new)

    def mean(values):
        return np.mean([model.predict(old.assign(income=value)).mean() for value in values])

    wanted = mean(new["income"]) - mean(old["income"])
    assert found["income"].mean_shift == pytest.approx(wanted, rel=0.15)
    assert [own.mean_shift for own in found.columns if own.column != "income"] == [0, 0, 0]


def test_in_an_additive_model_shifts_add_up_to_that_of_the_mean():
    new = X.iloc[:120].assign(kind="a")
    found = fitted("additive").drift(X, new)
    assert sum(own.mean_shift for own in found.columns) == pytest.approx(found.mean_new - found.mean_old, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_model_drifts_from_itself(kind):
    table = rows_of(kind)
    found = fitted(kind).drift(table, table, output=0 if kind in ("multiclass", "ordinal") else None)
    assert max(abs(own.psi) for own in (found.prediction, *found.columns)) < 1e-12
    assert max(abs(own.mean_shift) for own in found.columns) < 1e-12
    assert len(found.to_frame()) == 1 + len(found.columns)


def test_bands_may_be_those_of_the_model():
    found = frequency().drift(POLICIES, POLICIES, bands="knots")["power"]
    knots = frequency().model_.encoder.columns[2].knots
    assert len(found.names) == len(knots)
    with pytest.raises(ValueError, match="bands must be a number of bands, or \"knots\"; got 'quantiles'"):
        frequency().drift(POLICIES, POLICIES, bands="quantiles")


def test_one_row_and_no_row_are_understood():
    found = default().drift(POLICIES, POLICIES[:1])
    assert np.isfinite([own.psi for own in found.columns]).all()
    with pytest.raises(ValueError, match="X_new must have at least one row; got none"):
        default().drift(POLICIES, POLICIES[:0])
    with pytest.raises(ValueError, match="X_old must have at least one row; got none"):
        frequency().drift(POLICIES[:0], POLICIES)
    with pytest.raises(KeyError, match="column must be one of"):
        found["years"]


def test_hostile_names_are_printed_on_one_line():
    name = "two\nlines\x1b[31m"
    table = pd.DataFrame({name: np.arange(60.0) / 4, "b": np.arange(60.0) % 7})
    from lambdak import SpectralRegressor

    model = SpectralRegressor(effort="fast", max_iter=1, dim=1, random_state=0).fit(table, YEARS[:60])
    text = str(model.drift(table, table.assign(**{name: 0.0})))
    assert "two\\nlines\\x1b[31m: large change" in text
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (np.full(len(X), 3.0), X["income"].to_numpy()),
        (np.arange(len(X)) % 2 + 1.0, np.arange(len(X)) % 2 * 2 + 1.0),
        (np.arange(len(X)) % 2 * 2.0, np.arange(len(X)) % 2 * 1.5),
        (np.full(len(X), np.nan), X["income"].to_numpy()),
    ],
    ids=["once constant", "recoded upwards", "recoded between", "once missing"],
)
def test_numbers_that_few_old_ones_never_had_are_drift(old, new):
    before, after = X.assign(income=old), X.assign(income=new)
    assert fitted("free").drift(before, after)["income"].reading == "large change"
    assert fitted("free").drift(after, before)["income"].reading == "large change"
    assert fitted("free").drift(before, before)["income"].psi == 0
