"""The search for counterexamples: it finds those that are planted, and none in honest models."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from claim_cases import check
from fitted_models import KINDS, SMALL, SPARSE, X, Y, changed, fitted, own_coef, rows_of
from hand_made_models import BROKEN, broken, by_hand
from scipy import sparse

from lambdak import IdentifierWarning, SpectralRegressor
from lambdak.certify import attack

# A model whose eigenvalues are read out of order does not predict at all.
FAULTS = sorted(set(BROKEN) - {"eigenvalues out of order"})
WITHIN = {"income": 1.0, "age": 5.0, "region": "any"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_violation_is_found(fault, believed):
    model, kind, subject = broken(fault)
    found = check(model.verify(X, n=2000), kind, subject)
    assert found.violations > 0
    assert found.margin < 0


@pytest.mark.parametrize("fault", FAULTS)
def test_the_guided_search_finds_a_planted_violation_from_a_single_row(fault, believed):
    model, kind, subject = broken(fault)
    found = check(model.verify(X[:1], n=1), kind, subject)
    assert found.violations > 0
    assert found.adversarial


def test_a_response_beyond_its_bound_is_found(believe):
    model = fitted("regressor")
    bound = next(each.value for each in model.certify(WITHIN).claims if each.kind == "response")
    assert check(model.verify(X, n=500, within=WITHIN), "response").violations == 0
    believe(response=0.5 * bound)
    found = check(model.verify(X, n=500, within=WITHIN), "response")
    assert found.violations > 0
    assert found.subject == "income, age, region"
    with pytest.raises(ValueError, match="within names a column that the model does not have"):
        model.verify(X, within={"nobody": 1.0})


@pytest.mark.parametrize("kind", KINDS)
def test_honest_models_have_no_counterexample(kind):
    model = fitted(kind)
    found = model.verify(rows_of(kind), n=400)
    assert found.violations == 0
    proven = [(each.kind, each.subject) for each in model.certify().claims if each.proven]
    assert [(each.kind, each.subject) for each in found.checks] == [("numbers", "predictions"), *proven]
    for each in found.checks[1:]:
        assert each.tried >= 400
        assert -1e-9 <= each.margin < np.inf


@pytest.mark.parametrize("kind", ["free", "linear", "convex", "poisson", "multiclass", "quantiles", "ordinal"])
def test_honest_responses_have_no_counterexample(kind):
    found = check(fitted(kind).verify(X, n=400, within=WITHIN), "response")
    assert found.violations == 0
    assert found.tried >= 400
    assert found.margin > 0


@pytest.mark.parametrize("kind", ["regressor", "poisson", "binary", "multiclass", "quantiles", "ordinal"])
@pytest.mark.parametrize("design", [0, 3, -1])  # the constant, a knot of income, a level or a quantile
def test_a_model_that_predicts_what_is_no_number_has_violations(kind, design):
    model, coef = own_coef(kind)
    coef[0, design] = np.nan
    found = changed(model, coef=coef).verify(X, n=200)
    assert found.violations > 0
    assert found.checks[0].kind == "numbers"
    assert found.checks[0].violations > 0
    assert found.checks[0].margin is None
    assert "not a number" in str(found)


# ---- where there is nothing to try


def test_a_column_that_is_constant_gives_nothing_to_try():
    rows = X[["income", "kind"]].assign(same=1.0, rare=[f"level {i}" for i in range(len(X))])
    with (
        pytest.warns(IdentifierWarning, match="'rare'"),
        pytest.warns(UserWarning, match="levels, more than 1: "),
    ):
        model = SpectralRegressor(max_categories=1, **SMALL).fit(rows, Y)
    found = model.verify(rows, n=50, within={"same": 1.0})
    assert found.violations == 0
    for kind, subject in (("monotone", "same"), ("influence", "same"), ("influence", "rare"), ("response", "same")):
        one = check(found, kind, subject)
        assert (one.tried, one.violations, one.margin, one.adversarial) == (0, 0, None, False)
        assert one.cells()[2:] == ("nothing to try", "", "", "")
    assert check(found, "influence", "income").tried > 50
    assert str(found).count("nothing to try") == 5


def test_without_a_column_of_numbers_no_line_can_bend():
    model = SpectralRegressor(**SMALL | {"dim": 1}).fit(X[["kind", "region"]], Y)
    found = model.verify(X, n=50)
    assert [each.tried for each in found.checks if each.kind in ("convex", "concave")] == [0, 0]


def test_a_tolerance_of_zero_allows_for_no_change():
    assert check(fitted("free").verify(X, n=50, within={"income": 0.0}), "response").tried == 0


# ---- the guided search


def coupled(columns=7):
    """λ_1 of [[x0, 1], [1, 5 − x0 − Σ x_i]]: it falls with x0 only where nearly all others are near 1."""
    slopes = [np.diag([1.0, -1.0]), *([np.diag([0.0, -1.0])] * (columns - 1))]
    model = by_hand(np.array([[0.0, 1.0], [1.0, 5.0]]), slopes)
    return model, np.zeros((20, columns)) + np.linspace(-1, 0, 20)[:, None]


def test_the_guided_search_finds_what_random_rows_cannot_reach(believed, monkeypatch):
    model, rows = coupled()
    found = check(model.verify(rows, n=100), "monotone", "x0")
    assert found.violations > 0
    assert found.adversarial
    assert found.margin < -1.0
    monkeypatch.setattr(attack, "_guided", lambda *nothing: None)
    random = check(model.verify(rows, n=100), "monotone", "x0")
    assert random.violations == 0
    assert not random.adversarial


@pytest.mark.parametrize(("kind", "within"), [
    ("influence", None),
    ("response", {"x0": 0.5, "x1": 0.5}),
])  # fmt: skip
def test_the_guided_search_breaks_bounds_that_random_rows_keep(kind, within, believe, monkeypatch):
    model, rows = coupled()
    subject = ", ".join(within or {"x1": 0})
    guided = check(model.verify(rows, n=100, within=within), kind, subject)
    bound = next(each.value for each in model.certify(within).claims if (each.kind, each.subject) == (kind, subject))
    with monkeypatch.context() as patched:
        patched.setattr(attack, "_guided", lambda *nothing: None)
        random = check(model.verify(rows, n=100, within=within), kind, subject)
    assert guided.margin < random.margin
    assert guided.adversarial
    believe(**{kind: bound - 0.5 * (guided.margin + random.margin)})
    assert check(model.verify(rows, n=100, within=within), kind, subject).violations > 0
    monkeypatch.setattr(attack, "_guided", lambda *nothing: None)
    assert check(model.verify(rows, n=100, within=within), kind, subject).violations == 0


@pytest.mark.parametrize(("model", "kind"), [("quantiles", "quantiles"), ("ordinal", "cut-points")])
def test_the_guided_search_comes_nearer_to_crossing_outputs_than_random_rows(model, kind, monkeypatch):
    guided = check(fitted(model).verify(X, n=50), kind)
    monkeypatch.setattr(attack, "_guided", lambda *nothing: None)
    random = check(fitted(model).verify(X, n=50), kind)
    assert guided.adversarial
    assert guided.margin < random.margin
    assert guided.tried > random.tried


def test_a_bound_that_is_attained_has_no_margin_left():
    model = by_hand(np.zeros((2, 2)), [np.diag([2.0, 2.0]), np.diag([1.0, -1.0])])
    found = check(model.verify(np.random.default_rng(0).uniform(-1, 1, (20, 2)), n=200), "influence", "x0")
    assert found.margin == pytest.approx(0.0, abs=1e-12)
    assert found.violations == 0


def test_a_fall_of_the_predicted_class_is_a_violation(believed):
    model, coef = own_coef("ordinal")
    column = model.model_.encoder.columns[0]
    coef[:, column.start + 2 : column.stop] = coef[:, column.start, None]  # back to where the column began
    found = check(changed(model, coef=coef).verify(X, n=500), "monotone", "income")
    assert found.violations > 0
    assert found.margin < 0


# ---- how it is run


def test_claims_that_are_not_proven_are_not_tried():
    model, kind, _ = broken("a quantile below a lower one")
    assert kind not in {each.kind for each in model.verify(X, n=50).checks}


def test_the_search_is_reproducible():
    model = fitted("regressor")
    assert model.verify(X, n=300, random_state=3) == model.verify(X, n=300, random_state=3)
    assert model.verify(X, n=300, random_state=3) != model.verify(X, n=300, random_state=4)


def test_tables_of_every_library_begin_the_same_search():
    model = fitted("regressor")
    expected = model.verify(X, n=100)
    assert model.verify(pl.from_pandas(X), n=100) == expected
    assert model.verify(X[X.columns[::-1]], n=100) == expected
    assert model.verify(X.to_numpy(object), n=100) == expected
    assert fitted("sparse").verify(SPARSE, n=100) == fitted("sparse").verify(SPARSE.toarray(), n=100)
    assert fitted("straight").verify(sparse.csr_array(rows_of("straight").to_numpy()), n=50).violations == 0


def test_rows_with_missing_and_unseen_cells_are_a_beginning():
    rows = X.iloc[:3].assign(income=[np.nan, -1e9, 1e9], region=["never seen", None, "south"], kind=None)
    assert fitted("regressor").verify(rows, n=100).violations == 0
    assert fitted("regressor").verify(rows[:1], n=100).violations == 0


def test_n_is_split_into_blocks_without_loss(monkeypatch):
    monkeypatch.setattr("lambdak.certify.search._BLOCK", 7)
    monkeypatch.setattr(attack, "_guided", lambda *nothing: None)
    tried = check(fitted("quantiles").verify(X, n=101), "quantiles").tried
    assert tried % 101 == 0
    assert tried > 40 * 101  # of raw scores, and of quantiles at and between all levels


@pytest.mark.parametrize(("n", "rows", "message"), [
    (0, X, "n must be"),
    (-1, X, "n must be"),
    (10, X[:0], "X must have at least one row to begin from; got none"),
])  # fmt: skip
def test_a_search_without_a_beginning_is_refused(n, rows, message):
    with pytest.raises(ValueError, match=message):
        fitted("free").verify(rows, n=n)
