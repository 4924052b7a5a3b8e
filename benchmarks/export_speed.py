"""Exports to C and JavaScript: microseconds per row and member, beside the kernel on one thread, all in one run.

    python benchmarks/export_speed.py --dims 5 9 15 --members 1 4

Models have eight columns of numbers and two categories, and random matrices. C is compiled with ``cc -O2``; the
kernel takes all rows at once, C and JavaScript one after the other. CPU time, for other programs may be running; the
best of several passes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak.eigen.packing import packed_size, padded_size
from lambdak.export.c import to_c
from lambdak.export.javascript import to_javascript

REPEATS = 5
C_PROGRAM = """
#include <stdio.h>
#include <time.h>
#include "model.h"
static double cells[ROWS][MODEL_COLUMNS];
int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], "rb");
  double best = 1e9, sum = 0, out[MODEL_RESULTS];
  if (!file || fread(cells, sizeof *cells, ROWS, file) != ROWS) return 1;
  for (int again = 0; again < 5; again++) {
    const clock_t from = clock();
    for (int i = 0; i < ROWS; i++) model_predict_cells(cells[i], 0, out), sum += out[0];
    const double took = (double)(clock() - from) / CLOCKS_PER_SEC;
    best = took < best ? took : best;
  }
  printf("%.9g %.17g", best / ROWS, sum);
}
"""
JS_PROGRAM = """
import { readFileSync } from "node:fs";
import { predictMany } from "./model.mjs";
const rows = JSON.parse(readFileSync("rows.json", "utf-8"));
let best = Infinity;
for (let again = 0; again < 20; again++) {
  const from = process.cpuUsage();
  predictMany(rows);
  best = Math.min(best, process.cpuUsage(from).user / 1e6);
}
console.log(best / rows.length);
"""


def random_model(dim, members, rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, 8)), columns=[f"x{i}" for i in range(8)])
    X["region"], X["kind"] = rng.choice(list("abcdefgh"), rows), rng.choice(["new", "old"], rows)
    model = SpectralRegressor(effort="fast", max_iter=1, n_estimators=1, dim=dim, n_knots=8, random_state=0)
    frozen = model.fit(X, X["x0"]).model_
    coef = np.zeros((members, frozen.coef.shape[1], padded_size(dim)))
    coef[..., : packed_size(dim)] = rng.normal(size=(members, frozen.coef.shape[1], packed_size(dim)))
    return frozen.replace(coef=coef, weights=np.full(members, 1 / members)), X


def kernel_seconds(model, X):
    """Seconds per row of encoded rows, so that only matrices and eigenvalues are compared."""
    design = model.encoder.transform(X, np.float64)
    took = []
    for _ in range(REPEATS):
        began = time.process_time()
        model.scores(design, threads=1)
        took.append(time.process_time() - began)
    return min(took) / len(X)


def c_seconds(model, X, folder, flags):
    to_c(model, folder / "model.c")
    (folder / "main.c").write_text(C_PROGRAM)
    codes = [X[name] if name.startswith("x") else X[name].map(model_levels(model, name)) for name in X.columns]
    np.column_stack(codes).astype(np.float64).tofile(folder / "cells")
    words = [shutil.which("cc"), "-std=c99", *flags, f"-DROWS={len(X)}", "-o", "main", "main.c", "model.c", "-lm"]
    subprocess.run(words, cwd=folder, check=True)
    said = subprocess.run(["./main", "cells"], cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    assert np.isclose(float(said[1]) / REPEATS, model.predict(X).sum(), rtol=1e-9)
    return float(said[0])


def model_levels(model, name):
    column = next(column for column in model.encoder.columns if column.name == name)
    return {level: i for i, level in enumerate(column.levels)}


def javascript_seconds(model, X, folder):
    to_javascript(model, folder / "model.mjs")
    (folder / "main.mjs").write_text(JS_PROGRAM)
    (folder / "rows.json").write_text(json.dumps(X.to_dict("records")))
    done = subprocess.run([shutil.which("node"), "main.mjs"], cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[3, 5, 9, 15, 31])
    parser.add_argument("--members", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--flags", nargs="+", default=["-O2"])
    given = parser.parse_args()
    print(f"{'dim':>4}{'members':>9}{'kernel':>9}{'C':>9}{'JavaScript':>12}   µs per row and member")
    for dim in given.dims:
        for members in given.members:
            model, X = random_model(dim, members, given.rows)
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                took = (kernel_seconds(model, X), c_seconds(model, X, folder, given.flags),
                        javascript_seconds(model, X, folder))  # fmt: skip
            kernel, c, javascript = (1e6 * seconds / members for seconds in took)
            print(f"{dim:4}{members:9}{kernel:9.2f}{c:9.2f}{javascript:12.2f}")


if __name__ == "__main__":
    sys.exit(main())
