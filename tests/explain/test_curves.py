"""Survival curves as a picture: values of the curves, dotted where extrapolated, and rows at risk counted."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from survival_cases import fitted_survival, simulated

X, TIME, EVENT = simulated(40, 1)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_lines_are_the_curves_and_are_dotted_beyond_the_last_event():
    model = fitted_survival()
    end = 2 * model.event_times_[-1]
    ax = model.plot_survival(X[:2], names=["a", "b"], until=end)
    whole, beyond = [line for line in ax.lines if line.get_linestyle() == "-"], ax.lines[2:]
    assert [line.get_label() for line in whole] == ["a", "b"]
    assert {line.get_linestyle() for line in beyond} == {":"}
    times, survival = whole[1].get_data()
    np.testing.assert_array_equal(survival, model.predict_survival_function(X[1:2], times)[0])
    assert times[-1] == model.event_times_[-1] == beyond[0].get_xdata()[0]
    assert ax.get_xlim() == (0, end)


def test_rows_at_risk_are_counted():
    ax = fitted_survival().plot_survival(X[:1], (TIME, EVENT), until=2.0)
    counts = [text.get_text() for text in ax.texts[1:]]
    assert counts[0] == "40"
    assert counts == [str((time <= TIME).sum()) for time in np.linspace(0, 2.0, 6)]


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="at most 10 rows to be drawn; got 40"):
        fitted_survival().plot_survival(X)
