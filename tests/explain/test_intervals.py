"""Proven numbers hold for what is predicted, bit for bit: intervals, bands and bounds, over all losses and links."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fitted_models import KINDS, SMALL, X, Y, fitted, rows_of
from score_cases import choice, n_outputs, predictions_of

from lambdak import SpectralRegressor
from lambdak.table.category_levels import OTHER

ROWS = 12
LOSSES = {
    "squared_error": Y, "absolute_error": Y, "huber": Y, "quantile": Y,
    "poisson": np.maximum(Y, 0), "gamma": np.abs(Y) + 0.1, "tweedie": np.maximum(Y, 0),
}  # fmt: skip


def moved(table, name, cells):
    """Every row once with each of the cells, row by row."""
    many = table.loc[table.index.repeat(len(cells))].reset_index(drop=True)
    dtype = float if table[name].dtype.kind == "f" else object
    return many.assign(**{name: pd.Series(list(cells) * len(table), dtype=dtype)})


def cells_between(column, between):
    low, high = between
    rng = np.random.default_rng(1)
    inside = [knot for knot in column.corners() if low <= knot <= high]
    near = [np.nextafter(knot, side) for knot in inside for side in (-np.inf, np.inf)]
    found = np.concatenate([rng.uniform(low, high, 60), inside, near, [low, high]])
    return np.clip(found, low, high)


def check_numbers(model, table, name, between, output=0):
    local = model.explain_local(table, output=choice(model, output))
    found = local.what_if(name, between)
    column = next(each for each in model.model_.encoder.columns if each.name == name)
    cells = cells_between(column, found.between)
    names = [each.name for each in local._source.outputs]
    rows = moved(table, name, cells)
    raw = np.reshape(model.model_.raw(rows), (len(table), len(cells), -1))
    for i in range(len(table)):
        chosen = names.index(local.output[i])
        predicted = predictions_of(model, rows, chosen).reshape(len(table), len(cells))[i]
        assert found.lower[i] <= predicted.min()
        assert predicted.max() <= found.upper[i]
        assert found.score_lower[i] <= raw[i, :, chosen].min()
        assert raw[i, :, chosen].max() <= found.score_upper[i]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sparse", "wide")])
def test_no_prediction_leaves_its_interval(kind):
    model, table = fitted(kind), rows_of(kind)[:ROWS]
    for output in range(n_outputs(model)):
        check_numbers(model, table, "income", None, output)
        check_numbers(model, table, "income", (-30.0, 60.0), output)
        check_numbers(model, table, "income", (3.0, 3.0), output)


@pytest.mark.parametrize("loss", LOSSES)
def test_no_prediction_leaves_its_interval_whatever_the_loss(loss):
    model = SpectralRegressor(loss, **SMALL).fit(X, LOSSES[loss])
    check_numbers(model, X[:ROWS], "income", None)
    check_numbers(model, X[:ROWS], "age", (20.0, 30.0))


def test_predictions_beyond_the_limit_of_the_exponential_stay_inside():
    model = SpectralRegressor("poisson", **SMALL).fit(X, np.maximum(Y, 0))
    model.model_ = model.model_.replace(start=np.array([39.5]))
    check_numbers(model, X[:ROWS], "income", None)


@pytest.mark.parametrize("kind", ["free", "poisson", "binary", "multiclass", "quantiles", "ordinal"])
def test_no_swap_of_levels_leaves_its_interval(kind):
    model, table = fitted(kind), X[:ROWS]
    column = model.model_.encoder.columns[2]
    cells = [level for level in column.levels if level is not OTHER] + ["never seen"]
    for output in range(n_outputs(model)):
        found = model.explain_local(table, output=choice(model, output)).what_if("region")
        predicted = predictions_of(model, moved(table, "region", cells), output).reshape(ROWS, -1)
        assert (found.lower <= predicted.min(axis=1)).all()
        assert (predicted.max(axis=1) <= found.upper).all()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sparse", "wide", "straight")])
def test_no_change_of_a_prediction_exceeds_bounds_and_bands(kind):
    model, table = fitted(kind), X[:ROWS]
    for i, column in enumerate(model.model_.encoder.columns):
        if not column.is_number:
            continue
        effect = model.explain_global(X, output=choice(model, 0))[column.name]
        cells = [column.median, *effect.x, np.nextafter(column.high, np.inf) if column.clamp else column.high]
        raw = np.reshape(model.model_.raw(moved(table, column.name, cells)), (ROWS, len(cells), -1))
        assert np.ptp(raw, axis=1).max() <= model.feature_strengths_[i]
        change = raw[:, 1:-1, 0] - raw[:, :1, 0]
        assert (effect.low <= change).all()
        assert (change <= effect.high).all()
        assert np.abs(change).max() <= effect.proven
