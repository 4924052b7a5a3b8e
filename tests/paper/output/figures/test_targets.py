"""The random targets."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.paper.protocols import CONVENTIONS
from lambdak.paper.synthetic.targets import make_targets

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pyarrow")
figures = pytest.importorskip("lambdak.paper.output.figures")

from lambdak.paper.output.figures import targets  # noqa: E402


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
    corner = make_targets("monotone", 2, 5, [0], CONVENTIONS["released"])(np.zeros(1, int), np.array([[4.0, -4.0]]))
    np.testing.assert_allclose(shown[0, -1], corner[0])


def test_the_blending_shows_slices_shares_and_the_blend():
    slices, shares, blend = targets.draw_slice_blending().axes
    assert len(slices.lines) == 5
    for line in slices.lines:
        assert (np.diff(line.get_data_3d()[2]) >= 0).all()
    np.testing.assert_allclose(sum(line.get_ydata() for line in shares.lines), 1)
    assert len(blend.lines) == 5
