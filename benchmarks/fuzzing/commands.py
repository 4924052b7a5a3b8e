"""The command line on hostile tables, as bytes: an answer or one message, and never a traceback."""

from __future__ import annotations

import traceback
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from typer.testing import CliRunner

from fuzzing.models import FOLDER
from fuzzing.trial import Trial, WrongError, at_most
from lambdak import cli

SECONDS = 30.0
FAST = ["--effort", "fast", "--max-iter", "1", "--dim", "2", "--members", "1"]
CELLS = [
    "", "1", "2.5", "-3", "1e308", "1e309", "-1e-320", "nan", "NaN", "inf", "-Infinity", "NA", "null", "true", "False",
    "red", "blue", "=1+1", "2020-01-01", "12:30", "0x10", "1,5", '"', '""', "'", "\t", " 1", "\x00", "\x1b[2J", "é",
    "😀", "a" * 500, "1_000", "٣", "9" * 400, "1e", "-", "+1",
]  # fmt: skip
HEADERS = ["a", "b", "y", "id", "", " ", "y ", "Y", "a,b", '"', "é", "\x1b[31mred", "=cmd", "x" * 300, "1", "a\nb"]


@cache
def usual() -> bytes:
    rng = np.random.default_rng(0)
    lines = ["a,b,c,y"]
    for _ in range(40):
        lines.append(f"{rng.normal():.3f},{rng.integers(9)},{rng.choice(['red', 'blue', ''])},{rng.normal():.3f}")
    return ("\n".join(lines) + "\n").encode()


@cache
def model_file() -> Any:
    """A model of the usual table."""
    (FOLDER / "usual.csv").write_bytes(usual())
    path = FOLDER / "usual.safetensors"
    run(["fit", FOLDER / "usual.csv", "-t", "y", "-m", path, *FAST])
    return path


def run(arguments: list[Any]) -> Any:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def target(trial: Trial) -> str:
    """Run one command on a hostile table."""
    data = trial.pick([mutated, mutated, rectangle, rectangle, anything])(trial)
    suffix = trial.pick(["csv", "csv", "csv", "jsonl", "parquet"])
    table, out = FOLDER / f"table.{suffix}", FOLDER / "out.csv"
    table.write_bytes(data)
    trial.kept[table.name] = data
    aim = trial.pick(["y", "a", "c", trial.pick(HEADERS)])
    usual_model = ["-m", model_file()]
    arguments = trial.pick([
        ["fit", table, "-t", aim, "-m", FOLDER / "new.safetensors", *options(trial), *FAST],
        ["predict", table, *usual_model, "--out", trial.pick(["-", out]), *trial.pick([[], [], ["--keep", aim]])],
        ["explain", table, *usual_model, *trial.pick([[], ["--row", "0"], ["--local"], ["--row", "99"], ["--json"]])],
        ["certify", *usual_model, "--verify", table, "--pairs", "50", *trial.pick([[], ["--within", f"{aim}=1"]])],
        ["report", table, *usual_model, "--out", FOLDER / "report.html"],
    ])  # fmt: skip
    trial.notes["arguments"] = list(map(str, arguments))
    with at_most(SECONDS):
        result = run(arguments)
    check(result)
    return f"exit {result.exit_code}"


def options(trial: Trial) -> list[str]:
    found: list[str] = []
    for some in (
        ["--monotone", "a=+"], ["--max-influence", "b=0.5"], ["--shape", "convex"], ["--task", "classification"],
        ["--task", "ordinal"], ["--quantiles", "0.1,0.9"], ["--categorical", "b"], ["--drop", "c"], ["--weight", "b"],
        ["--offset", "b"], ["--drop-missing"], ["--loss", "poisson"],
    ):  # fmt: skip
        found += some if trial.chance(8) else []
    return found


def check(result: Any) -> None:
    """An exit code that is documented, and nothing that looks like a crash."""
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        raise WrongError(f"a traceback: {''.join(traceback.format_exception(error))[-1500:]}") from error
    if result.exit_code not in (0, 1, 2) or "Traceback" in result.output:
        raise WrongError(f"exit code {result.exit_code}: {result.output[-500:]}")
    if result.exit_code and not result.stderr.strip():
        raise WrongError(f"exit code {result.exit_code} without a word")
    if "\x1b[2J" in result.output or "\x1b[31mred" in result.output:
        raise WrongError("an escape sequence of the table was printed")


def rectangle(trial: Trial) -> bytes:
    """A header and cells, in order or not."""
    width, rows = 1 + trial.below(5), trial.pick([0, 1, 2, 20, 40])
    names = [trial.pick(HEADERS) if trial.chance(3) else "abcdy"[i] for i in range(width)]
    names[-1] = "y" if trial.below(4) else names[-1]
    pools = [[trial.pick(CELLS) for _ in range(1 + trial.below(4))] for _ in range(width)]
    usual_cells = [["0.5", "1.5", "2"] if trial.below(3) else pool for pool in pools]
    cut = trial.pick([",", ",", ",", ";", "\t"])
    quote = (lambda cell: '"' + cell.replace('"', '""') + '"') if trial.chance(3) else str
    lines = [cut.join(map(quote, names))]
    lines += [cut.join(quote(trial.pick(pool)) for pool in usual_cells) for _ in range(rows)]
    return (
        trial.pick(["\n", "\r\n", "\n\n"])
        .join(lines)
        .encode(trial.pick(["utf-8", "utf-8-sig", "utf-16"]), "surrogatepass")
    )


def mutated(trial: Trial) -> bytes:
    """The usual table with bytes changed, removed or added."""
    data = bytearray(usual())
    for _ in range(trial.below(4)):
        place = trial.below(len(data))
        new = trial.draw(
            st.one_of(st.binary(min_size=1, max_size=4), st.sampled_from([b'"', b",", b"\n", b"\r", b"\xff", b"\x00"]))
        )
        data[place : place + trial.below(4)] = new
    return bytes(data)


def anything(trial: Trial) -> bytes:
    return trial.draw(
        st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
    )
