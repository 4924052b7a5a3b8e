"""lambdak as a model of AutoGluon: through AutoGluon itself where it is installed, else through a stand-in."""

from __future__ import annotations

import importlib
import importlib.util
import re
import runpy
import sys
from pathlib import Path

import autogluon_stand_in
import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralQuantileRegressor, SpectralRegressor

ROOT = Path(__file__).parents[1]
INSTALLED = importlib.util.find_spec("autogluon") is not None
QUICK = {"effort": "fast", "dim": 2, "n_estimators": 1, "max_iter": 3}
needs_autogluon = pytest.mark.skipif(not INSTALLED, reason="AutoGluon is not installed: pip install autogluon.tabular")
# What AutoGluon and its libraries warn of is not lambdak's.
calm = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=240), "b": pd.Categorical(RNG.choice(["u", "v", "w"], 240))})
SIGNAL = TABLE["a"] + 0.5 * (TABLE["b"] == "v")
TARGETS = {
    "regression": SIGNAL,
    "quantile": SIGNAL,
    "binary": (SIGNAL > 0).astype(int),
    "multiclass": pd.cut(SIGNAL, [-9, -0.5, 0.5, 9], labels=False),
}


@pytest.fixture
def model_class(monkeypatch):
    """The wrapper over the stand-in of AutoGluon, which is gone afterwards."""
    autogluon_stand_in.install(monkeypatch)
    yield importlib.import_module("lambdak.autogluon").LambdakModel
    sys.modules.pop("lambdak.autogluon")


def direct(task, **settings):
    """The estimator that the wrapper must come to."""
    if task == "quantile":
        return SpectralQuantileRegressor((0.1, 0.9), random_state=3, **settings)
    return (SpectralRegressor if task == "regression" else SpectralClassifier)(random_state=3, **settings)


@pytest.mark.parametrize("task", TARGETS)
def test_predictions_are_those_of_the_estimator_with_the_same_settings(model_class, task):
    weight = RNG.uniform(0.5, 2.0, len(TABLE))
    model = model_class(problem_type=task, hyperparameters=QUICK)
    model.quantile_levels = [0.1, 0.9]
    model.fit(X=TABLE, y=TARGETS[task], sample_weight=weight, random_seed=3, num_cpus=1, time_limit=60, X_val=TABLE)
    own = direct(task, **QUICK).fit(TABLE, TARGETS[task], sample_weight=weight)
    assert model.model.n_jobs == 1
    if task == "quantile":
        expected = own.predict_quantiles(TABLE)
        assert expected.shape == (len(TABLE), 2)
    else:
        expected = own.predict(TABLE) if task == "regression" else own.predict_proba(TABLE)
    assert (model.predict_proba(TABLE) == (expected[:, 1] if task == "binary" else expected)).all()


def test_the_name_the_key_and_the_seed_are_what_autogluon_asks_for(model_class):
    assert (model_class.ag_key, model_class.ag_name, model_class.seed_name) == ("LAMBDAK", "lambdak", "random_state")
    assert set(model_class._supported_problem_types) == set(TARGETS)


@pytest.mark.parametrize(
    ("rows", "columns", "classes", "megabytes"),
    [(5000, 500, None, 534), (50_000, 20, None, 319), (5000, 20, 20, 330), (20_000, 16, 26, 389), (2000, 10, 2, 241)],
)
def test_the_estimate_of_memory_is_above_what_was_measured(model_class, rows, columns, classes, megabytes):
    table = pd.DataFrame(np.zeros((rows, columns), dtype=np.float32))
    estimate = model_class._estimate_memory_usage_static(X=table, num_classes=classes)
    assert megabytes * 2**20 <= estimate <= 2 * megabytes * 2**20


@pytest.mark.skipif(INSTALLED, reason="AutoGluon is installed")
def test_without_autogluon_the_error_says_what_to_install():
    with pytest.raises(ImportError, match=r"lambdak.autogluon needs AutoGluon: pip install autogluon.tabular"):
        importlib.import_module("lambdak.autogluon")


@needs_autogluon
@calm
@pytest.mark.slow
@pytest.mark.parametrize("task", TARGETS)
def test_autogluon_fits_bags_saves_and_loads_lambdak_beside_two_other_models(task, tmp_path):
    from autogluon.tabular import TabularPredictor

    from lambdak.autogluon import LambdakModel

    others = {"KNN": {}, "LR": {}} if task != "quantile" else {"RF": {"n_estimators": 20}, "XT": {"n_estimators": 20}}
    table = TABLE.assign(y=TARGETS[task])
    levels = {"quantile_levels": [0.1, 0.9]} if task == "quantile" else {}
    predictor = TabularPredictor("y", problem_type=task, path=str(tmp_path / "models"), verbosity=0, **levels)
    fitting = {"num_bag_folds": 2, "num_bag_sets": 1, "num_cpus": 1, "dynamic_stacking": False, "num_stack_levels": 0}
    strategy = {"ag_args_ensemble": {"fold_fitting_strategy": "sequential_local"}}
    settings = QUICK | ({"monotonic_cst": {"a": 1}} if task != "multiclass" else {})
    predictor.fit(table, hyperparameters={LambdakModel: settings, **others}, **fitting, **strategy)
    board = predictor.leaderboard(table).set_index("model")
    assert board.index.str.startswith("lambdak").any()
    assert len(board) >= 3
    assert np.isfinite(board["score_val"]).all()
    own = next(name for name in board.index if name.startswith("lambdak"))
    again = TabularPredictor.load(str(tmp_path / "models")).predict(table, model=own)
    assert (again == predictor.predict(table, model=own)).to_numpy().all()
    predictor.refit_full(own)
    bag = predictor._trainer.load_model(predictor.model_refit_map()[own])  # of one model, on all rows
    assert bag.load_child(bag.models[0]).model.certify().holds


@needs_autogluon
@calm
@pytest.mark.slow
def test_the_program_of_the_examples_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "autogluon_models.py"), run_name="__main__")
    assert "lambdak" in capsys.readouterr().out


@needs_autogluon
@calm
@pytest.mark.slow
def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "docs" / "guide" / "estimators.md").read_text().partition("## AutoGluon")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```py\n(.*?)^```\n", section, re.MULTILINE | re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(block, names)
    assert "lambdak" in set(names["predictor"].leaderboard()["model"])
