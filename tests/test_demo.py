"""The demonstration: its numbers against closed forms and scikit-learn, and the command that shows them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from typer.testing import CliRunner

from lambdak import cli, demo

BMI, BLOOD_PRESSURE, SUGAR = 2, 3, 9


@pytest.fixture(scope="module")
def table():
    return demo.patients()


@pytest.fixture(scope="module")
def model(table):
    return demo.spectral(table, "fast").fit(table.X, table.y)


def test_patients_are_in_their_own_units_and_two_columns_shall_rise(table):
    assert table.X.shape == (442, 10)
    assert 18 <= table.X[:, BMI].min() < table.X[:, BMI].max() < 43
    assert np.flatnonzero(table.signs).tolist() == [BMI, BLOOD_PRESSURE]
    assert len(set(table.names)) == 10


def test_scores_are_those_of_cross_validation(table):
    models = {"mean": DummyRegressor(), "linear": LinearRegression()}
    found = list(demo.scores(table, models, 3))
    assert [score.model for score in found] == ["mean", "linear"] * 3
    folds = KFold(3, shuffle=True, random_state=0)
    for name, peer in models.items():
        expected = cross_val_score(peer, table.X, table.y, cv=folds)
        np.testing.assert_allclose([score.r2 for score in found if score.model == name], expected)
    assert all(score.seconds > 0 for score in found)


def test_constrained_columns_never_fall_and_no_column_exceeds_what_is_proven(table, model):
    class Falling:
        def predict(self, X):
            return -X[:, BMI]

    found = list(demo.influences(model, Falling(), table, pairs=2000))
    assert [each.column for each in found] == list(table.names)
    np.testing.assert_array_equal([each.proven for each in found], model.feature_strengths_)
    assert all(0 < each.seen <= each.proven for each in found)
    assert found[BMI].falls == (0, 2000)
    assert found[BLOOD_PRESSURE].falls == (0, 0)
    assert [each.falls for each in found if not each.sign] == [None] * 8


@pytest.mark.parametrize("column", [BMI, SUGAR])
def test_effects_stay_inside_of_their_bounds_and_the_bounds_inside_of_the_proven_influence(table, model, column):
    effect = demo.effect(model, table, column, points=21)
    assert effect.change.shape == (442, 22)
    assert (np.diff(effect.x) >= 0).all()
    middle = np.searchsorted(effect.x, np.median(table.X[:, column]))
    assert not effect.change[:, middle].any()
    assert (effect.change >= effect.low - 1e-4).all()
    assert (effect.change <= effect.high + 1e-4).all()
    strength = model.feature_strengths_[column] * (1 + 1e-6)
    assert max(-effect.low.min(), effect.high.max()) <= strength
    if effect.sign:
        assert (np.diff(effect.change, axis=1) >= -1e-9).all()
        assert (effect.low[middle:] >= -1e-9).all()
        assert (effect.high[:middle] <= 1e-9).all()


def test_effects_are_differences_of_predictions(table, model):
    effect = demo.effect(model, table, SUGAR, points=3)
    changed, middle = table.X[:5].copy(), table.X[:5].copy()
    changed[:, SUGAR], middle[:, SUGAR] = effect.x[-1], np.median(table.X[:, SUGAR])
    np.testing.assert_allclose(effect.change[:5, -1], model.predict(changed) - model.predict(middle), atol=1e-4)


def test_quantiles_never_cross_where_separate_fits_do(table):
    fan = demo.fan(table, rows=2000, effort="fast", levels=(0.1, 0.4, 0.5, 0.6, 0.9))
    ours, apart = fan.crossings
    assert ours == 0
    assert apart > 100
    assert fan.quantiles.shape == (len(fan.y), 5) == (148, 5)
    assert (np.diff(fan.quantiles[:, 2]) >= 0).all()
    assert sorted(fan.y.tolist()) != fan.y.tolist()
    assert fan.inside.sum() == sum(low <= y <= high for y, (low, *_, high) in zip(fan.y, fan.quantiles, strict=True))
    assert 0.6 < fan.inside.mean() < 0.95


@pytest.fixture
def quick(monkeypatch):
    for name, value in {"EFFORT": "fast", "FOLDS": 2, "PAIRS": 500}.items():
        monkeypatch.setattr(cli, name, value)


def test_demo_command_writes_its_pictures_and_prints_its_tables(tmp_path, quick):
    pytest.importorskip("matplotlib").use("Agg")
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    for text in ("R² on unseen rows", "boosted trees", "body mass index", "proven", "0 of 500"):
        assert text in result.output
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"effects.png", "influence.png", "quantiles.png"}
    for path in (tmp_path / "new").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 100_000
        assert path.name in result.output.replace("\n", "")


def test_demo_command_refuses_a_folder_that_cannot_be_made(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").touch()
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "file" / "inside")])
    assert result.exit_code == 1
    assert "--out must be a folder that can be made" in result.output


def test_demo_without_matplotlib_runs_and_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from lambdak import cli\n"
        "cli.EFFORT, cli.FOLDS, cli.PAIRS = 'fast', 2, 500\n"
        "cli.app(['demo'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 of 500" in done.stdout
    assert "pip install 'lambdak[plot]'" in done.stdout
    assert not list(tmp_path.iterdir())


def test_config_command_prints_the_kernel():
    result = CliRunner().invoke(cli.app, ["config"])
    assert result.exit_code == 0
    assert "kernel" in result.output


def test_help_lists_the_commands_and_an_unknown_one_is_refused():
    runner = CliRunner()
    assert "demo" in runner.invoke(cli.app, ["--help"]).output
    assert runner.invoke(cli.app, ["nonsense"]).exit_code == 2
