"""Colours mean the same in every picture: what rises is blue, what falls is orange."""

from __future__ import annotations

import numpy as np
from fitted_models import X, Y, fitted
from matplotlib import pyplot
from matplotlib.colors import to_hex

from lambdak.explain.plots import FALLS, RISES


def test_rises_and_falls_have_the_colours_that_they_have_in_a_waterfall():
    model = fitted("poisson")
    change = model.compare(np.full(240, Y.mean()), X, np.maximum(Y, 0), n_resamples=20).changes()
    bars = change.plot().patches[: len(change.names)]
    assert to_hex(bars[0].get_facecolor()) == FALLS.lower()
    assert to_hex(bars[len(change.names) - 1].get_facecolor()) == RISES.lower()
    local = model.explain_local(X[:1])
    steps = [patch for patch in local.plot().patches if patch.get_width()]
    colours = {np.sign(patch.get_width()): to_hex(patch.get_facecolor()) for patch in steps}
    assert colours.items() <= {1.0: RISES.lower(), -1.0: FALLS.lower()}.items()
    pyplot.close("all")
