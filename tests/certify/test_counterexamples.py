"""The search for counterexamples: it finds those that are planted, and none in honest models."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from fitted_models import CAP, KINDS, X, fitted, rows_of
from hand_made_models import BROKEN, broken, by_hand

from lambdak.certify import counterexamples as module
from lambdak.certify.proofs import certify


@pytest.fixture
def believed(monkeypatch):
    """Certificates whose claims are all proven, and whose bounds are the caps."""

    def forced(model):
        certificate = certify(model)
        claims = [replace(each, proven=True, value=CAP if each.kind == "influence" else each.value)
                  for each in certificate.claims]  # fmt: skip
        return replace(certificate, claims=tuple(claims))

    monkeypatch.setattr(module, "certify", forced)


def check(found, kind, subject=None):
    (one,) = [each for each in found.checks if each.kind == kind and subject in (None, each.subject)]
    return one


# A model whose eigenvalues are read out of order does not predict at all.
@pytest.mark.parametrize("fault", sorted(set(BROKEN) - {"eigenvalues out of order"}))
def test_a_planted_violation_is_found(fault, believed):
    model, kind, subject = broken(fault)
    found = check(model.verify(X, n=2000), kind, subject)
    assert found.violations > 0
    assert found.margin < 0


@pytest.mark.parametrize("kind", KINDS)
def test_honest_models_have_no_counterexample(kind):
    model = fitted(kind)
    found = model.verify(rows_of(kind), n=400)
    assert found.violations == 0
    proven = [(each.kind, each.subject) for each in model.certify().claims if each.proven]
    assert [(each.kind, each.subject) for each in found.checks] == proven
    for each in found.checks:
        assert each.tried >= 400
        rounding = 1e-9 if model.model_.coef.dtype == np.float64 else 1e-5  # as the coefficients
        assert -rounding <= each.margin < np.inf
        assert each.violations == 0


def falls_where_no_row_is():
    """λ_1 of diag(x0, 3 − x0 − 5 x1): it falls with x0 near x1 = 1, but all rows have x1 = 0."""
    zero = np.zeros((2, 2))
    model = by_hand(np.diag([0.0, 3.0]), [np.diag([1.0, -1.0]), np.diag([0.0, -5.0]), zero])
    return model, np.column_stack([np.linspace(-1, 1, 50), np.zeros(50), np.zeros(50)])


def test_the_guided_search_finds_what_random_rows_cannot_reach(believed, monkeypatch):
    model, rows = falls_where_no_row_is()
    found = check(model.verify(rows, n=300), "monotone", "x0")
    assert found.violations > 0
    assert found.adversarial
    assert found.margin == pytest.approx(-2.0)
    monkeypatch.setattr(module, "_guided", lambda *nothing: None)
    random = check(model.verify(rows, n=300), "monotone", "x0")
    assert random.violations == 0
    assert not random.adversarial


def test_the_guided_search_changes_one_column_after_the_other(believed):
    slopes = [np.diag([1.0, -1.0]), np.diag([0.0, -2.5]), np.diag([0.0, -2.5])]
    model = by_hand(np.diag([0.0, 3.0]), slopes)  # it falls with x0 only where both others are at their ends
    rows = np.column_stack([np.linspace(-1, 1, 50), np.zeros(50), np.zeros(50)])
    assert check(model.verify(rows, n=10), "monotone", "x0").margin == pytest.approx(-2.0)


def test_the_guided_search_comes_nearer_to_a_bound_than_random_rows(monkeypatch):
    model = fitted("free")
    guided = {each.subject: each for each in model.verify(X, n=50).checks if each.kind == "influence"}
    monkeypatch.setattr(module, "_guided", lambda *nothing: None)
    random = {each.subject: each for each in model.verify(X, n=50).checks if each.kind == "influence"}
    nearer = [name for name in guided if guided[name].margin < random[name].margin]
    assert nearer
    assert any(guided[name].adversarial for name in nearer)
    assert not any(each.adversarial for each in random.values())
    assert all(guided[name].tried > random[name].tried == 50 for name in guided)


def test_a_bound_that_is_attained_has_no_margin_left():
    model = by_hand(np.zeros((2, 2)), [np.diag([2.0, 2.0]), np.diag([1.0, -1.0])])
    found = check(model.verify(np.random.default_rng(0).uniform(-1, 1, (20, 2)), n=200), "influence", "x0")
    assert found.margin == pytest.approx(0.0, abs=1e-12)
    assert found.violations == 0


def test_claims_that_are_not_proven_are_not_tried():
    model, kind, _ = broken("a quantile below a lower one")
    assert kind not in {each.kind for each in model.verify(X, n=50).checks}


def test_the_search_is_reproducible():
    model = fitted("regressor")
    assert model.verify(X, n=300, random_state=3) == model.verify(X, n=300, random_state=3)
    assert model.verify(X, n=300, random_state=3) != model.verify(X, n=300, random_state=4)


def search_of(model):
    design = model.model_.encoder.transform(X, model.model_.coef.dtype)
    return module._Search(model.model_, module.readouts(model.model_), design, 10, np.random.default_rng(0))


def test_random_rows_mix_the_cells_of_different_rows():
    model = fitted("linear")
    search = search_of(model)
    width = model.model_.encoder.n_design
    Z, rows = (design.to_sparse(width).toarray() for design in (search.design, search.rows(40)))
    whole = {tuple(row) for row in Z}
    assert all(tuple(row) in whole for row in rows[1::2])
    assert not all(tuple(row) in whole for row in rows[::2])
    for column in model.model_.encoder.columns:
        own = slice(column.start, column.stop)
        assert {tuple(row) for row in rows[:, own]} <= {tuple(row) for row in Z[:, own]}


def test_other_cells_are_put_in_their_place():
    search = search_of(fitted("regressor"))
    rows, width = search.rows(5), fitted("regressor").model_.encoder.n_design
    for i, column in enumerate(search.outputs[0].columns):
        cells = np.vstack([column.all_cells()[0][:4], np.zeros(column.stop - column.start)])[:5]
        cells = np.resize(cells, (5, cells.shape[1]))
        expected = rows.to_sparse(width).toarray()
        expected[:, column.start : column.stop] = cells
        np.testing.assert_allclose(search.put(rows, i, cells).to_sparse(width).toarray(), expected)


def test_columns_that_continue_straight_are_searched_beyond_their_range():
    search = search_of(fitted("convex"))
    column = search.outputs[0].columns[0]
    assert search.numbers(column, 1000).max() > column.high
    assert search.numbers(replace(column, clamp=True), 1000).max() <= column.high


def test_n_is_split_into_blocks_without_loss(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 7)
    found = fitted("quantiles").verify(X, n=101)
    assert check(found, "quantiles").tried == 2 * 101


@pytest.mark.parametrize(("n", "rows", "message"), [
    (0, X, "n must be"),
    (-1, X, "n must be"),
    (10, X[:0], "X must have at least one row to begin from; got none"),
])  # fmt: skip
def test_a_search_without_a_beginning_is_refused(n, rows, message):
    with pytest.raises(ValueError, match=message):
        fitted("free").verify(rows, n=n)


def test_it_prints_as_a_table_and_as_strict_json():
    found = fitted("regressor").verify(X, n=200)
    text = str(found)
    assert "The search for a counterexample" in text
    assert "0 violations" in text
    assert "the prediction never falls" in text
    plain = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert plain == found.to_dict()
    assert plain["violations"] == 0
