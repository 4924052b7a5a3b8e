"""What is wrong is one message and an exit code.

Tests ``options``.
"""

from __future__ import annotations

import pytest
from cli_cases import process, refused, run


@pytest.fixture
def damaged(tmp_path):
    files = {
        "empty.csv": b"",
        "header.csv": b"x,y\n",
        "broken.csv": b"x,y\n1,2\n\n3\n",
        "twice.csv": b"x,x\n1,2\n",
        "latin.csv": "x,y\nété,1\nhiver,2\n".encode("latin-1"),
        "times.csv": b"x,y\n10:30:00,1\n11:30:00,2\n",
        "stray.csv": b"x,y\n1,1\n2,2\n3,n.a?\n",
        "words.csv": b"x,y\n1,a\n2,b\n3,a\n",
        "broken.jsonl": b'{"x": 1, "y": 2}\n{"x": 1, y: 2}\n',
        "list.jsonl": b'{"x": 1}\n[1, 2]\n',
        "not.parquet": b"hello",
        "model.safetensors": b"hello",
        "good.csv": b"income,y\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(20)),
        "good.dat": b"income,y\n1,2\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


WRONG = [
    (["fit", "god.csv", "-t", "y"], "there is no file", "Did you mean", "good.csv"),
    (["fit", "empty.csv", "-t", "y"], "empty.csv is empty"),
    (["fit", "header.csv", "-t", "y"], "header.csv has a header but no rows"),
    (["fit", "broken.csv", "-t", "y"], "broken.csv", "line 4 has 1 cell, but the header has 2"),
    (["fit", "twice.csv", "-t", "x"], "several columns called 'x'"),
    (["fit", "latin.csv", "-t", "y"], "column 'x'", "UTF-8"),
    (["fit", "times.csv", "-t", "y"], "column 'x'", "--drop 'x'"),
    (["fit", "stray.csv", "-t", "y"], "'n.a?' in row 2"),
    (["fit", "words.csv", "-t", "y", "--task", "regression"], "'a' in row 0", "--task classification"),
    (["fit", "words.csv", "-t", "y", "--task", "quantile"], "looks like classes", "--task classification"),
    (["fit", "broken.jsonl", "-t", "y"], "broken.jsonl", "line 2 is not JSON"),
    (["fit", "list.jsonl", "-t", "y"], "line 2 is not an object"),
    (["fit", "not.parquet", "-t", "y"], "not.parquet cannot be read as parquet"),
    (["fit", "good.csv", "-t", "incom"], "no column 'incom', which --target names", "Did you mean 'income'?"),
    (["fit", "good.csv", "-t", "y", "--monotone", "incom=+"], "which --monotone names", "Did you mean 'income'?"),
    (["fit", "good.csv", "-t", "y", "--max-influence", "z=1"], "which --max-influence names", "It has 'income'"),
    (["fit", "good.csv", "-t", "y", "--drop", "z"], "which --drop names"),
    (["fit", "good.csv", "-t", "y", "--weight", "z"], "which --weight names"),
    (["fit", "good.csv", "-t", "y", "--drop", "income"], "no column left"),
    (["fit", "good.csv", "-t", "y", "--model", "nowhere/m.safetensors"], "a folder that exists", "mkdir -p"),
    (["fit", "words.csv", "-t", "y", "--monotone", "x=+", "--task", "classification", "--categorical", "x"],
     "--monotone of column 'x' must be 0, because it is a category"),
    (["predict", "good.csv", "--model", "none.safetensors"], "no model file", "lambdak fit"),
    (["predict", "good.csv", "--model", "model.safetensors"], "model.safetensors"),
    (["report", "--model", "none.safetensors"], "no model file"),
    (["explain", "--model", "none.safetensors"], "no model file"),
    (["certify", "--model", "none.safetensors"], "no model file"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=lambda case: " ".join(case[0]))
def test_wrong_data_is_one_message_and_exit_code_1(damaged, monkeypatch, case):
    monkeypatch.chdir(damaged)
    args, *words = case
    message = refused([*args, "--max-iter", "1"] if args[0] == "fit" else args)
    assert "error: " in message
    for each in words:
        assert each in message


MISUSED = [
    (["fit", "good.csv"], "--target"),
    (["fit"], "TABLE"),
    (["nonsense"], "No such command"),
    (["fit", "good.csv", "-t", "y", "--nonsense"], "No such option"),
    (["fit", "good.csv", "-t", "y", "--monotone", "income"], "--monotone", "such as income=+"),
    (["fit", "good.csv", "-t", "y", "--monotone", "income=up"], "--monotone", "such as income=+"),
    (["fit", "good.csv", "-t", "y", "--monotone", "income=+,income=-"], "'income' must be given once"),
    (["fit", "good.csv", "-t", "y", "--max-influence", "income=x"], "--max-influence"),
    (["fit", "good.csv", "-t", "y", "--max-influence", "x"], "--max-influence"),
    (["fit", "good.csv", "-t", "y", "--shape", "round"], "--shape", "convex"),
    (["fit", "good.csv", "-t", "y", "--loss", "nice"], "--loss", "poisson"),
    (["fit", "good.csv", "-t", "y", "--quantiles", "1.5"], "--quantiles", "between 0 and 1"),
    (["fit", "good.csv", "-t", "y", "--quantiles", "0.5", "--loss", "huber"], "--loss", "the task is quantile"),
    (["fit", "words.csv", "-t", "y", "--loss", "huber"], "--loss", "the task is classification"),
    (["fit", "good.dat", "-t", "y"], "does not show its format", "--format"),
    (["explain", "--row", "0"], "--row", "TABLE"),
    (["explain", "--local"], "--local", "TABLE"),
    (["certify", "--within", "income"], "--within", "such as income=1000"),
    (["report", "--target", "y"], "--target", "TABLE"),
]


@pytest.mark.parametrize("case", MISUSED, ids=lambda case: " ".join(case[0]))
def test_wrong_usage_is_exit_code_2(damaged, monkeypatch, case):
    monkeypatch.chdir(damaged)
    args, *words = case
    message = refused(args, code=2)
    for each in words:
        assert each in message


def test_debug_lets_the_exception_through(tmp_path, monkeypatch):
    args = ["fit", tmp_path / "none.csv", "-t", "y"]
    assert isinstance(run(["--debug", *args]).exception, ValueError)
    assert isinstance(run(args).exception, SystemExit)
    monkeypatch.setenv("LAMBDAK_DEBUG", "1")
    with pytest.raises(ValueError, match="there is no file"):
        raise run(args).exception


@pytest.mark.slow
def test_an_interrupt_elsewhere_is_exit_code_130_and_one_line(shelf, tmp_path):
    code = "from lambdak.cli import tables; tables.read = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)"
    stopped = process(code, "fit", shelf / "rows.csv", "-t", "y", cwd=tmp_path)
    assert stopped.returncode == 130
    assert stopped.stderr.splitlines() == ["error: interrupted: no further file was written"]
    assert not stopped.stdout
    assert not list(tmp_path.iterdir())
