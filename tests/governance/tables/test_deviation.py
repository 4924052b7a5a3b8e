"""No row, seen or unseen, is further from the model than the tables say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from factor_table_cases import ONE_OUTPUT, OUTPUTS, UNCLAMPED, at_edges, extreme_rows, raw_of
from fitted_models import X, fitted, rows_of
from hand_made_models import by_hand, symmetric

from lambdak import SpectralRegressor

KINDS = [*ONE_OUTPUT, *OUTPUTS, *UNCLAMPED]
SLACK = 1 + 1e-9  # of what a deviation itself is computed with


def made(kind, **options):
    return fitted(kind).relativities(rows_of(kind), output=OUTPUTS.get(kind), **{"time_limit": 0.3, **options})


def attacked(tables, kind, rows):
    apart = raw_of(kind, rows, OUTPUTS.get(kind)) - tables.raw(rows)
    assert apart.max() <= tables.deviation.above
    assert -apart.min() <= tables.deviation.below
    assert tables.deviation.proven == max(tables.deviation.above, tables.deviation.below)
    return np.abs(apart).max()


@pytest.mark.parametrize("form", ["bands", "interpolated"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_further_from_the_model_than_proven(kind, form):
    tables = made(kind, form=form)
    rows = extreme_rows(kind)
    attacked(tables, kind, rows)
    attacked(tables, kind, at_edges(tables, rows))


@pytest.mark.parametrize("kind", ["free", "poisson", "binary"])
def test_two_way_tables_are_proven_too(kind):
    tables = made(kind, two_way=3)
    assert len(tables) == 7
    rows = extreme_rows(kind)
    attacked(tables, kind, rows)
    attacked(tables, kind, at_edges(tables, rows))


@pytest.mark.parametrize("kind", ["free", "poisson", "binary"])
def test_the_proof_is_tight(kind):
    tables = made(kind, time_limit=30)
    assert tables.deviation.attained <= tables.deviation.proven <= 1.01 * tables.deviation.attained
    assert tables.deviation.how.endswith("to the end")


@pytest.mark.parametrize("kind", ["free", "poisson", "regressor"])
def test_the_worst_row_is_a_row_that_attains_the_deviation(kind):
    tables = made(kind)
    row = {name: "never seen" if cell is not None and str(cell) == "Pooled.OTHER" else cell for name, cell in
           tables.deviation.worst_row.items()}  # fmt: skip
    table = X.iloc[:1].copy()
    for name, cell in row.items():
        table[name] = [cell]
    found = np.abs(raw_of(kind, table) - tables.raw(table))[0]
    assert found == pytest.approx(tables.deviation.attained, rel=1e-6)


def test_single_whole_numbers_leave_additive_bands_nothing_to_deviate():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"late": rng.integers(0, 6, 300), "owner": rng.integers(0, 2, 300)})
    model = SpectralRegressor(effort="fast", dim=1, n_estimators=2, random_state=0, max_iter=8)
    model.fit(table, table["late"] ** 2 - 5.0 * table["owner"])
    bands = {"late": [1, 2, 3, 4, 5], "owner": [1]}
    whole, real = (model.relativities(table, bands=bands, whole=named).deviation for named in (None, []))
    assert whole.proven < 0.05 * real.proven  # at 1.999 the model is where it is at 2
    assert (whole.whole, real.whole) == (("late", "owner"), ())


@pytest.mark.parametrize("kind", ["free", "poisson"])
def test_a_search_that_ends_at_once_still_proves_and_says_that_it_ended(kind):
    tables = fitted(kind).relativities(X, time_limit=1e-9)
    assert "until the time limit: a longer one may prove less" in str(tables)
    rows = extreme_rows(kind)
    attacked(tables, kind, rows)
    assert np.isfinite(tables.deviation.proven)


def test_two_columns_by_brute_force():
    rng = np.random.default_rng(3)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3), symmetric(rng, 3)], index=1)
    tables = model.relativities(bands={"x0": [-0.5, 0.25], "x1": [0.0]}, time_limit=60)
    grid = np.linspace(-1, 1, 201)
    rows = np.array([[a, b] for a in grid for b in grid])
    apart = np.abs(model.predict(rows) - tables.predict(rows)).max()
    assert apart <= tables.deviation.proven <= 1.02 * apart


def test_whole_numbers_are_proven_closer_and_no_whole_number_is_further():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 40, (400, 2)).astype(float)
    y = np.sin(rows[:, 0] / 6) + 0.1 * rows[:, 1] * (rows[:, 0] > 20)
    model = SpectralRegressor(effort="fast", dim=3, max_iter=20, n_estimators=2, random_state=0).fit(rows, y)
    bands = {"x0": [4, 9.5, 20, 31], "x1": 8}
    free, whole = (model.relativities(rows, bands=bands, whole=names, time_limit=60) for names in ((), ["x0", "x1"]))
    grid = np.array([[a, b] for a in range(-3, 45) for b in range(-3, 45)], float)
    grid = np.vstack([grid, [[np.nan, 3.0], [5.0, np.nan]]])
    apart = np.abs(model.predict(grid) - whole.predict(grid)).max()
    np.testing.assert_allclose(whole.predict(grid), free.predict(grid))
    assert apart <= whole.deviation.proven <= 1.01 * apart
    assert whole.deviation.proven < free.deviation.proven
    assert "with whole numbers in x0, x1" in str(whole)


def test_a_missing_cell_read_as_a_fraction_is_proven_among_whole_numbers_too():
    rng = np.random.default_rng(0)
    x = rng.choice([0, 1, 2, 2.5, 3, 4, 5], 300)
    x[:150] = 2.5  # the median, in a band without a whole number
    rows = np.column_stack([x, rng.normal(size=300)])
    y = 10.0 * (x == 2.5) + rows[:, 1]
    model = SpectralRegressor(effort="fast", dim=2, max_iter=30, n_estimators=1, random_state=0).fit(rows, y)
    tables = model.relativities(rows, y, bands={"x0": [2.3, 2.9]}, whole=["x0"], time_limit=60)
    missing = np.column_stack([np.full(200, np.nan), np.linspace(-4, 4, 200)])
    assert np.abs(model.predict(missing) - tables.predict(missing)).max() <= tables.deviation.proven


@pytest.mark.parametrize("kind", ["additive", "straight"])
def test_interpolated_tables_of_one_dimension_are_exact(kind):
    tables = made(kind, form="interpolated")
    model = fitted(kind)
    rows = extreme_rows(kind)
    np.testing.assert_allclose(tables.predict(rows), model.predict(rows), rtol=1e-12, atol=1e-12)
    assert tables.deviation.proven < 1e-10


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e30, 1e300])
def test_targets_of_any_size_are_proven(factor):
    y = factor * (np.sqrt(X["income"]) + (X["kind"] == "a")).to_numpy()
    model = SpectralRegressor(effort="fast", dim=3, max_iter=2, n_estimators=2, random_state=0).fit(X, y)
    tables = model.relativities(X, y, time_limit=0.3)
    rows = X.copy()
    apart = np.abs(model.predict(rows) - tables.predict(rows)).max()
    assert apart <= tables.deviation.proven
    assert tables.deviation.proven < 100 * np.ptp(y)
