"""``--constraint``: shapes from the command line, kept by the model, refused with words, completed by the shell."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from cli_cases import FAST, done, only, refused
from typer.testing import CliRunner

import lambdak
from lambdak import cli
from lambdak.cli.constraint import column_names
from lambdak.shapes import Concave, MaxInfluence, Rising
from lambdak.shapes.registry import SHAPES


def fit(shelf, path, *constraints, more=()):
    typed = [part for own in constraints for part in ("--constraint", own)]
    return ["fit", shelf / "rows.csv", "-t", "y", "--model", path, *typed, *more, *only("y"), *FAST]


@pytest.mark.parametrize("more", [(), ("--large",)], ids=["memory", "batches"])
def test_shapes_are_kept_printed_and_certified(shelf, tmp_path, more):
    path = tmp_path / "m.safetensors"
    typed = ["Rising(town, order=['007', '300', '012'])", "Concave(income)", "MaxInfluence((age, 'town'), cap=2)"]
    printed = done(fit(shelf, path, *typed, more=more)).stdout
    shapes = [Rising("town", order=["007", "300", "012"]), Concave("income"), MaxInfluence(("age", "town"), 2)]
    assert lambdak.load(path).constraints == shapes
    for words in ("never falls as town rises from 007 to 300 to 012", "adds at most as much", "no change of age, town"):
        assert words in printed
    answer = json.loads(done(["certify", "--model", path, "--json"]).stdout)
    assert [claim["proven"] for claim in answer["claims"] if claim["requested"]] == [True] * 3


def test_shapes_stand_beside_the_shorthands_and_contradictions_name_both(shelf, tmp_path):
    path = tmp_path / "m.safetensors"
    done(fit(shelf, path, "Concave(age)", more=["--monotone", "age=+"]))
    assert {claim.kind for claim in lambdak.load(path).certify().claims if claim.requested} == {"monotone", "concave"}
    words = refused(fit(shelf, path, "Falling(age)", more=["--monotone", "age=+"]))
    assert "Rising('age') and Falling('age'): column 'age' cannot both rise and fall: keep one of the two" in words


def test_what_is_no_shape_or_no_column_is_refused_with_the_way_out(shelf, tmp_path):
    path = tmp_path / "m.safetensors"
    words = refused(fit(shelf, path, "Risin(income)"), code=2)
    assert "--constraint: constraint 'Risin(income)' names no shape 'Risin'. Did you mean 'Rising'?" in words
    assert "Rising(column, order=None): missing" in refused(fit(shelf, path, "Rising()"), code=2)
    words = refused(fit(shelf, path, "Rising(incom)"))
    assert "has no column 'incom', which --constraint names. Did you mean 'income'?" in words
    assert "needs numbers or an order, and 'town' is a category" in refused(fit(shelf, path, "Rising(town)"))
    assert not path.exists()


def completed(*words):
    line = " ".join(map(str, words))
    env = {"_LAMBDAK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return CliRunner().invoke(cli.app, [], prog_name="lambdak", env=env).stdout.strip().splitlines()


def test_shells_complete_names_of_shapes_and_then_of_columns(shelf):
    assert completed("lambdak", "fit", "--constr") == ["--constraint"]
    before = ("lambdak", "fit", shelf / "rows.csv", "--constraint")
    assert completed(*before, '"') == [f"{name}(" for name in SHAPES]
    assert completed("lambdak", "fit", "--constraint", '"Conc') == ["Concave("]
    assert set(completed(*before, '"Conc')) > {"Concave(income)", "Concave(age)"}  # a shell completes what they share
    assert completed(*before, '"Falling(inc') == ["Falling(income)"]
    assert completed(*before, '"Concave(income,a') == ["Concave(income,age)"]
    assert completed(*before, "\"Concave('inc") == ["Concave('income')"]
    assert completed(*before, '"MaxInfluence(inc') == ["MaxInfluence(income"]  # which needs a cap
    assert completed(*before, '"Interactions([[inc') == ["Interactions([[income"]
    assert completed(*before, '"Rising(zz') == []
    assert completed("lambdak", "fit", shelf / "nowhere.csv", "--constraint", '"Rising(inc') == []


def test_columns_are_read_off_the_beginning_of_any_table_and_broken_ones_have_none(shelf, tmp_path):
    names = pa.parquet.read_schema(shelf / "rows.parquet").names
    for file in ("rows.csv", "rows.parquet", "rows.jsonl"):
        assert list(column_names(str(shelf / file))) == names
    packed, broken = tmp_path / "rows.csv.gz", tmp_path / "rows.parquet"
    packed.write_bytes(gzip.compress((shelf / "rows.csv").read_bytes()))
    broken.write_bytes(b"PAR1 and no more")
    assert list(column_names(str(packed))) == names
    assert list(column_names(str(broken))) == list(column_names("")) == list(column_names("rows.xyz")) == []


def test_names_that_need_quotes_are_completed_with_them(tmp_path):
    (tmp_path / "rows.csv").write_text('"a, b","45","driver age"\n1,2,3\n')
    found = completed("lambdak", "fit", tmp_path / "rows.csv", "--constraint", '"Rising(')
    assert found == ["Rising('a, b')", "Rising('45')", "Rising(driver age)"]
