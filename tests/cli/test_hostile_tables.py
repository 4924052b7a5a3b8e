"""Whatever bytes a table is made of, a command says in one line which file it is about and what is wrong."""

from __future__ import annotations

import gzip
import random

import pytest
from cli_cases import run

from lambdak.cli.errors import InputError
from lambdak.cli.plain_files import plain_file

GOOD = b"income,age,town,y\n" + b"".join(b"%d,%d,007,%d\n" % (i, i, i) for i in range(20))
BYTES = {
    "empty": b"",
    "blank": b" \n \n",
    "ends of lines": b"\r\r\r",
    "nul": b"\0" * 100,
    "a nul cell": GOOD + b"1,2,\0,3\n",
    "a nul name": b"inc\0ome,y\n1,2\n",
    "random": random.Random(0).randbytes(1000),
    "control": bytes(range(32)) * 3,
    "broken utf-8": GOOD + b"1,2,\xff\xfe\xc3,3\n",
    "broken utf-8 in the header": b"\xc3\x28,income,age,town,y\n1,2,3,4,5\n",
    "surrogate in utf-8": b"\xed\xa0\x80,income,age,town,y\n1,2,3,4,5\n",
    "byte order mark": b"\xef\xbb\xbf",
    "utf-16 mark": b"\xff\xfe",
    "half of a utf-16 character": b"\xff\xfea",
    "lone utf-16 surrogate": b"\xff\xfe\x00\xd8\n\x00",
    "one huge line": b"a" * 3_000_000,
    "a huge cell": b'income,age,town,y\n1,2,"' + b"x" * 3_000_000 + b"\n",
    "quotes": b'"' * 1001,
    "an open quote": b'income,age,town,y\n"1,2,3,4\n' + b"1,2,3,4\n" * 10,
    "commas": b",,,\n,,,\n",
    "a name twice": b"y,y\n1,2\n",
    "a header": b"income,age,town,y",
    "too few cells": b"income,age,town,y\n1,2\n",
    "huge numbers": b"income,age,town,y\n" + (b"9" * 400 + b",2,a,3\n") * 30,
    "dates": b"income,age,town,y\n" + b"2020-01-01,2,a,3\n" * 30,
    "words": b"income,age,town,y\n" + b"x,2,a,3\ny,2,a,3\n" * 30,
    "a target with a word": GOOD + b"1,2,a,?\n",
    "cut gzip": b"\x1f\x8b",
    "broken gzip": b"\x1f\x8b" + b"\0" * 50,
    "more than gzip": gzip.compress(GOOD) + b"xx",
    "random in gzip": gzip.compress(random.Random(1).randbytes(100)),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
    "spreadsheet": b"PK\x03\x04" + bytes(range(256)),
    "parquet without end": b"PAR1",
    "parquet of zeros": b"PAR1" + b"\0" * 20 + b"PAR1",
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 100_000,
    "a list": b"[1, 2]\n",
    "nested cells": b'{"income": {"a": 1}, "age": 2, "town": "a", "y": 3}\n' * 20,
    "a long int": b'{"income": ' + b"9" * 5000 + b', "age": 2, "town": "a", "y": 3}\n' * 20,
    "changing types": b'{"income": 1, "y": 2}\n{"income": "x", "y": []}\n',
}
MODEL, OTHER = ["--model", "y.safetensors"], ["--model", "grade.safetensors"]
QUICK = ["--effort", "fast", "--max-iter", "1", "--dim", "2", "--members", "1", "--model", "out.safetensors"]
COMMANDS = {
    "fit": lambda path: ["fit", path, "-t", "y", *QUICK],
    "fit with roles": lambda path: ["fit", path, "-t", "y", "--categorical", "town", "--weight", "age", *QUICK],
    "predict": lambda path: ["predict", path, "--keep", "town", "--out", "out.csv", *MODEL],
    "certify": lambda path: ["certify", "--verify", path, "--pairs", "10", *MODEL],
    "explain": lambda path: ["explain", path, *MODEL],
    "drift": lambda path: ["drift", "rows.parquet", path, *MODEL],
    "explain rows": lambda path: ["explain", path, "--local", *MODEL],
    "report": lambda path: ["report", path, "--target", "y", *MODEL],
    "report classes": lambda path: ["report", path, "--target", "grade", *OTHER],
}


@pytest.fixture
def folder(shelf, tmp_path, monkeypatch):
    for name in ("y.safetensors", "grade.safetensors", "rows.parquet"):
        (tmp_path / name).write_bytes((shelf / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(args, path):
    """Run it: if it fails, then with one line that names the file, and with no control characters."""
    result = run(args)
    assert isinstance(result.exception, SystemExit | None), result.exception
    if result.exit_code:
        assert result.exit_code == 1
        errors = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        assert len(errors) == 1, errors
        assert errors[0].startswith("error: ")
        assert path in errors[0]
        assert "please report" not in errors[0]
        assert errors[0].isprintable()
        assert len(errors[0]) < 1000
    return result.exit_code


@pytest.mark.parametrize(
    "command", ["predict", *(pytest.param(each, marks=pytest.mark.slow) for each in ("fit", "report"))]
)
@pytest.mark.parametrize("name", BYTES)
def test_hostile_bytes_are_one_line_that_names_the_file(folder, name, command):
    codes = []
    for path in ("in.csv", "in.parquet", "in.jsonl"):
        (folder / path).write_bytes(BYTES[name])
        codes.append(check(COMMANDS[command](path), path))
    assert 1 in codes


@pytest.mark.slow
def test_changed_tables_never_end_in_a_traceback(folder):
    rng = random.Random(0)
    parquet = (folder / "rows.parquet").read_bytes()
    for _ in range(100):
        path, data = rng.choice([("in.csv", bytearray(GOOD)), ("in.parquet", bytearray(parquet))])
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(data))
            data[place : place + rng.choice([0, 1, 9])] = rng.choice(
                [b'"', b"\0", b"\n", b",", b"\x1b[2J", b"\xff", b""]
            )
        (folder / path).write_bytes(data)
        check(rng.choice(list(COMMANDS.values()))(path), path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_named_as_one(folder, command):
    (folder / "in.csv").mkdir()
    args = COMMANDS[command]("in.csv")
    assert check(args, "in.csv") == 1
    assert "in.csv is a folder" in run(args).stderr


def test_a_device_without_an_end_is_not_read():
    with pytest.raises(InputError, match="/dev/zero is a device: give a file"), plain_file("/dev/zero"):
        pass


@pytest.mark.parametrize(("name", "words"), {
    "picture": "it is a picture", "spreadsheet": "save the table as CSV", "parquet without end": "--format parquet",
    "nul": "save it as text in UTF-8", "cut gzip": "compress it again", "too few cells": "line 2 has 2 cells",
    "half of a utf-16 character": "save it in UTF-8",
}.items())  # fmt: skip
def test_the_way_out_is_said(folder, name, words):
    (folder / "in.csv").write_bytes(BYTES[name])
    assert words in run(COMMANDS["predict"]("in.csv")).stderr


def test_a_failure_that_nobody_expected_is_one_line_too(folder, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("lambdak.cli.predict.read_model", fail)
    result = run(COMMANDS["predict"]("in.csv"))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: division by zero (ZeroDivisionError): lambdak --debug shows where")
    assert isinstance(run(["--debug", *COMMANDS["predict"]("in.csv")]).exception, ZeroDivisionError)
