"""Pictures of survival curves: what is predicted, dotted where it is extrapolated, and counts of rows at risk.

They go through ``curves``.
"""

import numpy as np
import pytest
from survival_cases import fitted_survival, simulated

pytest.importorskip("matplotlib").use("Agg")


def test_lines_are_the_predicted_curves_and_counts_are_those_of_rows_still_observed():
    model, (X, time, event) = fitted_survival(), simulated(60, 5)
    last = model.model_.loss.times[-1]
    ax = model.plot_survival(X[:2], (time, event), names=["calm", "busy"], until=2 * last)
    assert ax.get_legend_handles_labels()[1] == ["calm", "busy"]
    assert [line.get_linestyle() for line in ax.lines] == ["-", "-", ":", ":"]
    for i, line in enumerate(ax.lines):
        times, survival = line.get_data()
        np.testing.assert_allclose(survival, model.predict_survival_function(X[i % 2 : i % 2 + 1], times)[0])
        assert (times <= last).all() == (i < 2)
    counts = [(text.get_position()[0], text.get_text()) for text in ax.texts if text.get_text().isdigit()]
    assert [int(text) for _, text in counts] == [int((time >= at).sum()) for at, _ in counts]


def test_more_curves_than_a_picture_can_hold_are_refused():
    with pytest.raises(ValueError, match="at most 10 rows to be drawn; got 11: choose some"):
        fitted_survival().plot_survival(simulated(11, 5)[0])
