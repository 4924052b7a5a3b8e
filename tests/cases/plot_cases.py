"""A fan to draw, what can be read off an Axes, and what draws it; without matplotlib the tests are skipped."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.cli.demo_results import Fan

pytest.importorskip("matplotlib").use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
plots = pytest.importorskip("lambdak.explain.plots")
FAN = Fan(
    "price",
    (0.1, 0.5, 0.9),
    quantiles=np.add.outer(np.arange(6.0), [-1.0, 0.0, 1.0]),
    y=np.array([0.0, 9.0, 2.0, -9.0, 4.0, 5.0]),
)


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def rendered(ax):
    return plots.png(ax).startswith(b"\x89PNG")
