"""The example service: predictions of the model, and a clear answer to whatever a client sends."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pandas as pd
import pytest
from fitted_models import fitted

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
testclient = pytest.importorskip("starlette.testclient", reason="starlette is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"
ROW = {"income": 2.5, "age": 40.0, "region": "north", "kind": "a"}


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


service, service_load = example("service"), example("service_load")


def client(kind):
    return testclient.TestClient(service.service(fitted(kind).predictor()))


@pytest.mark.parametrize("kind", ["regressor", "binary", "multiclass", "quantiles", "ordinal"])
def test_answers_are_those_of_the_model(kind):
    model, rows = fitted(kind), [ROW, ROW | {"age": None, "region": "never seen"}, {**ROW, "id": 7}]
    X = pd.DataFrame(rows)[list(ROW)]  # the service, unlike `predict`, says nothing of columns beside these
    wanted = [{"prediction": each} for each in model.predict(X).tolist()]
    if hasattr(model, "predict_proba"):
        for each, shares in zip(wanted, model.predict_proba(X).tolist(), strict=True):
            each["probabilities"] = dict(zip(map(str, model.classes_.tolist()), shares, strict=True))
    if kind == "quantiles":
        for each, found in zip(wanted, model.predict_quantiles(X).tolist(), strict=True):
            each["quantiles"] = dict(zip(("0.1", "0.5", "0.9"), found, strict=True))
    for count in (3, 60):  # beyond FEW_ROWS, in another thread
        answer = client(kind).post("/predict", json=rows * (count // 3))
        assert (answer.status_code, answer.json()) == (200, wanted * (count // 3))
    assert [client(kind).post("/predict", json=row).json() for row in rows] == wanted
    assert client(kind).post("/predict", json=[]).json() == []


@pytest.mark.parametrize("kind", ["regressor", "binary"])
@pytest.mark.parametrize(("body", "status", "words"), [
    ("", 400, "must be JSON"), ("{", 400, "must be JSON"), (b"\xff", 400, "must be JSON"), ("[" * 100_000, 400, "JSON"),
    ('{"income": ' + "9" * 5000 + "}", 400, "must be JSON"), ('"row"', 422, "a row must be a dict"),
    ("3", 422, "a row must be a dict"),
    ("null", 422, "a row must be a dict"), ("{}", 422, "- income"), ("[{}, 3]", 422, "row 0"),
    (json.dumps([ROW, 5]), 422, "row 1: a row must be a dict"),
    (json.dumps(ROW | {"income": "much"}), 422, "column 'income' must hold numbers; got 'much'"),
    (json.dumps(ROW | {"income": [1]}), 422, "column 'income'"), (json.dumps(ROW | {"kind": {}}), 422, "column 'kind'"),
    (json.dumps(ROW | {"kind": 5}), 422, "column 'kind' must hold strings"),
    (json.dumps(ROW | {"income": 10**400}), 422, "column 'income' contains infinity or a value too large"),
    (json.dumps([ROW, ROW | {"income": float("inf")}]), 422, "column 'income' contains infinity"),
    (json.dumps([2.5, 40.0, "north", "a"]), 422, "row 0: a row must be a dict"),
    ('"' + "x" * (5 << 20) + '"', 413, "send fewer rows at a time"),
], ids=lambda value: str(value)[:30])  # fmt: skip
def test_bad_input_is_refused_with_the_reason_and_never_fails(kind, body, status, words):
    answer = client(kind).post("/predict", content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_health_and_wrong_addresses():
    found = client("regressor").get("/health")
    assert found.json() == {"status": "ok", "model": "SpectralRegressor", "columns": list(ROW)}
    for method, path, status in (("get", "/predict", 405), ("get", "/", 404), ("post", "/health", 405)):
        answer = getattr(client("regressor"), method)(path)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


@pytest.mark.slow
def test_a_real_server_answers_on_this_machine_only_until_it_is_ended(tmp_path):
    path = str(tmp_path / "model.safetensors")
    fitted("regressor").save(path)
    with service_load.running(path) as port:
        url = f"http://127.0.0.1:{port}/predict"
        with urllib.request.urlopen(url, json.dumps(ROW).encode(), timeout=30) as answer:
            assert json.load(answer) == {"prediction": fitted("regressor").predictor()(ROW)}
        with pytest.raises(urllib.error.HTTPError, match="422") as refused:
            urllib.request.urlopen(url, b"{}", timeout=30)
        refused.value.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, b"{}", timeout=30)


@pytest.mark.slow
def test_the_load_test_counts_requests_and_errors(tmp_path):
    path, rows = tmp_path / "model.safetensors", tmp_path / "rows.json"
    fitted("binary").save(path)
    rows.write_text(json.dumps([ROW, ROW | {"age": None}]))
    command = [sys.executable, EXAMPLES / "service_load.py", path, rows, "--requests", "200", "--connections", "3"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    line = next(line for line in shown.stdout.splitlines() if line.startswith("│"))
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert [cells[0], cells[1], cells[-1]] == ["3", "200", "0"]
