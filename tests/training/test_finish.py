"""From trained parameters to a model: centred categories, calibrated quantiles, and the ``factor`` on all matrices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from fit_cases import X, Y
from sklearn.metrics import log_loss

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.training import factor, finish

QUICK = {"effort": "fast", "max_iter": 3, "random_state": 0}
LEVELS = (0.1, 0.5, 0.9)


@pytest.fixture
def shifts(monkeypatch):
    """What quantiles were moved by, before and after."""
    seen, original = [], finish.shift_levels_

    def watched(coef, draft, shift):
        before = coef.copy()
        original(coef, draft, shift)
        seen.append((before, coef.copy(), draft, shift))

    monkeypatch.setattr("lambdak.training.finish.shift_levels_", watched)
    return seen


def test_the_levels_of_a_category_have_a_mean_of_zero_over_the_rows():
    table = np.column_stack([np.round(2 * X[:, 0]), X[:, 1]])
    model = SpectralRegressor(categorical_features=[0], **QUICK).fit(table, Y).model_
    column = model.encoder.columns[0]
    share = model.encoder.transform(table).to_sparse(model.encoder.n_design).mean(axis=0)[column.start : column.stop]
    levels = model.coef[:, column.start : column.stop]
    assert np.abs(levels).max() > 0.01
    np.testing.assert_allclose(np.einsum("p,mpw->mw", share, levels), 0, atol=1e-5 * np.abs(levels).max())


def test_quantiles_move_in_order_by_multiples_of_the_identity(shifts):
    model = SpectralQuantileRegressor(LEVELS, **QUICK).fit(X, Y)
    ((before, after, draft, shift),) = shifts
    assert (np.diff(shift) >= 0).all()
    moved = after - before
    diagonal = np.cumsum(np.arange(1, draft.dim + 1)) - 1  # of a packed lower triangle
    np.testing.assert_array_equal(moved[:, : draft.encoder.n_design], 0)
    np.testing.assert_array_equal(np.delete(moved, diagonal, axis=2), 0)
    expected = np.broadcast_to(shift[:, None], moved[:, draft.encoder.n_design :, diagonal].shape)
    np.testing.assert_allclose(moved[:, draft.encoder.n_design :, diagonal], expected, atol=1e-6)
    assert (np.diff(model.predict_quantiles(X), axis=1) >= 0).all()


class OfUnseen:
    """A trainer whose members say what is given on rows that they have not seen."""

    def __init__(self, errors, teams, members):
        self.raw, self.members, self._teams = -np.asarray(errors).reshape(len(errors), -1), members, np.asarray(teams)

    def unseen(self):
        rows = np.arange(self.raw.shape[1])
        problem = SimpleNamespace(y=np.zeros((len(rows), 2)), weight=None)
        return self.raw, np.broadcast_to(rows, self.raw.shape), problem

    def teams(self):
        return self._teams


def test_quantiles_of_a_mean_are_calibrated_for_a_mean():
    rng, rows, members = np.random.default_rng(0), 40_000, 6
    truth, noise = rng.standard_normal(rows), 0.8 * rng.standard_normal((members, rows))
    errors = np.repeat((truth + noise)[:, :, None], 2, axis=2)  # of both levels
    shift = finish.quantile_shift(OfUnseen(errors, [[0, 1], [2, 3], [4, 5]], members), (0.05, 0.95))
    of_mean = np.quantile(truth + noise.mean(axis=0), (0.05, 0.95))
    np.testing.assert_allclose(shift, of_mean, atol=0.03)
    assert np.abs(np.quantile(truth + noise[0], (0.05, 0.95)) - of_mean).min() > 0.25


@pytest.mark.slow
@pytest.mark.parametrize(("effort", "calibrating"), [("fast", 400), ("balanced", 1200)])
def test_the_outer_quantiles_cover_their_share_of_unseen_rows(effort, calibrating):
    rng = np.random.default_rng(3)
    table = rng.uniform(-1, 1, (8000, 5))
    noise = (0.2 + 0.5 * np.abs(table[:, 3])) * rng.standard_normal(8000)
    y = np.sin(3 * table[:, 0]) + table[:, 1] * table[:, 2] + noise
    inside = []
    for first in (0, 4000):
        rows = slice(first, first + 4000)
        model = SpectralQuantileRegressor((0.05, 0.5, 0.95), effort=effort, random_state=0).fit(table[rows], y[rows])
        low, _, high = model.predict_quantiles(np.delete(table, rows, axis=0)).T
        others = np.delete(y, rows)
        inside.append(((low <= others) & (others <= high)).mean())
    error = np.sqrt(2 * 0.05 * 0.95 / calibrating / len(inside))  # of both ends, from the rows that calibrate a fit
    assert np.mean(inside) == pytest.approx(0.9, abs=max(0.01, 2 * error))


def rare(positives, seed=0):
    """As many test rows as training rows, 2,000; the columns say nothing."""
    rng = np.random.default_rng(seed)
    y = np.zeros(4000, int)
    y[:positives] = y[2000 : 2000 + positives] = 1
    return rng.standard_normal((4000, 8)), y


@pytest.mark.parametrize("positives", [4, 20])
def test_rare_positives_that_nothing_tells_apart_get_about_the_base_rate(positives):
    above = []
    for seed in range(3):
        table, y = rare(positives, seed)
        model = SpectralClassifier(effort="fast", random_state=seed).fit(table[:2000], y[:2000])
        base = log_loss(y[2000:], np.full(2000, positives / 2000))
        above.append(log_loss(y[2000:], model.predict_proba(table[2000:])) / base - 1)
    assert max(above) < 0.15


def cost_of_noise(loss, seed):
    """By how much columns that say nothing make unseen errors larger than those of the mean, relative to them."""
    rng = np.random.default_rng(seed)
    table, y = rng.standard_normal((2000, 8)), rng.poisson(0.3, 2000).astype(float)
    said = SpectralRegressor(loss=loss, effort="fast", random_state=seed).fit(table[:1000], y[:1000])
    return np.square(said.predict(table[1000:]) - y[1000:]).mean() / np.square(y[:1000].mean() - y[1000:]).mean() - 1


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_columns_that_say_nothing_of_the_target_cost_a_fraction_of_what_they_did(monkeypatch, loss):
    shrunk = np.mean([cost_of_noise(loss, seed) for seed in range(4)])
    monkeypatch.setattr("lambdak.training.factor.shrink_factor", lambda *_: 1.0)
    assert shrunk < 0.7 * np.mean([cost_of_noise(loss, seed) for seed in range(4)])


def test_a_model_of_what_columns_say_is_not_shrunk(monkeypatch):
    factors, original = [], factor.shrink_factor
    monkeypatch.setattr(
        "lambdak.training.factor.shrink_factor", lambda *own: factors.append(original(*own)) or factors[-1]
    )
    SpectralRegressor(effort="fast", random_state=0).fit(X, Y)
    assert factors[0] > 0.95


@pytest.mark.parametrize("factor", [0.0, 0.3])
def test_a_model_that_is_shrunk_keeps_what_it_promises(monkeypatch, factor):
    monkeypatch.setattr("lambdak.training.factor.shrink_factor", lambda *_: factor)
    settings = {"monotonic_cst": [1, 0, 0, 0], "max_influence": [np.inf, 0.2, np.inf, np.inf]}
    model = SpectralRegressor(**settings, **QUICK).fit(X, Y)
    assert model.certify(exact=True).holds
    assert (np.ptp(model.predict(X)) == 0) == (factor == 0)
    if not factor:
        np.testing.assert_allclose(model.predict(X), Y.mean())


@pytest.mark.parametrize("lowest", [0, 1, 7, 49, 50])
def test_where_a_convex_function_is_lowest_is_found_with_few_calls(lowest):
    calls = []
    assert factor._lowest(lambda place: calls.append(place) or abs(place - lowest) ** 1.5, 50) == lowest
    assert len(calls) <= 12


def clean_classes(rows=600):
    """Four classes without noise: the quarters of a product."""
    table = np.random.default_rng(2).uniform(-1, 1, (rows, 3))
    return table, np.digitize(table[:, 0] * table[:, 1], [-0.2, 0.0, 0.2])


def test_log_odds_that_a_mean_makes_too_small_become_larger(monkeypatch):
    factors, original = [], factor.shrink_factor
    monkeypatch.setattr(
        "lambdak.training.factor.shrink_factor", lambda *own: factors.append(original(*own)) or factors[-1]
    )
    table, classes = clean_classes()
    fit = SpectralClassifier(effort="fast", random_state=0).fit
    scaled = fit(table[:300], classes[:300]).predict_proba(table[300:])
    assert factors[0] > 1.1
    monkeypatch.setattr("lambdak.training.factor.shrink_factor", lambda *_: 1.0)
    assert log_loss(classes[300:], scaled) < log_loss(
        classes[300:], fit(table[:300], classes[:300]).predict_proba(table[300:])
    )


def test_log_odds_of_capped_columns_do_not_become_larger(monkeypatch):
    largest = []
    monkeypatch.setattr("lambdak.training.factor.shrink_factor", lambda _, most: largest.append(most) or 1.0)
    table, classes = clean_classes(300)
    for caps in (None, [np.inf, 2.0, np.inf]):
        SpectralClassifier(max_influence=caps, **QUICK).fit(table, classes)
    SpectralRegressor(**QUICK).fit(table, classes.astype(float))
    assert largest[0] > 1
    assert largest[1:] == [1.0, 1.0]
