"""How a fitted estimator looks: the card of a notebook, learning curves, and one that grows while it is fitted.

Tests ``training/live_curve`` and ``explain/learning_curves``.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, X, Y, fitted
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import lambdak
from lambdak import SpectralRegressor
from lambdak.explain.learning_curves import LearningCurves
from lambdak.losses import make_loss
from lambdak.training.live_curve import curve_svg
from lambdak.training.trainer import Event


def card_of(model):
    return model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("regressor", ["predicts a number (squared error); 4 columns", "% of the target&#x27;s variance",
                       "2 of 2 requested guarantees proven", "✓ the prediction never falls as income rises"]),
        ("capped", ["✓ no change of income moves the prediction by more than"]),
        ("binary", ["predicts one of 2 classes: no, yes", "log loss 0."]),
        ("quantiles", ["predicts quantiles 0.1, 0.5, 0.9", "✓ a higher quantile is never below a lower one"]),
        ("ordinal", ["predicts one of 4 ordered classes: 0, 1, 2, 3"]),
        ("poisson", ["mean poisson deviance 0.", "no guarantee was requested"]),
    ],
)  # fmt: skip
def test_a_card_tells_task_score_guarantees_and_the_strongest_columns(kind, words):
    model = fitted(kind)
    html = card_of(model)
    for each in words:
        assert each in html
    assert "Strongest columns (mean effect on training rows):" in html
    names = [column.name for column in model.model_.encoder.columns]
    shown = re.findall(r"</span> (\w+)</div>", html)
    assert shown == [names[i] for i in np.argsort(-model.feature_importances_)]
    assert model._repr_html_().partition("<details")[0] == html.partition("<details")[0]


def test_a_card_has_the_colours_of_its_page_and_holds_the_diagram_of_scikit_learn():
    html = card_of(fitted("regressor"))
    own = html[: html.index("<details")]
    assert "color:inherit;background:transparent" in own
    assert not re.search(r"color:\s*(black|white|#000|#fff)", own)
    assert "sk-container-id" in html[html.index("<details") :]


def test_names_are_text_in_a_card():
    table = X[["income"]].rename(columns={"income": "<script>alert(1)</script>"})
    html = card_of(SpectralRegressor(monotonic_cst="increasing", **SMALL).fit(table, Y))
    assert "&lt;script&gt;alert(1)" in html[: html.index("<details")]
    assert "<script>alert" not in html[: html.index("<details")]


def test_an_estimator_that_is_not_fitted_and_other_displays_are_scikit_learns_own():
    html = card_of(clone(fitted("regressor")))
    assert "lambdak-card" not in html
    assert "sk-container-id" in html
    with config_context(display="text"):
        assert "text/html" not in fitted("regressor")._repr_mimebundle_()
        assert not hasattr(fitted("regressor"), "_repr_html_")


def test_the_diagram_of_a_pipeline_is_scikit_learns_own():
    pipeline = make_pipeline(FunctionTransformer(), SpectralRegressor(**SMALL)).fit(X[["income"]], Y)
    html = pipeline._repr_mimebundle_()["text/html"]
    assert "SpectralRegressor" in html
    assert "sk-serial" in html
    assert "lambdak-card" not in html


def test_a_loaded_model_has_a_card_of_what_is_known_but_no_curves(tmp_path):
    fitted("regressor").save(tmp_path / "m.safetensors")
    loaded = lambdak.load(tmp_path / "m.safetensors")
    html = card_of(loaded)
    assert "Strongest columns (the most a column can do, proven):" in html
    assert "validation rows" not in html
    with pytest.raises(AttributeError, match="plot_history needs the curves of a fit"):
        loaded.plot_history()
    with pytest.raises(NotFittedError):
        clone(loaded).plot_history()


# ---- learning curves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "factor", "metric"),
    [
        ("squared_error", 2.0, "share of the variance that is not explained"),
        ("poisson", 2.0, "mean poisson deviance"),
        ("absolute_error", 1.0, "absolute error loss, in spreads of the target"),
    ],
)
def test_curves_are_metrics_that_people_know(loss, factor, metric):
    train, seen = np.array([[3.0, 4.0], [1.0, 2.0], [0.5, 1.0]]), np.array([[3.0, 4.0], [2.0, 2.0], [2.5, 1.0]])
    curves = LearningCurves.of(make_loss(loss), train, seen)
    np.testing.assert_array_equal(curves.training, factor * train)
    assert curves.metric == metric
    assert curves.chosen.tolist() == [2, 3]
    assert curves.best == 3
    assert curves.epochs.tolist() == [1, 2, 3]
    assert str(curves).startswith(f"3 epochs; the {metric} was lowest on validation rows after epoch 3: ")


def test_history_is_drawn_with_the_epochs_that_were_kept():
    plt = pytest.importorskip("matplotlib.pyplot")
    model = fitted("regressor")
    ax = model.plot_history()
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    mean = lines["validation rows, mean of the members"]
    np.testing.assert_allclose(mean[:, 1], 2 * model.validation_curve_.mean(axis=1), rtol=1e-6)
    assert mean[:, 0].tolist() == [1, 2, 3]
    kept = lines["kept, of each member"]
    np.testing.assert_array_equal(kept[:, 0], 1 + model.validation_curve_.argmin(axis=0))
    assert ax.get_xlabel() == "epoch"
    own = plt.figure().subplots()
    assert model.plot_history(own) is own
    plt.close("all")


class Display:
    """IPython's display, as a notebook has it: what it showed is kept."""

    def __init__(self, kernel):
        self.shown = []
        shell = SimpleNamespace(kernel=object()) if kernel else SimpleNamespace()
        self.package, self.module = ModuleType("IPython"), ModuleType("IPython.display")
        self.package.get_ipython = lambda: shell
        self.module.HTML = str
        self.module.display = lambda *given, **options: self
        self.package.display = self.module

    def update(self, html):
        self.shown.append(html)


@pytest.mark.parametrize(("kernel", "verbose"), [(True, 2), (True, 1), (False, 2)])
def test_a_curve_grows_in_a_notebook_if_it_is_requested(monkeypatch, kernel, verbose, capsys):
    display = Display(kernel)
    monkeypatch.setitem(sys.modules, "IPython", display.package)
    monkeypatch.setitem(sys.modules, "IPython.display", display.module)
    model = SpectralRegressor(**SMALL | {"verbose": verbose}).fit(X[["income"]], pd.Series(Y))
    if kernel and verbose == 2:
        assert "epoch 3 of 3; validation loss" in display.shown[-1]
        assert "fitting" not in capsys.readouterr().out
    else:
        assert not display.shown
    silent = SpectralRegressor(**SMALL).fit(X[["income"]], pd.Series(Y))
    np.testing.assert_array_equal(model.predict(X[["income"]]), silent.predict(X[["income"]]))


def test_the_last_picture_shows_where_training_stopped_early(monkeypatch):
    display = Display(True)
    monkeypatch.setitem(sys.modules, "IPython", display.package)
    monkeypatch.setitem(sys.modules, "IPython.display", display.module)
    monkeypatch.setattr("lambdak.training.live_curve._PAUSE", 1e9)  # nothing is shown in between
    settings = SMALL | {"verbose": 2, "max_iter": 40, "early_stopping": True, "n_iter_no_change": 1, "tol": 1e9}
    model = SpectralRegressor(**settings).fit(X[["income"]], pd.Series(Y))
    assert model.n_iter_ < 40
    assert f"epoch {model.n_iter_} of 40; validation loss" in display.shown[-1]


def test_the_picture_of_the_epochs_so_far_is_svg_without_fixed_colours_of_text():
    losses = [(np.array([1 / (i + 1)]), np.array([0.5 + abs(i - 2) / 9])) for i in range(4)]
    events = [Event(i + 1, 5, train, seen, -train, -seen, float(i)) for i, (train, seen) in enumerate(losses)]
    svg = curve_svg(events)
    assert svg.startswith("<svg ")
    assert svg.count("<polyline") == 2
    points = [tuple(map(float, point.split(","))) for point in re.findall(r'points="([^"]+)"', svg)[1].split()]
    assert len(points) == 4
    assert max(points, key=lambda point: point[1]) == points[2]  # the lowest loss is the lowest point
    assert "epoch 4 of 5; validation loss 0.6111, lowest 0.5" in svg
    assert 'fill="currentColor"' in svg
    assert curve_svg(events[:1]).count("<polyline") == 2
