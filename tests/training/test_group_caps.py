"""Caps on columns together: norms by LAPACK, gradients by differences, rows tried one by one, files and the checker."""

from __future__ import annotations

import numpy as np
import pytest
from checker_cases import certificate, exit_code
from fitted_models import CUTS, POOLED, X, Y
from hostile_cases import refuse, sealed

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.eigen.packing import padded_width, sym
from lambdak.store._header import describe
from lambdak.store._values import encode
from lambdak.table.encoder import TableEncoder
from lambdak.training.caps import Cap, GroupCap

DIM, WIDTH = 3, 6
COLUMNS = TableEncoder(n_knots=4, categorical_features=[1], min_level_count=1).fit(
    np.column_stack([np.arange(12.0), np.arange(12) % 3, np.where(np.arange(12) % 5, np.arange(12.0), np.nan)])
).columns  # fmt: skip
GROUP = ("age", "region", "kind")
CAP = 0.3
CASES = {
    "regressor": lambda caps: SpectralRegressor(max_influence=caps, **POOLED).fit(X, Y),
    "lines": lambda caps: SpectralRegressor(max_influence=caps, n_knots=0, **POOLED).fit(X, Y),
    "counts": lambda caps: SpectralRegressor("poisson", max_influence=caps, **POOLED).fit(X, np.maximum(Y, 0)),
    "monotone": lambda caps: SpectralRegressor(max_influence=caps, monotonic_cst={"age": -1}, **POOLED).fit(X, Y),
    "binary": lambda caps: SpectralClassifier(max_influence=caps, **POOLED).fit(X, Y > 1.5),
    "classes": lambda caps: SpectralClassifier(max_influence=caps, **POOLED).fit(X, CUTS),
    "quantiles": lambda caps: SpectralQuantileRegressor((0.1, 0.9), max_influence=caps, **POOLED).fit(X, Y),
    "ordinal": lambda caps: SpectralOrdinalClassifier(max_influence=caps, **POOLED).fit(X, CUTS),
}


def random_coef(seed=0, models=5):
    rng = np.random.default_rng(seed)
    coef = np.zeros((models, COLUMNS[-1].stop, padded_width(WIDTH)))
    coef[..., :WIDTH] = rng.standard_normal((models, COLUMNS[-1].stop, WIDTH)) * 10.0 ** rng.uniform(
        -1, 1, (models, 1, 1)
    )
    return coef


def largest_change(column, coef):
    """max ‖A(b) − A(a)‖₂ over the cells of a column, (models,)."""
    moves = column.swaps() @ coef[:, column.start : column.stop, :WIDTH]
    return np.linalg.norm(sym(moves), 2, axis=(-2, -1)).max(axis=1)


def test_the_bounds_of_a_group_add_up_to_the_cap_at_most_and_models_below_it_are_untouched():
    before, limit = random_coef(), 6.0
    after = before.copy()
    GroupCap([Cap(COLUMNS[i], limit, DIM) for i in (1, 2)], limit).apply_(after)
    sums = [sum(largest_change(COLUMNS[i], coef) for i in (1, 2)) for coef in (before, after)]
    assert (sums[0] > limit).any()
    assert (sums[0] < limit).any()
    np.testing.assert_allclose(sums[1], np.minimum(sums[0], limit), rtol=2e-5)
    assert (sums[1] <= limit).all()
    np.testing.assert_array_equal(after[sums[0] < limit], before[sums[0] < limit])
    np.testing.assert_array_equal(after[:, : COLUMNS[1].start], before[:, : COLUMNS[1].start])


def test_pull_back_through_overlapping_caps_is_the_transpose_of_the_derivative_by_central_differences():
    caps = [Cap(COLUMNS[1], 0.8, DIM)]
    caps += [GroupCap([Cap(COLUMNS[i], 1.0, DIM) for i in own], limit) for own, limit in (((0, 1), 1.5), ((1, 2), 1.2))]

    def capped(at):
        result = at.copy()
        for cap in caps:
            cap.apply_(result)
        return result

    coef, h, rng = random_coef(1), 1e-6, np.random.default_rng(2)
    direction, grad = np.zeros_like(coef), np.zeros_like(coef)
    direction[..., :WIDTH], grad[..., :WIDTH] = rng.standard_normal((2, *coef.shape[:2], WIDTH))
    derivative = (capped(coef + h * direction) - capped(coef - h * direction)) / (2 * h)
    pulled = grad.copy()
    capped(coef)
    for cap in reversed(caps):
        cap.pull_back_(pulled)
    got, wanted = (pulled * direction).sum(axis=(1, 2)), (grad * derivative).sum(axis=(1, 2))
    np.testing.assert_allclose(got, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:column .* levels:UserWarning")
def test_no_change_of_the_columns_together_moves_a_raw_score_by_more_than_the_cap(case, tmp_path):
    model = CASES[case]({GROUP: CAP, "income": 5.0})
    claims = [claim for claim in model.certify().claims if claim.kind == "joint influence"]
    assert [(claim.subject, claim.requested, claim.proven) for claim in claims] == [("age, region, kind", True, True)]
    assert 0.5 * CAP < claims[0].value <= CAP, "it is made use of"
    assert model.certify(exact=True).holds
    rng, tried = np.random.default_rng(0), X.iloc[:60].reset_index(drop=True)
    scores = []
    for _ in range(60):
        ages = rng.choice([*X["age"], 18.0, 80.0, -1e9, 1e9, np.nan], len(tried))
        ages = np.clip(ages, X["age"].min(), X["age"].max()) if case == "lines" else ages
        regions = rng.choice(np.array(["north", "south", None, "rare", "unseen"], object), len(tried))
        scores.append(model.model_.raw(tried.assign(age=ages, region=regions, kind=rng.choice(["a", "b"], len(tried)))))
    assert np.ptp(scores, axis=0).max() <= CAP
    found = [check for check in model.verify(X, n=500).checks if check.kind == "joint influence"]
    assert [check.violations for check in found] == [0]
    model.save(tmp_path / "model")
    assert lambdak.load(tmp_path / "model").model_.promises == model.model_.promises
    code, data = certificate(tmp_path / "model")
    (own,) = [claim for claim in data["claims"] if claim["kind"] == "joint influence"]
    assert (code, own["verdict"], own["requested"]) == (0, "proven", True)
    assert own["value"] == pytest.approx(claims[0].value, rel=1e-5)


@pytest.mark.filterwarnings("ignore:column .* levels:UserWarning")
def test_a_file_that_promises_a_smaller_cap_is_refused_by_lambdak_and_by_the_checker(tmp_path):
    header, tensors = describe(CASES["regressor"]({GROUP: CAP})._saved())
    assert exit_code(sealed(header, tensors)) == 0
    header["parameters"]["max_influence"] = encode({GROUP: 0.4 * CAP}, "max_influence")
    assert exit_code(sealed(header, tensors)) == 1
    refuse(tmp_path, sealed(header, tensors), "what was requested of 'age, region, kind' is not proven")


def test_a_group_with_a_category_of_many_levels_keeps_its_cap():
    rng = np.random.default_rng(0)
    codes = np.array([f"c{i}" for i in range(200)])[np.arange(1200) % 200]
    rows = X.sample(1200, replace=True, random_state=0).assign(code=codes, region=rng.choice(["n", "s"], 1200))
    y = rng.normal(size=200)[np.arange(1200) % 200] + (rows["region"] == "n")
    settings = {name: value for name, value in POOLED.items() if name != "max_categories"}
    model = SpectralRegressor(max_influence={("code", "region"): CAP}, **settings).fit(rows, y)
    assert model.certify().holds
    tried = rows.head(1).loc[[rows.index[0]] * 400].assign(code=[*codes[:200]] * 2, region=["n"] * 200 + ["s"] * 200)
    assert 0.3 * CAP < np.ptp(model.predict(tried)) <= CAP
