"""Exports to JavaScript, run by Node."""

from __future__ import annotations

import json
import math
import shutil
import subprocess

import numpy as np
import pytest
from export_cases import Answers

from lambdak.export.formula import Formula
from lambdak.export.javascript import to_javascript
from lambdak.losses import Predicts

SCORE = """
import {{ readFileSync }} from "node:fs";
import * as model from "./model.mjs";
const {{ rows, offsets, explain, kind }} = JSON.parse(readFileSync("rows.json", "utf-8"));
const results = {{ numbers: (row, o) => [model.predict(row, o)], quantiles: model.quantiles, classes: model.proba }};
const numbers = (list) => list.map((x) => (Number.isNaN(x) ? "NaN" : x));
console.log(JSON.stringify(rows.map((row, i) => ({{
  raw: numbers(model.raw(row, offsets[i])),
  results: numbers(results[kind](row, offsets[i])),
  influence: explain ? numbers(model.explain(row).influence) : null,
}}))));
"""


def node():
    """The path of Node; the test is skipped where it is missing."""
    return shutil.which("node") or pytest.skip("Node is not installed")


def run(folder, program):
    """What a program prints."""
    (folder / "main.mjs").write_text(program, "utf-8")
    done = subprocess.run([node(), "main.mjs"], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def plain(cell):
    """A cell as JSON has it."""
    if cell is None or cell != cell:
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def opened(model, folder, explain=False):
    """A function from rows to what the module says of them."""
    to_javascript(model, folder / "model.mjs", explain=explain)
    predicts = Formula.of(model).model.loss.predicts
    kind = "classes" if predicts is Predicts.ORDERED_CLASSES else predicts.value

    def score(X, offset=None):
        cells = list(zip(*([plain(cell) for cell in X.iloc[:, i]] for i in range(X.shape[1])), strict=True))
        given = {
            "rows": [dict(zip(map(str, X.columns), row, strict=True)) for row in cells],
            "offsets": [None] * len(X) if offset is None else list(offset),
            "explain": explain,
            "kind": kind,
        }
        (folder / "rows.json").write_text(json.dumps(given), "utf-8")
        found = json.loads(run(folder, SCORE.format()))
        arrays = {name: np.array([[math.nan if x == "NaN" else x for x in row[name]] for row in found], float)
                  for name in ("raw", "results", *(["influence"] if explain else []))}  # fmt: skip
        return Answers(**arrays)

    return score
