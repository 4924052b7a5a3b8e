"""Plots: each returns the Axes it drew on, and what it drew is the data."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.demo import Effect, Fan, Influence

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
plots = pytest.importorskip("lambdak.plots")

X = np.linspace(0.0, 4.0, 5)
CHANGE = np.linspace(-1, 1, 100)[:, None] * X
EFFECT = Effect("age", 1, X, CHANGE, low=-2 * X, high=3 * X)
INFLUENCES = [Influence("weak", 0, 2.0, 1.0, None), Influence("strong", 1, 9.0, 5.0, (0, 7))]
FAN = Fan(
    "price",
    (0.1, 0.5, 0.9),
    quantiles=np.add.outer(np.arange(6.0), [-1.0, 0.0, 1.0]),
    y=np.array([0.0, 9.0, 2.0, -9.0, 4.0, 5.0]),
    crossings=(0, 3),
)
DRAWN = [(plots.draw_effect, EFFECT), (plots.draw_influence, INFLUENCES), (plots.draw_fan, FAN)]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def line(ax, label):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found.get_xydata().T


@pytest.mark.parametrize(("draw", "data"), DRAWN)
def test_each_draws_on_the_given_axes_or_makes_its_own(draw, data):
    ax = plots.side_by_side(2)[1]
    assert draw(data, ax) is ax
    assert not ax.figure.axes[0].has_data()
    own = draw(data)
    assert isinstance(own, plt.Axes)
    assert own is not ax
    for each in (ax, own):
        assert each.get_xlabel()
        assert each.get_title()
        assert len(each.get_legend().get_texts()) >= 2


def test_an_effect_shows_its_mean_its_bounds_and_some_rows():
    ax = plots.draw_effect(EFFECT)
    np.testing.assert_allclose(line(ax, "mean of all rows"), [X, CHANGE.mean(axis=0)])
    edges = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (-8.0, 12.0)
    drawn = {tuple(each.get_ydata()) for each in ax.lines}
    rows = [row for row in CHANGE if tuple(row) in drawn]
    assert 20 < len(rows) <= 40
    assert ax.get_xlabel() == "age"
    assert "never falls" in ax.get_title()
    free = plots.draw_effect(Effect("age", 0, X, CHANGE[:1], -X, X))
    assert "never" not in free.get_title()


def test_the_strongest_column_is_on_top_with_its_bound_and_what_was_seen():
    ax = plots.draw_influence(INFLUENCES)
    assert [bar.get_width() for bar in ax.patches] == [2.0, 9.0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["weak", "strong ↑"]
    np.testing.assert_array_equal(line(ax, "largest change that was seen"), [[1.0, 5.0], [0, 1]])


def test_a_fan_shows_its_bands_its_median_and_which_rows_are_outside():
    ax = plots.draw_fan(FAN)
    np.testing.assert_array_equal(line(ax, "median"), [np.arange(6), np.arange(6)])
    np.testing.assert_array_equal(line(ax, "observed"), [[0, 2, 4, 5], [0, 2, 4, 5]])
    np.testing.assert_array_equal(line(ax, "observed, outside"), [[1, 3], [9, -9]])
    (band,) = ax.collections
    assert band.get_label() == "80 % of the rows should be inside"
    edges = band.get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (-1.0, 6.0)
    assert ax.get_ylabel() == "price"


def test_saving_writes_a_png_and_closes_the_figure(tmp_path):
    ax = plots.draw_fan(FAN)
    plots.save(ax, tmp_path / "fan.png")
    assert (tmp_path / "fan.png").read_bytes().startswith(b"\x89PNG")
    assert not plt.get_fignums()
    ax.remove()
    with pytest.raises(ValueError, match="ax must be on a figure"):
        plots.save(ax, tmp_path / "again.png")
