"""The example service as a process: hostile and slow clients, new model files under load, and a graceful end."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

import pytest
from fitted_models import fitted
from service_cases import EXAMPLES, ROW, asked, connection, eventually, example, head, part, posted, response, sample

from lambdak.store import create_keys, sign_file

pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytestmark = pytest.mark.slow
service_load = example("service_load")
LINGER = struct.pack("ii", 1, 0)  # a close that is a reset


@pytest.fixture
def serving(tmp_path):
    """A service of the model in tmp_path with some options; its port, its process, and its log."""
    path, log = tmp_path / "model.safetensors", tmp_path / "log"
    fitted("regressor").save(path)

    @contextmanager
    def start(*options):
        with log.open("wb") as file, service_load.running(path, *map(str, options), log=file) as (port, process):
            yield port, process, log
        assert "Traceback" not in log.read_text()

    return start


def prediction(kind="regressor"):
    return {"prediction": fitted(kind).predictor()(ROW)}


def test_a_client_that_leaves_at_any_point_leaves_no_traceback(serving):
    with serving() as (port, _, _):
        for sent in (b"", b"POST", head("/predict", 100), head("/predict", 100) + b"{", posted(), posted() * 50):
            for reset in (False, True):
                with connection(port) as client:
                    if reset:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
                    client.sendall(sent)
        gone = {"route": "/predict", "status": "499"}
        eventually(lambda: sample(asked(port, "/metrics", "GET")[2], "requests_total", **gone) >= 4)
        assert json.loads(asked(port, "/predict", "POST", body=json.dumps(ROW).encode())[2]) == prediction()


def test_what_is_no_http_is_refused_as_json(serving):
    with serving() as (port, _, _):
        chunked = b"POST /predict HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        for sent in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /" + b"x" * 100_000, chunked + b"zz\r\n"):
            with connection(port) as client, client.makefile("rb") as file:
                client.sendall(sent)
                status, _, text = response(file)
                assert (status, json.loads(text)) == (400, {"error": "the request must be HTTP/1.1"})


def dripped(port, begin):
    """The answers to a client that sends the beginning of a request, and the rest byte by byte, until it is closed."""
    answers, ended = [], threading.Event()
    with connection(port) as client, client.makefile("rb") as file:

        def read():
            try:
                while True:
                    answers.append(response(file))
            except (OSError, IndexError):  # closed
                ended.set()

        client.sendall(begin)
        reader = threading.Thread(target=read)
        reader.start()
        try:
            while not ended.wait(0.05):
                client.sendall(b"x" if begin else b"")
        except OSError:
            client.shutdown(socket.SHUT_RDWR)
        reader.join()
    return answers


def test_a_client_that_sends_byte_by_byte_is_closed_with_a_reason(serving):
    with serving("--head-seconds", 0.5, "--body-seconds", 0.5) as (port, _, _):
        words = {
            "headers": "the headers must arrive within 0.5 seconds",
            "body": "the request must arrive within 0.5 seconds",
        }
        for begin, part, before in [
            (b"POST /predict HTTP/1.1\r\nx-slow: ", "headers", 0), (b"", "headers", 0),
            (posted() + b"GET", "headers", 1),
            (head("/predict", 1_000), "body", 0), (posted() + head("/predict", 1_000), "body", 1),
        ]:  # fmt: skip
            *first, (status, _, text) = dripped(port, begin)
            assert [each[0] for each in first] == [200] * before
            assert (status, json.loads(text)) == (408, {"error": words[part]})
        assert [each[0] for each in dripped(port, head("/nothing", 10**6))] == [404]  # nobody reads this body
        text = asked(port, "/metrics")[2]
        assert sample(text, "closed_connections_total", reason="headers too slow") == 3
        assert sample(text, "closed_connections_total", reason="body too slow") == 1
        assert sample(text, "requests_total", route="/predict", status="408") == 2


def test_a_client_that_takes_no_answers_is_cut(serving):
    with serving("--write-seconds", 0.5) as (port, _, _), connection(port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        row = json.dumps([ROW] * 2_000).encode()
        with pytest.raises(OSError, match=r"reset|[Bb]roken pipe"):
            client.sendall((head("/predict", len(row)) + row) * 200)
        assert sample(asked(port, "/metrics")[2], "closed_connections_total", reason="answer not taken") == 1


def test_a_connection_without_requests_is_closed_and_one_with_requests_is_not(serving):
    with serving("--idle-seconds", 0.2) as (port, _, _), connection(port) as client, client.makefile("rb") as file:
        for _ in range(20):
            client.sendall(posted())
            assert response(file)[0] == 200
        assert file.read() == b""


def test_connections_beyond_the_limit_are_refused_until_others_close(serving):
    with serving("--max-connections", 2) as (port, _, _):
        eventually(lambda: asked(port, "/health")[0] == 200)
        with connection(port) as one, connection(port), one.makefile("rb") as file:
            one.sendall(posted())
            assert response(file)[0] == 200
            eventually(lambda: asked(port, "/health")[0] == 503)
            one.sendall(posted())
            assert response(file)[0] == 200
        eventually(lambda: asked(port, "/health")[0] == 200)


def test_more_connections_than_the_system_allows_files_are_refused_without_a_traceback(serving):
    files = 800  # of which the service needs some 600 for others
    with serving("--max-connections", 100) as (port, process, _):
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (files, files))
        with ExitStack() as clients:
            for _ in range(3 * files):
                client = clients.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(("127.0.0.1", port))
            eventually(lambda: asked(port, "/health")[0] == 503)
        eventually(lambda: asked(port, "/health")[0] == 200)


def test_more_connections_than_the_system_allows_do_not_start(monkeypatch):
    limits = part("limits").Limits
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    with pytest.raises(ValueError, match=r"--max-connections 1000 needs 1576 open files, and the system allows 1024"):
        part("connections").allow_open_files(limits())
    wanted = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: wanted.append(pair))
    part("connections").allow_open_files(limits(max_connections=400))
    assert wanted == [(976, 1024)]


def test_models_are_replaced_under_load_without_a_failed_request_or_a_mixed_answer(serving, tmp_path):
    path, new = tmp_path / "model.safetensors", tmp_path / "new.safetensors"
    for name in ("key.pem", "other.pem"):
        create_keys(tmp_path / name)
    sign_file(path, tmp_path / "key.pem", "Jane Doe")
    known, failed, stop = {}, [], threading.Event()

    def load():
        with connection(port) as client, client.makefile("rb") as file:
            while not stop.is_set():
                client.sendall(posted())
                status, headers, text = response(file)
                if status != 200 or known.get(headers["x-model-sha256"]) != json.loads(text):
                    failed.append((status, headers, text))

    def replace(kind, key):
        fitted(kind).save(new)
        if key:
            sign_file(new, tmp_path / key, "Jane Doe")
        known[digest(new)] = prediction(kind)
        os.replace(new, path)

    known[digest(path)] = prediction()
    with serving("--public-key", tmp_path / "key.pub.pem") as (port, process, log):
        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        counts = {"success": 0, "failure": 0}
        for kind, key in [("free", "key.pem"), ("regressor", None), ("free", "other.pem"), ("regressor", "key.pem")]:
            replace(kind, key)
            result = "success" if key == "key.pem" else "failure"
            counts[result] += 1
            process.send_signal(signal.SIGHUP)
            eventually(lambda: all(
                sample(asked(port, "/metrics")[2], "reloads_total", result=name) == counts[name] for name in counts
            ))  # fmt: skip
            wanted = "regressor" if kind == "regressor" and key else "free"
            assert json.loads(asked(port, "/predict", "POST", body=json.dumps(ROW).encode())[2]) == prediction(wanted)
        stop.set()
        for thread in threads:
            thread.join()
        assert not failed
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    results = [(line["result"], line.get("reason", "")) for line in lines if line.get("event") == "reload"]
    assert [result for result, _ in results] == ["success", "failure", "failure", "success"]
    assert "not signed" in results[1][1]
    assert str(path) in results[2][1]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_watched_file_is_taken_once_it_is_whole(serving, tmp_path):
    path, whole = tmp_path / "model.safetensors", tmp_path / "whole"
    with serving("--watch", 0.1) as (port, _, _):
        fitted("free").save(whole)
        data = whole.read_bytes()
        path.write_bytes(data[:-100])
        eventually(lambda: sample(asked(port, "/metrics")[2], "last_reload_failed") == 1)
        assert json.loads(asked(port, "/predict", "POST", body=json.dumps(ROW).encode())[2]) == prediction()
        path.write_bytes(data)
        eventually(lambda: sample(asked(port, "/metrics")[2], "reloads_total", result="success") == 1)
        assert sample(asked(port, "/metrics")[2], "last_reload_failed") == 0
        assert json.loads(asked(port, "/predict", "POST", body=json.dumps(ROW).encode())[2]) == prediction("free")


def test_a_request_that_has_begun_is_finished_after_sigterm_and_readiness_ends_first(serving):
    with (
        serving("--drain-seconds", 1) as (port, process, log),
        connection(port) as client,
        client.makefile("rb") as file,
    ):
        assert asked(port, "/ready")[0] == 200
        client.sendall(posted()[:-5])
        eventually(lambda: sample(asked(port, "/metrics")[2], "requests_in_flight") == 2)
        process.send_signal(signal.SIGTERM)
        eventually(lambda: "stopping" in log.read_text())
        status, headers, _ = asked(port, "/ready")
        assert (status, headers["connection"]) == (503, "close")
        assert asked(port, "/predict", "POST", body=json.dumps(ROW).encode())[0] == 200

        def closed():
            try:
                with connection(port):
                    return False
            except OSError:
                return True

        eventually(closed)
        assert process.poll() is None
        client.sendall(posted()[-5:])
        status, headers, text = response(file)
        assert (status, json.loads(text), headers["connection"]) == (200, prediction(), "close")
        assert file.read() == b""
        assert process.wait(60) == -signal.SIGTERM


def test_a_service_without_a_good_model_does_not_start(serving, tmp_path):
    with pytest.raises(SystemExit, match="did not start"), serving("--public-key", tmp_path / "none.pem"):
        pass
    assert "model.safetensors cannot be served: " in (tmp_path / "log").read_text()


def test_the_load_test_counts_requests_and_errors(tmp_path):
    path, rows = tmp_path / "model.safetensors", tmp_path / "rows.json"
    fitted("binary").save(path)
    rows.write_text(json.dumps([ROW, ROW | {"age": None}]))
    command = [sys.executable, EXAMPLES / "service_load.py", path, rows, "--requests", "200", "--connections", "3"]
    command += ["--reload-every", "0.05", "--slow-clients", "5"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    lines = [line for line in shown.stdout.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert [each[0] for each in cells] == ["nothing", "a reload every 0.05 s", "5 slow clients"]
    assert all([each[1], each[2], each[-1]] == ["3", "200", "0"] for each in cells)
