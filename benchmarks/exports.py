"""The export matrix: size, error, rows per second and the time of one row, beside LightGBM through its usual routes.

    python benchmarks/exports.py [--data DIR] [--rows 20000]

California housing without the column that has gaps, because m2cgen knows none; both models see the same rows, and
LightGBM stops early on rows that neither is tested on. An error is the largest difference from the model's own Python
predictions, relative to the spread of the target. Rows per second are those of one call with all rows; one row is one
call with one row, in the language of the target. Each is the best of several runs; both models run in this script.
SQLite and PostgreSQL, a server of its own that starts and stops here, score 1,000 rows.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from sql_cases import Database, Duck, Lite, Postgres, postgres_connection, server_programs

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FEW = 200  # single rows
SOME = 1000  # rows for databases that are slow
RUNS = 3
LONG = 3.0  # seconds that short calls are repeated for
TREES = 2000


class Line(NamedTuple):
    """One row of the matrix."""

    model: str
    target: str
    size: int  # bytes
    error: float
    rows: float  # per second
    one: float  # seconds


class Measured(NamedTuple):
    """Predictions, seconds of all rows at once, and seconds of one row alone."""

    values: np.ndarray
    whole: float
    one: float


def best(call: Callable[[], Any], runs: int = RUNS) -> tuple[Any, float]:
    """What a call returns, and its least time: of short calls the least of many, as other programs may be running."""
    call()
    times, end = [], time.perf_counter() + LONG
    while len(times) < runs or time.perf_counter() < end:
        began = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - began)
    return result, min(times)


def in_python(whole: Callable[[Any], Any], X: Any, one: Callable[[int], Any]) -> Measured:
    """A model behind two functions: of all rows, and of the row at a position."""
    values, seconds = best(lambda: whole(X))
    _, single = best(lambda: [one(i) for i in range(FEW)])
    return Measured(np.ravel(values), seconds, single / FEW)


# ---- C, and what is compiled to it -----------------------------------------------------------------------------------

_LOOP = """
#include <stddef.h>
void score_rows(const double *x, size_t rows, size_t columns, double *out) {
  for (size_t i = 0; i < rows; i++) { %s }
}
"""


def compiled(folder: Path, name: str, source: str, call: str) -> ctypes.CDLL:
    """A library with a loop over rows behind the source."""
    (folder / f"{name}_loop.c").write_text(source + _LOOP % call)
    library = folder / f"{name}.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", library, folder / f"{name}_loop.c", "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    return ctypes.CDLL(str(library))


def in_c(library: ctypes.CDLL, X: np.ndarray) -> Measured:
    """Rows in a loop in C: there one row takes as long as in the loop."""
    X, out = np.ascontiguousarray(X), np.empty(len(X))
    pointer = ctypes.POINTER(ctypes.c_double)
    arguments = (
        X.ctypes.data_as(pointer),
        ctypes.c_size_t(len(X)),
        ctypes.c_size_t(X.shape[1]),
        out.ctypes.data_as(pointer),
    )
    _, seconds = best(lambda: library.score_rows(*arguments))
    return Measured(out, seconds, seconds / len(X))


# ---- JavaScript ------------------------------------------------------------------------------------------------------

_NODE = """
import {{ readFileSync }} from "node:fs";
import {{ predict }} from "./{module}";
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
let values, least = Infinity;
const end = performance.now() + 1000 * {long};
for (let run = 0; run < {runs} || performance.now() < end; run++) {{
  const began = performance.now();
  values = rows.map((row) => predict(row));
  least = Math.min(least, performance.now() - began);
}}
console.log(JSON.stringify({{ values, seconds: least / 1000 }}));
"""


def in_node(folder: Path, module: str, X: np.ndarray) -> Measured:
    """Rows one by one in Node, after the engine has warmed up."""
    (folder / "rows.json").write_text(json.dumps(X.tolist()))
    (folder / "run.mjs").write_text(_NODE.format(module=module, runs=RUNS, long=LONG))
    said = subprocess.run(["node", "--stack-size=20000", "run.mjs"], check=True, cwd=folder, capture_output=True).stdout
    answer = json.loads(said)
    return Measured(np.array(answer["values"]), answer["seconds"], answer["seconds"] / len(X))


# ---- ONNX and SQL ----------------------------------------------------------------------------------------------------


def in_onnx(path: Path, X: np.ndarray, dtype: type[np.floating]) -> Measured:
    """A session of onnxruntime with one matrix as input."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    name, numbers = session.get_inputs()[0].name, X.astype(dtype)
    run = lambda rows: session.run(None, {name: rows})[0]  # noqa: E731
    return in_python(run, numbers, lambda i: run(numbers[i : i + 1]))


def in_database(fetch: Callable[[str], list[tuple[Any, ...]]], query: str, single: str) -> Measured:
    """A query over a table of all rows, and one over a table of a single row; rows come back in order of their key."""
    rows, seconds = best(lambda: fetch(query), 1)
    _, one = best(lambda: fetch(single), 1)
    return Measured(np.array([row[-1] for row in sorted(rows)]), seconds, one)


@contextmanager
def database(dialect: str) -> Iterator[Database | None]:
    """A database of this dialect; None where PostgreSQL is not installed."""
    if dialect != "postgresql":
        yield Duck.new(threads=os.cpu_count()) if dialect == "duckdb" else Lite.new()
    elif server_programs() is None:
        yield None
    else:
        with postgres_connection() as connection:
            yield Postgres(connection)


# ---- the two models --------------------------------------------------------------------------------------------------


def houses(folder: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers without gaps, and the target in units of 100,000."""
    table = pd.read_parquet(folder / "california_housing.parquet")
    target = table.pop("median_house_value").to_numpy() / 1e5
    return table.drop(columns=["total_bedrooms", "ocean_proximity"]).astype(float), target


def ours(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, folder: Path, effort: str
) -> Iterator[tuple[str, int, Measured]]:
    """Every export of our model: target, bytes, measurement."""
    model = SpectralRegressor(effort=effort, random_state=0).fit(X, y)
    print(f"lambdak: {len(model.model_.weights)} members of dim {model.model_.dim}", file=sys.stderr)
    predictor, numbers = model.predictor(), test.to_numpy()
    model.save(folder / "model.safetensors")
    dicts = [tuple(row) for row in numbers[:FEW].tolist()]
    yield "Python", size(folder / "model.safetensors"), in_python(model.predict, test, lambda i: predictor(dicts[i]))
    model.export(folder / "model.c")
    call = "model_predict_cells(x + i * columns, 0.0, out + i);"
    library = compiled(folder, "model", '#include "model.h"\n' + (folder / "model.c").read_text(), call)
    yield "C", size(folder / "model.c"), in_c(library, numbers)
    model.export(folder / "model.mjs")
    yield "JavaScript (Node)", size(folder / "model.mjs"), in_node(folder, "model.mjs", numbers)
    for dtype in (np.float64, np.float32):
        path = folder / f"{dtype.__name__}.onnx"
        model.export(path, inputs="matrix", dtype=dtype.__name__)
        yield f"ONNX {dtype.__name__}", size(path), in_onnx(path, numbers, dtype)
    for dialect, rows in (("duckdb", len(test)), ("sqlite", SOME), ("postgresql", SOME)):
        with database(dialect) as own:
            if own is None:
                print("PostgreSQL is not installed: apt-get install postgresql", file=sys.stderr)
                continue
            own.create(test[:rows], "houses")
            own.create(test[:1], "one")
            path, one = folder / f"{dialect}.sql", folder / f"{dialect}-one.sql"
            model.export(path, dialect=dialect, table="houses", key="id")
            model.export(one, dialect=dialect, table="one", key="id")
            fetch = lambda query, own=own: own.execute(query).fetchall()  # noqa: E731
            yield f"SQL ({dialect})", size(path), in_database(fetch, path.read_text(), one.read_text())


def lightgbm_routes(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, folder: Path
) -> Iterator[tuple[str, int, Measured]]:
    """LightGBM with early stopping: itself, onnxmltools, treelite's compiler and m2cgen."""
    import lightgbm
    import m2cgen
    import onnxmltools
    import tl2cgen
    import treelite
    from onnxmltools.convert.common.data_types import FloatTensorType

    fitted, held = np.arange(len(X)) % 5 > 0, np.arange(len(X)) % 5 == 0
    forest = lightgbm.LGBMRegressor(n_estimators=TREES, verbose=-1, n_jobs=2, random_state=0)
    stop = lightgbm.early_stopping(50, verbose=False)
    forest.fit(X.to_numpy()[fitted], y[fitted], eval_set=[(X.to_numpy()[held], y[held])], callbacks=[stop])
    print(f"LightGBM: {forest.best_iteration_} trees", file=sys.stderr)
    forest.booster_.save_model(folder / "forest.txt", num_iteration=forest.best_iteration_)
    booster, numbers = lightgbm.Booster(model_file=folder / "forest.txt"), test.to_numpy()
    yield (
        "Python",
        size(folder / "forest.txt"),
        in_python(booster.predict, numbers, lambda i: booster.predict(numbers[i : i + 1])),
    )
    converted = onnxmltools.convert_lightgbm(booster, initial_types=[("X", FloatTensorType([None, X.shape[1]]))])
    (folder / "forest.onnx").write_bytes(converted.SerializeToString())
    yield (
        "ONNX float32 (onnxmltools)",
        size(folder / "forest.onnx"),
        in_onnx(folder / "forest.onnx", numbers, np.float32),
    )
    trees = treelite.frontend.from_lightgbm(booster)
    tl2cgen.export_lib(trees, toolchain="gcc", libpath=folder / "forest_tl.so", params={"parallel_comp": 2})
    compiled_trees = tl2cgen.Predictor(folder / "forest_tl.so", nthread=1)
    whole = tl2cgen.DMatrix(numbers)
    single = [tl2cgen.DMatrix(numbers[i : i + 1]) for i in range(FEW)]
    yield (
        "C (treelite, tl2cgen)",
        size(folder / "forest_tl.so"),
        in_python(lambda _: compiled_trees.predict(whole), numbers, lambda i: compiled_trees.predict(single[i])),
    )
    sys.setrecursionlimit(100_000)
    call = "out[i] = score((double *)(x + i * columns));"
    source = m2cgen.export_to_c(forest)
    yield "C (m2cgen)", len(source), in_c(compiled(folder, "forest", source, call), numbers)
    script = m2cgen.export_to_javascript(forest)
    (folder / "forest.mjs").write_text(script + "\nexport { score as predict };\n")
    yield "JavaScript (m2cgen, Node)", len(script), in_node(folder, "forest.mjs", numbers)


def size(path: Path) -> int:
    return path.stat().st_size


def lines(name: str, routes: Iterator[tuple[str, int, Measured]], spread: float) -> Iterator[Line]:
    """Rows of the matrix; the first route is the model itself, which the others are compared with."""
    own: np.ndarray | None = None
    for target, length, found in routes:
        own = found.values if own is None else own
        error = float(np.abs(found.values - own[: len(found.values)]).max() / spread)
        yield Line(name, target, length, error, len(found.values) / found.whole, found.one)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int, default=20_000, help="that are scored")
    parser.add_argument("--effort", default="balanced")
    given = parser.parse_args()
    X, y = houses(given.data)
    order = np.random.default_rng(0).permutation(len(X))
    train, last = order[:15_000], order[15_000:]
    test = pd.concat([X.iloc[last]] * -(-given.rows // len(last)), ignore_index=True)[: given.rows]
    print("| model | target | size kB | error | rows/s | one row µs |\n|---|---|---|---|---|---|")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as name:
        warnings.simplefilter("ignore")
        folder = Path(name)
        both = {
            "lambdak": ours(X.iloc[train], y[train], test, folder, given.effort),
            "LightGBM": lightgbm_routes(X.iloc[train], y[train], test, folder),
        }
        for model, routes in both.items():
            for line in lines(model, routes, float(np.std(y))):
                print(
                    f"| {line.model} | {line.target} | {line.size / 1e3:,.0f} | {line.error:.1e} | {line.rows:,.0f} | "
                    f"{1e6 * line.one:,.1f} |",
                    flush=True,
                )
    print(f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr)


if __name__ == "__main__":
    main()
