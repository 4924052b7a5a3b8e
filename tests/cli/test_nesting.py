"""A depth of JSON lines that ends the process of whoever parses them is found before.

Tests ``plain_files``.
"""

from __future__ import annotations

import gzip
import json

import processes
import pytest

from lambdak.cli.plain_files import MOST_DEPTH, too_deep

DEEP = 20_000
FLAT = b'{"income": 1, "age": 2, "town": "a", "y": 3}\n'
NESTED = FLAT * 3 + b'{"income": 1, "age": 2, "town": "a", "y": ' + b"[" * DEEP + b"]" * DEEP + b"}\n"
HIDDEN = {  # depth behind what a careless count takes for the inside of a string, or for room
    "after closers": FLAT + b"}" * DEEP + b"\n" + b"[" * DEEP,
    "after an open quote": b'{"town": "a}\n' + b"[" * DEEP,
    "after an escaped quote": b'{"a\\"b": ' + b"[" * DEEP,
    "after a backslash": b'{"a\\\\": ' + b"[" * DEEP,
    "after the end of a line in a string": b'{"a": "\\\n ' + b"[" * DEEP,
    "over many lines": b"[\n" * DEEP,
    "objects": b'{"a":' * DEEP,
    "behind a megabyte": b" " * 1_100_000 + b"[" * DEEP,
}
RUN = "from lambdak.cli import main; main()"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "ndjson.gz"])
@pytest.mark.parametrize("command", ["fit", "predict", "explain", "report"])
def test_a_deep_table_is_an_error_and_not_the_end_of_the_process(shelf, tmp_path, command, suffix):
    path = tmp_path / f"deep.{suffix}"
    path.write_bytes(gzip.compress(NESTED) if suffix.endswith("gz") else NESTED)
    model = ["--model", str(shelf / "y.safetensors")]
    options = {"fit": ["-t", "y", "--model", str(tmp_path / "out")], "report": ["--target", "y", *model]}
    child = processes.run(RUN, command, path, *options.get(command, model))
    assert child.returncode == 1, child
    assert f"{path} cannot be read as jsonl: line 4 is nested deeper than 64 levels" in " ".join(child.stderr.split())


@pytest.mark.parametrize("name", HIDDEN)
def test_depth_cannot_be_hidden(name):
    assert "is nested deeper than 64 levels" in str(too_deep(HIDDEN[name]))


def test_the_depth_of_valid_lines_is_that_of_their_values():
    def depth(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    for levels in range(1, 2 * MOST_DEPTH):
        value = ['"[{', "\\", "]}\n"]
        for i in range(levels - 2):
            value = [value, "}"] if i % 2 else {"[": value, '\\"': 1}
        lines = [{"a": 1}] * 5 + [{"deep": value}] + [{"b": "]"}] * 5
        data = "\r\n".join(map(json.dumps, lines)).encode()
        reason = too_deep(data)
        assert (reason is not None) == (depth(lines[5]) > MOST_DEPTH)
        assert reason is None or reason.startswith("line 6 ")


def test_the_size_of_parts_decides_nothing(monkeypatch):
    datas = [*HIDDEN.values(), FLAT * 100, b'{"a": "\\\\\\"[[["}\n' * 200]
    whole = [too_deep(data) for data in datas]
    monkeypatch.setattr("lambdak.cli.plain_files._PART", 7)
    assert [too_deep(data[-45_000:]) for data in datas if len(data) < 45_000] == [
        reason for reason, data in zip(whole, datas, strict=True) if len(data) < 45_000
    ]
