"""Models in MLflow, against a store in a folder: ``flavour``, ``schema``, ``autologging`` and ``trust``."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from fitted_models import NUMBERS, X, Y, fitted
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lambdak import DateExpander, SpectralClassifier, SpectralRegressor

mlflow = pytest.importorskip("mlflow")
flavour = pytest.importorskip("lambdak.mlflow")

# MLflow warns of a store in a folder, of its own future, and of the git repository that it looks for.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield tmp_path
    flavour.autolog(disable=True)
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(None)


@pytest.mark.parametrize("kind", ["regressor", "poisson", "multiclass", "quantiles", "ordinal"])
def test_a_model_that_was_logged_predicts_the_same_bit_for_bit(kind):
    model = fitted(kind)
    with mlflow.start_run():
        info = flavour.log_model(model, report=False)
    loaded = flavour.load_model(info.model_uri)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.to_json() == model.to_json()


def test_a_pyfunc_takes_the_table_and_serves_every_way_to_predict(store):
    model = fitted("binary")
    flavour.save_model(model, str(store / "model"), report=False)
    served = mlflow.pyfunc.load_model(str(store / "model"))
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
    chances = served.predict(X, params={"method": "predict_proba"})
    np.testing.assert_array_equal(chances, model.predict_proba(X))
    with pytest.raises(ValueError, match="method must be one of 'predict', 'predict_proba'; got 'fit'"):
        served.predict(X, params={"method": "fit"})
    assert served.get_raw_model().classes_.tolist() == ["no", "yes"]


def test_the_folder_holds_a_safetensors_file_certificate_and_report_and_no_pickle(store):
    model = fitted("regressor")
    flavour.save_model(model, str(store / "model"), report={"X_test": X[:60], "y_test": Y[:60], "n_resamples": 5})
    files = {path.relative_to(store / "model").as_posix() for path in (store / "model").rglob("*") if path.is_file()}
    assert {
        f"data/model/{name}" for name in ("model.safetensors", "certificate.json", "certificate.txt", "report.html")
    } <= files
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".skops"))]
    assert json.loads((store / "model/data/model/certificate.json").read_text())["holds"] is True
    assert "guarantees are proven" in (store / "model/data/model/certificate.txt").read_text()
    assert "60 rows" in (store / "model/data/model/report.html").read_text()
    assert "\nlambdak==" in (store / "model/requirements.txt").read_text()


def test_the_signature_names_all_columns_and_the_example_can_be_predicted(store):
    flavour.save_model(fitted("regressor"), str(store / "model"), report=False)
    saved = mlflow.models.Model.load(str(store / "model"))
    assert {column.name: column.type.name for column in saved.signature.inputs} == {
        "income": "double", "age": "double", "region": "string", "kind": "string",
    }  # fmt: skip
    example = saved.load_input_example(str(store / "model"))
    assert list(example.columns) == list(X.columns)
    assert example["income"][0] == pytest.approx(X["income"].median(), rel=0.05)
    assert np.isfinite(mlflow.pyfunc.load_model(str(store / "model")).predict(example)).all()


def test_whole_numbers_with_and_without_missing_cells_are_served(store):
    rows = X[["kind"]].assign(children=np.arange(240) % 5)
    model = SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2).fit(rows, Y)
    flavour.save_model(model, str(store / "model"), report=False)
    served = mlflow.pyfunc.load_model(str(store / "model"))
    for table in (rows, rows.assign(children=[np.nan, *rows["children"][1:]])):
        np.testing.assert_array_equal(served.predict(table), model.predict(table))


def test_a_table_without_a_column_is_refused_before_it_is_served(store):
    flavour.save_model(fitted("regressor"), str(store / "model"), report=False)
    with pytest.raises(mlflow.exceptions.MlflowException, match="income"):
        mlflow.pyfunc.load_model(str(store / "model")).predict(X.drop(columns="income"))


def test_a_model_of_an_array_takes_arrays(store):
    model = SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2).fit(NUMBERS.to_numpy(), Y)
    flavour.save_model(model, str(store / "model"), report=False)
    served = mlflow.pyfunc.load_model(str(store / "model"))
    np.testing.assert_array_equal(served.predict(NUMBERS.to_numpy()), model.predict(NUMBERS.to_numpy()))


def test_a_pipeline_is_logged_with_its_steps_and_an_example(store):
    pipeline = make_pipeline(StandardScaler(), SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2))
    pipeline.fit(NUMBERS, Y)
    flavour.save_model(pipeline, str(store / "model"), input_example=NUMBERS[:2], report=False)
    np.testing.assert_array_equal(flavour.load_model(str(store / "model")).predict(NUMBERS), pipeline.predict(NUMBERS))
    served = mlflow.pyfunc.load_model(str(store / "model"))
    np.testing.assert_array_equal(served.predict(NUMBERS), pipeline.predict(NUMBERS))


def test_mlflow_itself_writes_the_model_with_the_types_that_are_declared(store):
    model = fitted("regressor")
    types = flavour.trusted_types(model)
    assert all(name.startswith("lambdak.") for name in types)
    mlflow.sklearn.save_model(model, str(store / "model"), skops_trusted_types=types)
    monkey = mlflow.sklearn.load_model(str(store / "model"))
    np.testing.assert_array_equal(monkey.predict(X), model.predict(X))


def test_types_of_others_are_not_declared_as_safe():
    rows = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=40), "x": np.arange(40.0)})
    small = SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2)
    pipeline = make_pipeline(DateExpander(["day"]), small).fit(rows, np.arange(40.0))
    names = flavour.trusted_types(pipeline)
    assert "lambdak.estimators.dates.DateExpander" in names
    assert not [name for name in names if not name.startswith(("lambdak.", "numpy."))]


def test_autolog_logs_settings_figures_and_the_model():
    flavour.autolog()
    with mlflow.start_run() as run:
        model = SpectralRegressor(effort="fast", max_iter=2, dim=3, monotonic_cst={"income": 1}, random_state=0)
        model.fit(X, Y)
    data = mlflow.get_run(run.info.run_id).data
    assert data.params["estimator"] == "SpectralRegressor"
    assert (data.params["dim"], data.params["monotonic_cst"]) == ("3", "{'income': 1}")
    assert set(data.params) == {"estimator", *model.get_params()}
    assert data.metrics["epochs"] == model.n_iter_
    assert data.metrics["guarantees_proven"] == data.metrics["guarantees_requested"] == 1
    assert data.metrics["validation_loss"] == pytest.approx(model.validation_curve_.min(axis=0).mean())
    logged = mlflow.search_logged_models(output_format="list")
    np.testing.assert_array_equal(flavour.load_model(logged[0].model_uri).predict(X), model.predict(X))


def test_autolog_begins_a_run_of_its_own_and_one_within_for_a_second_fit():
    flavour.autolog(log_models=False)
    small = SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2)
    small.fit(X, Y)
    assert mlflow.active_run() is None
    with mlflow.start_run() as run:
        small.fit(X, Y)
        SpectralClassifier(effort="fast", max_iter=1, n_estimators=1, dim=2).fit(X, Y > 1)
        small.partial_fit(X, Y)
    runs = mlflow.search_runs(output_format="list")
    within = [own for own in runs if own.data.tags.get("mlflow.parentRunId") == run.info.run_id]
    assert len(runs) == 3
    assert [own.data.params["estimator"] for own in within] == ["SpectralClassifier"]


def test_autolog_ends_when_it_is_told_to():
    flavour.autolog()
    flavour.autolog(disable=True)
    SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=2).fit(X, Y)
    assert mlflow.search_runs(output_format="list") == []


def test_what_is_no_model_of_this_library_is_refused(store):
    with pytest.raises(TypeError, match="save takes a lambdak estimator"):
        flavour.save_model(StandardScaler(), str(store / "model"))
    mlflow.models.Model().save(str(store / "MLmodel"))
    with pytest.raises(ValueError, match="model_uri must be a model of the flavour 'lambdak'"):
        flavour.load_model(str(store))


def test_importing_the_library_does_not_import_mlflow():
    program = "import sys, lambdak; lambdak.SpectralRegressor; print('mlflow' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
