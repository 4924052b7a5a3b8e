"""Eigenvalues of random matrices, and squareplus."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
pytest.importorskip("pyarrow")
figures = pytest.importorskip("lambdak.paper.output.figures")

from lambdak.paper.output.figures import neurons  # noqa: E402


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
