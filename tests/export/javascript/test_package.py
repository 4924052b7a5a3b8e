"""The types of an exported module name its columns and levels, whatever these are called."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from export_cases import HOSTILE
from fitted_models import fitted

from lambdak import SpectralRegressor
from lambdak.export.formula import Formula
from lambdak.export.javascript import to_javascript
from lambdak.export.javascript.package import declarations

PROGRAMS = Path(__file__).parents[3] / "build" / "npm" / "node_modules" / ".bin"
SMALL = {"effort": "fast", "max_iter": 1, "dim": 1, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def hostile():
    names = list(HOSTILE[:20])
    table = pd.DataFrame({name: [0.0, 1.0, 2.0] * 10 for name in names[:-1]})
    table[names[-1]] = (HOSTILE * 2)[5:20] * 2
    return SpectralRegressor(**SMALL).fit(table, table[names[0]])


def fields(text):
    return re.findall(r'^  ("(?:[^"\\]|\\.)*"): (.*);$', text, re.MULTILINE)


def test_columns_are_quoted_properties(hostile):
    found = fields(declarations(Formula.of(hostile), explain=True))
    assert [json.loads(name) for name, _ in found] == list(hostile.feature_names_in_)


def test_few_levels_are_named_and_many_are_not(hostile):
    kinds = fields(declarations(Formula.of(hostile), explain=False))[-1][1]
    named = [json.loads(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', kinds)]
    assert sorted(named) == sorted(HOSTILE[5:20])
    assert "(string & {})" in kinds
    assert dict(fields(declarations(Formula.of(fitted("wide")), explain=False)))['"code"'].startswith("string |")


def test_functions_are_those_that_the_model_has():
    text = {
        kind: declarations(Formula.of(fitted(kind)), kind == "binary") for kind in ("regressor", "binary", "quantiles")
    }
    assert "offset?: number" in text["regressor"]
    assert "proba(row: AnyRow, offset?: number)" in text["binary"]
    assert "proba" not in text["regressor"]
    assert 'export type Label = "no" | "yes";' in text["binary"]
    assert "function explain" in text["binary"]
    assert "function explain" not in text["quantiles"]
    assert "function quantiles" in text["quantiles"]


def test_typescript_takes_them(hostile, tmp_path):
    tsc = shutil.which("tsc", path=f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
    tsc or pytest.skip("TypeScript is not installed: .ci/programs does it")
    to_javascript(hostile, tmp_path / "model.mjs", explain=True)
    row = {str(name): 1.0 for name in hostile.feature_names_in_} | {HOSTILE[19]: "never seen"}
    (tmp_path / "use.mts").write_text(
        f'import {{ explain, predict, type Row }} from "./model.mjs";\nconst row: Row = {json.dumps(row)};\n'
        "const one: number = predict(row, 1);\nconst all: number[] = explain(row).influence;\nexport { one, all };\n"
    )
    flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"]
    done = subprocess.run([tsc, *flags, "use.mts"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
