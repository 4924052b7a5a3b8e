"""The C file also becomes WebAssembly, without a C library: the host lends exp."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest
from exported_c import compiler
from exported_javascript import run
from fitted_models import X, fitted

from lambdak.export.c import to_c

HEADERS = {
    "math.h": "double exp(double); double expm1(double);\n#define fabs __builtin_fabs\n#define sqrt __builtin_sqrt\n"
    '#define NAN __builtin_nan("")\n#define INFINITY __builtin_inf()\n',
    "string.h": "#define memcpy __builtin_memcpy\n",
}
PROGRAM = """
import {{ readFileSync }} from "node:fs";
const lent = {{ env: {{ exp: Math.exp, expm1: Math.expm1 }} }};
const {{ instance }} = await WebAssembly.instantiate(readFileSync("model.wasm"), lent);
const {{ memory, model_predict_cells, __heap_base }} = instance.exports;
const cells = new Float64Array(memory.buffer, __heap_base.value, {columns}), out = cells.byteOffset + cells.byteLength;
console.log(JSON.stringify({rows}.map((row) => {{
  cells.set(row.map((cell) => cell ?? NaN));
  if (model_predict_cells(cells.byteOffset, out)) throw new Error("refused");
  return Array.from(new Float64Array(memory.buffer, out, {results}));
}})));
"""


def test_it_runs_as_webassembly(tmp_path):
    clang = compiler("clang")
    shutil.which("wasm-ld") or pytest.skip("wasm-ld (package lld) is not installed")
    model, table = fitted("multiclass"), X[:20]
    to_c(model, tmp_path / "model.c")
    for name, text in HEADERS.items():
        (tmp_path / name).write_text(text)
    flags = ["--target=wasm32", "-O2", "-std=c99", "-ffreestanding", "-nostdlib", "-isystem", str(tmp_path)]
    linked = [f"-Wl,{flag}" for flag in ("--no-entry", "--export-dynamic", "--allow-undefined", "--export=__heap_base")]
    visible = ["-Wl,--export=model_predict_cells", "-o", "model.wasm", "model.c"]
    done = subprocess.run([clang, *flags, *linked, *visible], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    levels = [column.levels if not column.is_number else None for column in model.model_.encoder.columns]
    rows = [[_code(cell, own) for cell, own in zip(row, levels, strict=True)] for row in table.itertuples(index=False)]
    found = json.loads(run(tmp_path, PROGRAM.format(columns=4, results=4, rows=json.dumps(rows))))
    np.testing.assert_allclose(found, model.predict_proba(table), rtol=1e-12)


def _code(cell, levels):
    if cell is None or cell != cell:
        return None
    return cell if levels is None else levels.index(cell) if cell in levels else -1
