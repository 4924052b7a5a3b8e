"""The demonstration: its numbers against closed forms and scikit-learn, and the command that shows them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import lambdak
from lambdak import cli
from lambdak.cli import demonstration as demo

BMI, BLOOD_PRESSURE = 2, 3


@pytest.fixture(scope="module")
def table():
    return demo.patients()


@pytest.fixture(scope="module")
def model(table):
    return demo.fitted(table, "fast")


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


def test_constrained_columns_never_fall_where_a_peer_does(table, model):
    class Falling:
        def predict(self, X):
            return -X[:, BMI]

    assert demo.falls(model, Falling(), table, pairs=2000) == {"bmi": (0, 2000), "pressure": (0, 0)}


def test_the_fitted_model_knows_its_columns_by_name_and_predicts_as_before(table, model):
    plain = demo.spectral(table, "fast").fit(table.X, table.y)
    np.testing.assert_array_equal(model.predict(table.X), plain.predict(table.X))
    assert model.feature_names_in_.tolist() == list(table.names)
    explanation = model.explain_global(table.X)
    assert {effect.column for effect in explanation.effects} == set(table.names)
    assert explanation["bmi"].sign == explanation["pressure"].sign == 1
    pandas = pytest.importorskip("pandas")
    shuffled = pandas.DataFrame(table.X, columns=table.names)[list(table.names[::-1])]
    np.testing.assert_array_equal(model.predict(shuffled), plain.predict(table.X))


def test_quantiles_never_cross_where_separate_fits_do(table):
    with threadpool_limits(1, user_api="openmp"):  # boosted trees are faster without threads on so few rows
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
        monkeypatch.setattr(cli.demo, name, value)


FILES = {"patients.csv", "model.safetensors", "certificate.json", "report.html"}
PICTURES = {"effects.png", "influence.png", "quantiles.png", "patient.png"}


def test_demo_command_writes_its_files_and_prints_what_they_are(tmp_path, quick):
    pytest.importorskip("matplotlib").use("Agg")
    out = tmp_path / "new"
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.output
    for text in (
        "R² on unseen rows", "boosted trees", "proven", "0 of 500", "held  the prediction never falls as bmi rises",
        "Why patient 0 is predicted so", "Proven: with",
    ):  # fmt: skip
        assert text in result.output
    assert {path.name for path in out.iterdir()} == FILES | PICTURES
    listed = result.output[result.output.index("Files in") :]
    for path in out.iterdir():
        assert path.name in listed
    for name in PICTURES:
        assert (out / name).read_bytes().startswith(b"\x89PNG")
        assert (out / name).stat().st_size < 100_000
    assert json.loads((out / "certificate.json").read_text())["holds"]
    model = lambdak.load(out / "model.safetensors")
    assert model.feature_names_in_.tolist() == list(demo.patients().names)
    assert "<html" in (out / "report.html").read_text()


def test_demo_command_refuses_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "file" / "inside")])
    assert result.exit_code == 1
    assert "--out must be a folder that can be made" in result.output


def test_demo_needs_no_extras_and_says_what_to_install_for_more(tmp_path):
    code = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('matplotlib', 'plotly', 'pandas', 'polars', 'pyarrow'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "from lambdak import cli\n"
        "cli.demo.EFFORT, cli.demo.FOLDS, cli.demo.PAIRS = 'fast', 2, 500\n"
        "cli.app(['demo'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 of 500" in done.stdout
    assert "pip install 'lambdak[plot]'" in done.stdout
    assert "pip install 'lambdak[report]'" in done.stdout
    assert {path.name for path in (tmp_path / "lambdak-demo").iterdir()} == FILES - {"report.html"}
