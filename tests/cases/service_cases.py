"""The example service as modules and as a process, and a reader of what Prometheus reads."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import socket
import sys
import time
from contextlib import contextmanager
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
ROW = {"income": 2.5, "age": 40.0, "region": "north", "kind": "a"}
PATIENCE = 60  # seconds, for a busy machine
_SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')


def example(name, folder=EXAMPLES):
    """A module of the examples; of a package, its parts can be imported afterwards."""
    package = folder / name / "__init__.py"
    path, parts = (package, [str(package.parent)]) if package.exists() else (folder / f"{name}.py", None)
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=parts)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def part(name):
    """A module of the service."""
    if "service" not in sys.modules:
        example("service")
    return importlib.import_module(f"service.{name}")


def samples(text):
    """Name and labels → number; types are those that were declared before, each family in one block."""
    kinds, found, ended = {}, {}, set()
    family = None
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in kinds
            kinds[family] = kind
        elif not line.startswith("# HELP "):
            name, labels, number = _SAMPLE.fullmatch(line).groups()
            base = re.sub("_(bucket|sum|count)$", "", name) if kinds[family] == "histogram" else name
            assert base == family, f"{line} is not under its type"
            key = (name, frozenset(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")))
            assert key not in ended
            ended.add(key)
            found[key] = float(number)
    assert text.endswith("\n")
    return found


def sample(text, name, **labels):
    """One number; 0 if it was never counted."""
    return samples(text).get((f"lambdak_{name}", frozenset(labels.items())), 0.0)


@contextmanager
def connection(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as open_socket:
        yield open_socket


def head(path, size=0, method="POST"):
    return f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n".encode()


def posted(row=ROW):
    body = json.dumps(row).encode()
    return head("/predict", len(body)) + body


def response(file):
    """Status, headers and the text of the next answer."""
    status = int(file.readline().split(b" ")[1])
    headers = dict(line.decode().strip().lower().split(": ", 1) for line in iter(file.readline, b"\r\n"))
    return status, headers, file.read(int(headers["content-length"])).decode()


def asked(port, path, method="GET", headers=(), body=b""):
    """The answer to one request on a connection of its own."""
    lines = [f"{method} {path} HTTP/1.1", "host: x", f"content-length: {len(body)}", *headers, "", ""]
    with connection(port) as client, client.makefile("rb") as file:
        client.sendall("\r\n".join(lines).encode() + body)
        return response(file)


def eventually(condition):
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.02)
