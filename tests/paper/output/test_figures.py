"""The figures of the paper: each shows what it claims, from results or by itself."""

from __future__ import annotations

import re
import shutil
from io import BytesIO

import numpy as np
import pytest

from lambdak.paper.synthetic.grid import BEYOND, STUDIES, Cell, study
from lambdak.paper.synthetic.selection import Curve
from lambdak.paper.synthetic.sweep import CellResult
from lambdak.paper.synthetic.targets import make_targets

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pyarrow")
figures = pytest.importorskip("lambdak.paper.output.figures")
from paper_files import write_real_results  # noqa: E402

from lambdak.paper.output.figures import beyond, canvas, neurons, scaling, targets  # noqa: E402
from lambdak.paper.real.protocol import DATASETS  # noqa: E402
from lambdak.paper.synthetic import results  # noqa: E402
from lambdak.paper.synthetic.laws import Curves  # noqa: E402
from lambdak.paper.synthetic.timing import read_times  # noqa: E402

SAMPLES = np.array([32, 320, 3200])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("studies")
    for name in STUDIES | BEYOND:
        for _ in results.run_study(name, "quick", out):
            pass
    for name in BEYOND:
        write_times(out / f"{name}-quick", name)
    for name in DATASETS:
        write_real_results(out, name)
    return out


def write_times(folder, name):
    """A second per sample, times the dim."""
    cells = study(name, "quick").cells()
    (folder / "times.csv").write_text("fit,dim,seconds\n" + "".join(f"{c.fit},{c.dim},{c.dim}\n" for c in cells))


def scalings(dims=(5, 9), complexities=(5, 10), noises=(0.0, 0.1)):
    """Curves that say which cell they are of: medians are unique."""
    cells = [Cell(1, fit, c, n, d) for fit in ("general", "free", "monotone") for c in complexities for n in noises
             for d in dims]  # fmt: skip
    return {cell: scaling.Scaling(SAMPLES, Curve(np.zeros(3, int), *(np.full((3, 3), 1 + i) * [[0.5], [1], [2]])))
            for i, cell in enumerate(cells)}  # fmt: skip


def lines(ax):
    """label: y of every labelled line."""
    return {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}


def test_figures_are_written_as_png_and_svg(finished, tmp_path):
    names = ["univariate-general", "bivariate-targets"]
    written = figures.write_figures(figures.Results(finished, "quick"), tmp_path / "pictures", names)
    assert written.missing == {}
    assert {path.name for path in written.paths} == {f"{name}.{end}" for name in names for end in ("png", "svg")}
    for path in written.paths:
        start = path.read_bytes()[:8]
        assert start == b"\x89PNG\r\n\x1a\n" if path.suffix == ".png" else start.startswith(b"<?xml")
        assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_can_be_drawn_and_is_no_empty_sheet(finished, name):
    figure = figures.FIGURES[name](figures.Results(finished, "quick"))
    figure.savefig(file := BytesIO(), format="raw", dpi=25)
    pixels = np.frombuffer(file.getvalue(), np.uint8).reshape(-1, 4)[:, :3]
    assert 0.02 < (pixels.min(axis=1) < 240).mean() < 0.98


def test_what_has_no_results_is_reported_and_the_rest_is_written(tmp_path):
    names = ["squareplus", "univariate-general"]
    written = figures.write_figures(figures.Results(tmp_path), tmp_path / "pictures", names)
    assert [path.stem for path in written.paths] == ["squareplus"] * 2
    assert list(written.missing) == ["univariate-general"]
    assert "lambdak reproduce" in written.missing["univariate-general"]


def test_a_study_that_is_not_finished_is_not_drawn(finished, tmp_path):
    folder = tmp_path / "univariate-quick"
    shutil.copytree(finished / "univariate-quick", folder)
    next((folder / "parts").glob("1-general-*")).unlink()
    written = figures.write_figures(figures.Results(tmp_path), tmp_path, ["univariate-general", "univariate-monotone"])
    assert "lacks 1 of 4 cells" in written.missing["univariate-general"]
    assert [path.stem for path in written.paths] == ["univariate-monotone"] * 2
    shutil.rmtree(folder / "parts")
    with pytest.raises(FileNotFoundError, match="lacks all cells"):
        scaling.read_scalings(folder, ["general"])


def test_an_unknown_figure_is_refused(tmp_path):
    with pytest.raises(ValueError, match="names must be among neuron"):
        figures.write_figures(figures.Results(tmp_path), tmp_path, ["everything"])


def test_the_same_figure_is_the_same_file():
    assert canvas.as_svg(neurons.draw_squareplus()) == canvas.as_svg(neurons.draw_squareplus())
    assert not re.search(rb"<dc:date>", canvas.as_svg(neurons.draw_squareplus()))


def test_general_panels_show_the_median_of_their_own_cells():
    data = scalings()
    axes = scaling.draw_general(data).axes
    assert [ax.get_title() for ax in axes] == [
        "complexity 5, clean", "complexity 10, clean", "complexity 5, noise 0.1", "complexity 10, noise 0.1",
    ]  # fmt: skip
    for ax, (noise, c) in zip(axes, [(0.0, 5), (0.0, 10), (0.1, 5), (0.1, 10)], strict=True):
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        drawn = lines(ax)
        assert list(drawn) == ["d = 5", "d = 9"]
        for dim in (5, 9):
            curve = data[Cell(1, "general", c, noise, dim)].curve
            np.testing.assert_array_equal(drawn[f"d = {dim}"], curve.median)
        band = ax.collections[0].get_paths()[0].vertices[:, 1]
        first = data[Cell(1, "general", c, noise, 5)].curve
        assert (band.min(), band.max()) == (first.low[0], first.high[0])


def test_monotone_panels_have_complexity_along_rows_and_dims_along_columns():
    data = scalings()
    axes = iter(scaling.draw_monotone(data).axes)
    for c in (5, 10):
        for noise in (0.0, 0.1):
            for dim in (5, 9):
                drawn = lines(next(axes))
                for fit in ("free", "monotone"):
                    expected = data[Cell(1, fit, c, noise, dim)].curve.median
                    np.testing.assert_array_equal(drawn[f"{fit} model"], expected)


def test_five_dims_have_five_colours():
    axes = scaling.draw_general(scalings(dims=(5, 9, 15, 31, 63))).axes
    assert len({line.get_color() for line in axes[0].lines}) == 5


def test_results_reach_the_figure(finished):
    data = scaling.read_scalings(finished / "bivariate-quick", ["general"])
    assert set(data) == {cell for cell in study("bivariate", "quick").cells() if cell.fit == "general"}
    for each in data.values():
        assert each.samples.tolist() == [32, 320, 1920]
        assert (each.curve.low <= each.curve.median).all()
        assert (each.curve.median <= each.curve.high).all()


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


def test_parametrisations_are_drawn_by_dim_and_noise_with_their_costs(finished):
    folder = finished / "definite-quick"
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


def oracle(a, b, x):
    return np.linalg.eigvalsh(a + x[:, None, None] * b)


def test_the_gallery_shows_every_eigenvalue_alone_and_with_the_others():
    figure = neurons.draw_eigenvalues()
    together, *alone = figure.axes
    assert len(alone) == len(together.lines) == 5
    a, b = neurons._uniform_matrices(5, seed=3)
    assert (a == a.T).all()
    assert 0 <= min(a.min(), b.min()) < max(a.max(), b.max()) <= 1
    x = together.lines[0].get_xdata()
    for k, ax in enumerate(alone):
        np.testing.assert_allclose(ax.lines[0].get_ydata(), oracle(a, b, x)[:, k], atol=1e-12)
        np.testing.assert_array_equal(together.lines[k].get_ydata(), ax.lines[0].get_ydata())


def test_no_curve_of_the_monotone_gallery_falls_and_the_outer_ones_bend_one_way():
    together = neurons.draw_monotone_eigenvalues().axes[0]
    curves = [line.get_ydata() for line in together.lines]
    assert len(curves) == 6
    assert all((np.diff(curve) >= -1e-12).all() for curve in curves)
    assert (np.diff(curves[0], 2) <= 1e-10).all()
    assert (np.diff(curves[-1], 2) >= -1e-10).all()


def test_the_derivatives_of_both_ramps_are_their_derivatives():
    left, right = neurons.draw_squareplus().axes
    for at, of in ((1, 0), (2, 1)):
        x, y = left.lines[at].get_data()
        np.testing.assert_allclose(right.lines[of].get_ydata()[1:-1], np.gradient(y, x)[1:-1], atol=1e-3)


def test_targets_are_drawn_with_the_points_that_they_pass_through():
    figure = targets.draw_univariate_targets()
    assert len(figure.axes) == 6
    for ax, kind in zip(figure.axes, ["general", "monotone"] * 3, strict=True):
        assert ax.get_title().startswith(kind)
        assert len(ax.lines) == 6
        for curve, dots in zip(ax.lines[::2], ax.lines[1::2], strict=True):
            near = np.interp(dots.get_xdata(), curve.get_xdata(), curve.get_ydata())
            np.testing.assert_allclose(near, dots.get_ydata(), atol=1e-3)
            if kind == "monotone":
                assert (np.diff(curve.get_ydata()) >= 0).all()


def test_maps_show_x1_to_the_right_and_x2_upwards():
    maps = [ax for ax in targets.draw_bivariate_targets().axes if ax.images]
    assert len(maps) == 18
    for ax in maps[3:6]:  # monotone, complexity 5
        assert (np.diff(np.asarray(ax.images[0].get_array()), axis=0) >= -1e-12).all()
    shown = np.asarray(maps[3].images[0].get_array())
    corner = make_targets("monotone", 2, 5, [0])(np.zeros(1, int), np.array([[4.0, -4.0]]))
    np.testing.assert_allclose(shown[0, -1], corner[0])


def test_the_blending_shows_slices_shares_and_the_blend():
    slices, shares, blend = targets.draw_slice_blending().axes
    assert len(slices.lines) == 5
    for line in slices.lines:
        assert (np.diff(line.get_data_3d()[2]) >= 0).all()
    np.testing.assert_allclose(sum(line.get_ydata() for line in shares.lines), 1)
    assert len(blend.lines) == 5
