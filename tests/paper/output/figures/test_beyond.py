"""Scaling laws, parametrisations and tridiagonal matrices."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.paper.synthetic.grid import BEYOND, Cell
from lambdak.paper.synthetic.selection import Curve
from lambdak.paper.synthetic.sweep import CellResult

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pyarrow")
figures = pytest.importorskip("lambdak.paper.output.figures")
from figure_cases import SAMPLES, lines  # noqa: E402

from lambdak.paper.output.figures import beyond, scaling  # noqa: E402
from lambdak.paper.synthetic.laws import Curves  # noqa: E402
from lambdak.paper.synthetic.timing import read_times  # noqa: E402


@pytest.mark.slow
def test_laws_are_drawn_through_the_points_that_they_were_fitted_to():
    dims, samples = (5, 9, 15), np.array([320, 10_000, 40_000, 320_000])
    found = []
    for inputs in (1, 2):
        errors = [(3.0 * d**-inputs + samples**-0.5)[None, None, None] for d in dims]
        parts = tuple(CellResult(each, each) for each in errors)
        found.append(Curves(Cell(inputs, "general", 5, 0.0, 15), dims, samples, parts, 100.0))
    axes = beyond.draw_laws(found).axes
    assert [ax.get_title().split(",")[0] for ax in axes] == ["one input", "two inputs"]
    for ax, each in zip(axes, found, strict=True):
        assert list(lines(ax)) == ["d = 5", "d = 9", "d = 15", "law", "d = 15, predicted"]
        for own, dots, law in zip(each.medians(), ax.lines[:6:2], ax.lines[1:6:2], strict=True):
            np.testing.assert_array_equal(dots.get_data(), [samples[1:], own[1:]])
            np.testing.assert_allclose(np.interp(dots.get_xdata(), *law.get_data()), dots.get_ydata(), rtol=0.02)


@pytest.mark.slow
def test_parametrisations_are_drawn_by_dim_and_noise_with_their_costs(all_studies):
    folder = all_studies / "definite-quick"
    data = scaling.read_scalings(folder, BEYOND["definite"].fits)
    *panels, cost, gain = beyond.draw_definite(data, read_times(folder)).axes
    names = ["free", "diagonal squareplus", "$LL^T$", "$\\sqrt{LL^T}$", "spectral squareplus"]
    assert [ax.get_title() for ax in panels] == ["d = 3, clean", "d = 5, clean", "d = 3, noise 0.1", "d = 5, noise 0.1"]
    for ax, (noise, dim) in zip(panels, [(0.0, 3), (0.0, 5), (0.1, 3), (0.1, 5)], strict=True):
        for name, fit in zip(names, BEYOND["definite"].fits, strict=True):
            np.testing.assert_array_equal(lines(ax)[name], data[Cell(2, fit, 9, noise, dim)].curve.median)
    assert all(y.tolist() == [3e6, 5e6] for y in lines(cost).values())
    assert gain.lines[0].get_xdata().tolist() == [5 * 32, 5 * 320, 5 * 1920]


def test_the_best_by_a_time_is_the_lowest_error_that_was_reached():
    runs = [(np.array([1.0, 4.0]), np.array([0.9, 0.2])), (np.array([2.0, 3.0]), np.array([0.5, 0.6]))]
    assert beyond.best_by(runs, np.array([0.5, 1, 2, 3, 4])).tolist() == [np.inf, 0.9, 0.5, 0.5, 0.2]


def test_dense_and_tridiagonal_models_stand_at_the_numbers_of_their_matrices():
    data = {Cell(1, fit, 5, noise, dim): scaling.Scaling(SAMPLES, Curve(np.zeros(3, int), *np.full((3, 3), 1.0 / dim)))
            for fit, dims in (("general", (5, 9, 15)), ("tridiagonal", (8, 23, 60)))
            for noise in (0.0, 0.1) for dim in dims}  # fmt: skip
    times = {(cell.fit, cell.dim): float(cell.dim) for cell in data}
    clean, noisy, race = beyond.draw_tridiagonal([(data, times)]).axes
    for ax in (clean, noisy):
        dense, band = ax.lines
        assert (dense.get_label(), dense.get_xdata().tolist()) == ("dense", [15, 45, 120])
        assert (band.get_label(), band.get_xdata().tolist()) == ("tridiagonal", [15, 45, 119])
        np.testing.assert_allclose(band.get_ydata(), [1 / 8, 1 / 23, 1 / 60])
    thick = {line.get_label(): line for line in race.lines if not line.get_label().startswith("_")}
    assert thick["dense"].get_xdata()[0] == 5 * 32
    assert (np.diff(thick["tridiagonal"].get_ydata()) <= 0).all()
