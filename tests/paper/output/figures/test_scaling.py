"""Error against samples."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.paper.synthetic.grid import Cell, study

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pyarrow")
figures = pytest.importorskip("lambdak.paper.output.figures")
from figure_cases import lines, scalings  # noqa: E402

from lambdak.paper.output.figures import scaling  # noqa: E402


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


@pytest.mark.slow
def test_results_reach_the_figure(all_studies):
    data = scaling.read_scalings(all_studies / "bivariate-quick", ["general"])
    assert set(data) == {cell for cell in study("bivariate", "quick").cells() if cell.fit == "general"}
    for each in data.values():
        assert each.samples.tolist() == [32, 320, 1920]
        assert (each.curve.low <= each.curve.median).all()
        assert (each.curve.median <= each.curve.high).all()
