"""Scaling laws: what made the errors is found again, by its form and its numbers."""

from __future__ import annotations

import numpy as np
import pytest
from law_cases import DIMS, SAMPLES, SIGMA, TRUTH, by_hand, curves_of, errors_of

from lambdak.paper.synthetic import results
from lambdak.paper.synthetic.grid import Cell, study
from lambdak.paper.synthetic.laws import (
    FORMS,
    Curves,
    Law,
    bootstrap,
    choose_form,
    fit_law,
    prediction_error,
    read_curves,
)
from lambdak.paper.synthetic.selection import select
from lambdak.paper.synthetic.sweep import CellResult
from lambdak.paper.synthetic.targets import make_targets


@pytest.mark.parametrize("form", FORMS)
def test_a_law_is_the_formula(form):
    law = Law(form, SIGMA, TRUTH)
    np.testing.assert_allclose(law(np.array(DIMS)[:, None], SAMPLES), errors_of(form))
    assert law(63, 32_000) == pytest.approx(by_hand(form, 63, 32_000.0))


@pytest.mark.parametrize("form", FORMS)
def test_the_exponents_that_made_the_errors_are_found(form):
    law = fit_law(form, curves_of(form), errors_of(form))
    expected = TRUTH[[1, 3, 4]] * (1, 1, "coupled" in form)
    np.testing.assert_allclose(law.exponents, expected, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_no_law_exceeds_the_error_of_the_best_constant(form):
    law = Law(form, 0.9, TRUTH)
    assert law(1e-3, 1e-3) == pytest.approx(0.9, rel=1e-3)
    assert (law(np.array(DIMS), 100.0) < 0.9).all()


def test_few_samples_do_not_count():
    curves = curves_of("sum")
    for result in curves.results:
        result.test[..., 0] = result.validation[..., 0] = 100.0  # 32 samples
    assert curves.used.tolist() == [False] + [True] * 5
    assert prediction_error("sum", curves) < 1e-3
    np.testing.assert_allclose(bootstrap("sum", curves, 1)[0, :2], TRUTH[[1, 3]], atol=1e-4)


def test_a_short_study_uses_its_last_two_checkpoints():
    curves = curves_of("sum")
    short = Curves(curves.cell, DIMS, np.array([32, 320, 640, 960, 1280, 1920]), curves.results, SIGMA)
    assert short.used.tolist() == [False] * 4 + [True] * 2


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_right_form_predicts_the_largest_dim_and_is_chosen(form):
    curves = curves_of(form)
    assert prediction_error(form, curves) < 1e-3
    scores = choose_form([curves])
    assert list(scores.values()) == sorted(scores.values())
    assert scores[form] - min(scores.values()) < 1e-3  # a form with one number more may tie


def test_a_wrong_form_predicts_badly():
    assert prediction_error("product", curves_of("squares, coupled")) > 0.1


def test_targets_that_agree_leave_no_spread_and_others_do():
    assert np.ptp(bootstrap("sum", curves_of("sum"), times=4), axis=0).max() < 1e-6
    some = curves_of("sum")
    tilted = tuple(
        CellResult(*(part * (d / 15.0) ** np.linspace(-0.3, 0.3, 8)[:, None, None, None] for part in vars(r).values()))
        for d, r in zip(DIMS, some.results, strict=True)
    )
    found = bootstrap("product", Curves(some.cell, DIMS, SAMPLES, tilted, SIGMA), times=12)
    assert found.shape == (12, 3)
    assert 0.02 < found[:, 0].std() < 0.3


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("studies")
    for _ in results.run_study("univariate-scaling", "quick", out):
        pass
    return out / "univariate-scaling-quick"


def test_the_curves_of_a_study_are_read_by_what_they_share(finished):
    grid, found = study("univariate-scaling", "quick"), read_curves(finished)
    assert [(each.cell.fit, each.cell.noise) for each in found] == [("general", 0.0), ("general", 0.1)]
    by_cell = {cell: select(result).median for cell, _, result in results.read_cells(finished)}
    for each in found:
        assert each.dims == grid.dims
        expected = [by_cell[Cell(1, each.cell.fit, each.cell.complexity, each.cell.noise, dim)] for dim in each.dims]
        np.testing.assert_array_equal(each.medians(), expected)
        x = np.linspace(-4, 4, grid.measured)[:, None]
        at_targets = [make_targets("general", 1, 20, [seed])(np.zeros(len(x), int), x).std() for seed in range(2)]
        assert each.sigma == pytest.approx(np.mean(at_targets))  # the median of two


def test_a_study_that_is_not_done_says_so(finished, tmp_path):
    (tmp_path / "study.json").write_text((finished / "study.json").read_text())
    with pytest.raises(FileNotFoundError, match="lacks cells"):
        read_curves(tmp_path)
