"""The example service: predictions of the model, and a clear answer to whatever a client sends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from fitted_models import SMALL, fitted, table
from service_cases import ROW, part, sample, samples

from lambdak import SpectralRegressor

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
testclient = pytest.importorskip("starlette.testclient", reason="starlette is not installed")

app, bodies, limits, logs, slot = map(part, ("app", "bodies", "limits", "logs", "slot"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A client of a service with a model of some kind, and with settings."""
    folder = tmp_path_factory.mktemp("models")

    def client(kind="regressor", raise_server_exceptions=True, **settings):
        path = folder / f"{kind}.safetensors"
        if not path.exists():
            fitted(kind).save(path)
        service = app.Service(slot.ModelSlot(path), **settings)
        return testclient.TestClient(service.app(), raise_server_exceptions=raise_server_exceptions)

    return client


@pytest.mark.parametrize("kind", ["regressor", "binary", "multiclass", "quantiles", "ordinal"])
def test_answers_are_those_of_the_model(served, kind):
    model, rows = fitted(kind), [ROW, ROW | {"age": None, "region": "never seen"}, {**ROW, "id": 7}]
    X = pd.DataFrame(rows)[list(ROW)]  # the service, unlike `predict`, says nothing of columns beside these
    wanted = [{"prediction": each} for each in model.predict(X).tolist()]
    if hasattr(model, "predict_proba"):
        for each, shares in zip(wanted, model.predict_proba(X).tolist(), strict=True):
            each["probabilities"] = dict(zip(map(str, model.classes_.tolist()), shares, strict=True))
    if kind == "quantiles":
        for each, found in zip(wanted, model.predict_quantiles(X).tolist(), strict=True):
            each["quantiles"] = dict(zip(("0.1", "0.5", "0.9"), found, strict=True))
    for count in (3, 600):  # many bytes: in another thread
        answer = served(kind).post("/predict", json=rows * (count // 3))
        assert (answer.status_code, answer.json()) == (200, wanted * (count // 3))
    assert [served(kind).post("/predict", json=row).json() for row in rows] == wanted
    assert served(kind).post("/predict", json=[]).json() == []


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
def test_bad_input_is_refused_with_the_reason_and_never_fails(served, kind, body, status, words):
    answer = served(kind).post("/predict", content=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_routes_and_wrong_addresses(served):
    client = served()
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json() == {"status": "ready"}
    found = client.get("/model").json()
    assert (found["estimator"], found["columns"]) == ("SpectralRegressor", list(ROW))
    assert client.post("/predict", json=ROW).headers["x-model-sha256"] == found["sha256"]
    for method, path, status in (("get", "/predict", 405), ("get", "/", 404), ("post", "/health", 405)):
        answer = getattr(client, method)(path)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert client.post("/reload").status_code == 404  # without a token there is none


@pytest.mark.parametrize("body", [
    b"", b"{}", b"[[]]", b'{"a": "[[[["}', rb'{"a": "\"[[[["}', rb'{"a": "\\", "b": [[{}]]}', b'["', b'["\\', b"]][",
    b'[{"a": [1, [2]]}, {"b": []}]', b"[" * 9,
])  # fmt: skip
def test_the_depth_of_json_is_found_without_parsing_it(body):
    deepest = level = 0
    inside = escaped = False
    for byte in body.decode():  # character by character
        if inside:
            inside, escaped = escaped or byte != '"', not escaped and byte == "\\"
        elif byte == '"':
            inside = True
        else:
            level += (byte in "[{") - (byte in "]}")
            deepest = max(deepest, level)
    assert bodies.depth(body) == deepest


@pytest.mark.parametrize(("body", "deepest"), [
    (b'"' + rb"\"" * 500_000 + b"\\", 0), (b'[["' + rb"\"[" * 500_000, 2), (b'[{"' + b"\\" * 1_000_001, 2),
    (b'"[" ' * 500_000, 0),
], ids=["escaped quotes", "escaped quotes and brackets", "backslashes", "strings"])  # fmt: skip
def test_a_text_without_an_end_is_looked_through_once(body, deepest):
    assert bodies.depth(body) == deepest  # where every quote is a new beginning, this takes hours


def test_half_a_surrogate_pair_is_no_fault_of_the_service(served):
    for body in (rb'{"\ud800": 1}', rb'[{"\ud800": 1}]', rb'{"\ud800": 1, "\ud800": 2}'):
        for strict in (False, True):
            answer = served(strict=strict).post("/predict", content=body)
            assert answer.status_code in (400, 422)
            assert "\\ud800" in answer.json()["error"]


def test_a_name_that_an_object_has_twice_is_refused_if_columns_are_checked(served):
    body = json.dumps(ROW).replace("{", '{"income": 7, ').encode()
    assert served().post("/predict", content=body).json() == served().post("/predict", json=ROW).json()
    refused = served(strict=True).post("/predict", content=b"[" + body + b"]")
    assert (refused.status_code, refused.json()) == (
        400, {"error": "the name 'income' is in an object twice: send one cell"},
    )  # fmt: skip


def test_large_requests_are_answered_by_few_threads_at_a_time(served, monkeypatch):
    busy, most, real = [], [], app.answers

    def counted(predictor, rows):
        busy.append(1)
        most.append(len(busy))
        time.sleep(0.05)  # so that others could begin
        busy.pop()
        return real(predictor, rows)

    monkeypatch.setattr(app, "answers", counted)
    with served(limits=limits.Limits(max_workers=2)) as client, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: client.post("/predict", json=[ROW] * 200).status_code, range(8)))
    assert found == [200] * 8
    assert max(most) == 2


def test_json_that_is_too_deep_or_has_too_many_rows_is_refused(served):
    client = served(limits=limits.Limits(max_depth=3, max_rows=2))
    assert client.post("/predict", json=[ROW | {"more": []}] * 2).status_code == 200
    deep = client.post("/predict", json=[ROW | {"more": [[]]}])
    assert (deep.status_code, deep.json()["error"][:60]) == (
        400, "the request must be JSON with at most 3 brackets inside of o",
    )  # fmt: skip
    many = client.post("/predict", json=[ROW] * 3)
    assert (many.status_code, many.json()["error"]) == (413, "the request must have at most 2 rows; got 3")


def test_a_large_request_beyond_the_limit_is_refused_while_small_ones_are_answered(served):
    client = served(limits=limits.Limits(max_large=0))
    large = client.post("/predict", json=[ROW] * 2000)
    assert (large.status_code, large.headers["retry-after"]) == (503, "1")
    assert client.post("/predict", json=ROW).status_code == 200


def test_large_requests_no_longer_count_once_they_are_answered(served):
    client = served(limits=limits.Limits(max_large=1))
    for _ in range(3):
        assert client.post("/predict", json=[ROW] * 2000).status_code == 200
        assert client.post("/predict", content=b"x" * (5 << 20)).status_code == 413


def test_unknown_columns_are_ignored_or_refused_by_name(served):
    body = [ROW, ROW | {"incomes": 1}]
    assert served().post("/predict", json=body).status_code == 200
    refused = served(strict=True).post("/predict", json=body)
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("row 1: column 'incomes' is not one of the model; leave it out")
    assert served(strict=True).post("/predict", json=ROW).status_code == 200


def test_an_error_repeats_little_of_what_a_client_sent(served):
    refused = served().post("/predict", json=ROW | {"income": "x" * 1_000_000})
    assert refused.status_code == 422
    assert len(refused.content) < 2_000
    assert "column 'income'" in refused.json()["error"]


def test_a_fault_of_the_service_says_nothing_of_its_inside(served, monkeypatch):
    client = served(raise_server_exceptions=False)

    def broken(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr(app, "answer", broken)
    answer = client.post("/predict", json=ROW, headers={"x-request-id": "abc-1"})
    assert answer.status_code == 500
    assert answer.json() == {"error": "the service failed; its log has more about request abc-1"}
    assert sample(client.get("/metrics").text, "requests_total", route="/predict", status="500") == 1


def test_metrics_are_in_the_format_of_prometheus_and_count_what_happened(served):
    client = served()
    for body in (ROW, [ROW] * 5, {}, "no row"):
        client.post("/predict", json=body)
    client.get("/nothing")
    client.get("/health")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    assert sample(text, "requests_total", route="/predict", status="200") == 2
    assert sample(text, "requests_total", route="/predict", status="422") == 2
    assert sample(text, "requests_total", route="other", status="404") == 1
    assert sample(text, "rows_total") == 6
    assert sample(text, "requests_in_flight") == 1  # the one that asks
    assert sample(text, "model_info", sha256=client.get("/model").json()["sha256"], estimator="SpectralRegressor") == 1
    assert sample(text, "model_loaded_timestamp_seconds") > 1.7e9
    counts = {dict(key[1])["le"]: value for key, value in samples(text).items()
              if key[0].endswith("_bucket") and dict(key[1])["route"] == "/predict"}  # fmt: skip
    bounds = sorted(counts, key=float)
    assert bounds[-1] == "+Inf"
    assert np.all(np.diff([counts[bound] for bound in bounds]) >= 0)
    assert counts["+Inf"] == sample(text, "request_seconds_count", route="/predict") == 4
    assert sample(text, "request_seconds_sum", route="/predict") > 0


def test_a_request_is_one_line_of_json_in_the_access_log(served, caplog):
    client = served()
    with caplog.at_level(logging.INFO, logs.ACCESS.name):
        client.post("/predict?secret=1", json=[ROW, ROW], headers={"x-request-id": "abc-1"})
        other = client.get("/%0A", headers={"x-request-id": "not good\t"})
    first, second = (
        json.loads(logs.JsonLines().format(record)) for record in caplog.records if record.name == logs.ACCESS.name
    )
    assert {name: first[name] for name in ("event", "method", "route", "status", "id", "rows")} == {
        "event": "request", "method": "POST", "route": "/predict", "status": 200, "id": "abc-1", "rows": 2,
    }  # fmt: skip
    assert "secret" not in json.dumps(first)
    assert (second["route"], second["status"]) == ("other", 404)
    assert second["id"] == other.headers["x-request-id"] != "not good\t"


def test_reload_takes_the_token_alone_and_a_bad_file_leaves_the_old_model(tmp_path):
    path = tmp_path / "model.safetensors"
    fitted("regressor").save(path)
    service = app.Service(slot.ModelSlot(path), reload_token="token")
    client = testclient.TestClient(service.app())
    for headers in ({}, {"authorization": "Bearer tokens"}, {"authorization": "Bearer "}):
        assert client.post("/reload", headers=headers).status_code == 401
    right, old = {"authorization": "Bearer token"}, client.post("/predict", json=ROW).json()
    fitted("free").save(path)
    assert client.post("/reload", headers=right).json()["sha256"] == slot.read_model(path, None).sha256
    new = client.post("/predict", json=ROW).json()
    assert new == {"prediction": fitted("free").predictor()(ROW)} != old
    for bad in (path.read_bytes()[:-10], b"", None, "binary", "sparse"):
        path.unlink(missing_ok=True)
        if isinstance(bad, str):
            fitted(bad).save(path)  # a good file, of another form
        elif bad is not None:
            path.write_bytes(bad)
        refused = client.post("/reload", headers=right)
        assert refused.status_code == 409
        assert str(tmp_path) not in refused.text
        assert client.post("/predict", json=ROW).json() == new
    text = client.get("/metrics").text
    assert [sample(text, "reloads_total", result=result) for result in ("success", "failure")] == [1, 5]
    assert sample(text, "last_reload_failed") == 1


def test_a_pipe_a_device_and_a_folder_are_refused_and_not_waited_for(tmp_path):
    path = tmp_path / "model.safetensors"
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)):
        make(path)
        with pytest.raises(ValueError, match=r"model.safetensors is a folder, a pipe or a device: give the file"):
            slot.read_model(path, None)
        path.rmdir() if path.is_dir() else path.unlink()


def test_signals_to_reload_that_come_meanwhile_are_one(tmp_path):
    path, reads = tmp_path / "model.safetensors", []
    fitted("regressor").save(path)
    service = app.Service(slot.ModelSlot(path))
    server = part("server").Server(service, "127.0.0.1", 0)

    async def reload(why):
        reads.append(why)
        await asyncio.sleep(0.01)

    async def storm():
        server._loop = asyncio.get_running_loop()
        for _ in range(2):
            for _ in range(50):
                server._reload()
            await asyncio.sleep(0)  # the first one begins
        await server._reloading

    service.slot.reload = reload
    asyncio.run(storm())
    assert reads == ["SIGHUP"] * 2


def test_a_column_that_turns_from_numbers_to_text_is_another_form(tmp_path):
    path, (X, y) = tmp_path / "model.safetensors", table(60)
    as_text = X.assign(age=np.where(X["age"] > 40, "old", "young"))
    fitted("regressor").save(path)
    service = app.Service(slot.ModelSlot(path), reload_token="token")
    client = testclient.TestClient(service.app())
    SpectralRegressor(**SMALL).fit(as_text, y).save(path)
    assert client.post("/reload", headers={"authorization": "Bearer token"}).status_code == 409


def test_another_form_is_taken_if_that_was_requested(tmp_path):
    path = tmp_path / "model.safetensors"
    fitted("regressor").save(path)
    service = app.Service(slot.ModelSlot(path, any_form=True), reload_token="token")
    client = testclient.TestClient(service.app())
    fitted("binary").save(path)
    assert client.post("/reload", headers={"authorization": "Bearer token"}).status_code == 200
    assert "probabilities" in client.post("/predict", json=ROW).json()
