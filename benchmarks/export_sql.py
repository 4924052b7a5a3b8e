"""Rows per second of queries: DuckDB, SQLite and PostgreSQL beside LightGBM's trees as nested CASE, in one run.

    python benchmarks/export_sql.py --rows 4000 --dims 1 2 5 9 15

LightGBM has no export to SQL of its own, and m2cgen has none either: nested CASE, one per tree, is what people write.
The time on one row is mostly planning; rows per second are those of the whole query, planning included, on one thread.
DuckDB, which plans for seconds, has more rows.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import time
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak.export.sql import to_sql

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from sql_cases import Duck, Lite, Postgres, postgres_connection, server_programs

COLUMNS = 8


def tree(node):
    """A tree as nested CASE."""
    if "leaf_value" in node:
        return repr(node["leaf_value"])
    x = f'"x{node["split_feature"]}"'
    return (
        f"CASE WHEN {x} <= {node['threshold']!r} THEN {tree(node['left_child'])} ELSE {tree(node['right_child'])} END"
    )


def trees(model, table):
    dumped = [tree(each["tree_structure"]) for each in model.dump_model()["tree_info"]]
    return f'SELECT id, {" + ".join(dumped)} AS prediction FROM "{table}"'


def measure(database, query, expected, rows):
    """Seconds on one row and rows per second, the best of three each, and the error relative to the largest prediction.

    Rows per second are those of the whole query, planning included: a difference of two times would be noise.
    """
    found = database.score(query("few"))["prediction"].to_numpy(float)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    one, many = (min(seconds(database, query(table)) for _ in range(3)) for table in ("one", "many"))
    return one, rows / many, error


def seconds(database, query):
    began = time.perf_counter()
    database.execute(f"SELECT SUM(prediction) FROM ({query}) AS scored").fetchall()
    return time.perf_counter() - began


def line(name, database, query, expected, rows):
    """Measure and print one model; a database that refuses the query says so."""
    size = len(query("many")) / 1e3
    try:
        one, speed, error = measure(database, query, expected, rows)
    except sqlite3.OperationalError as refusal:
        print(f"{name:24}{database.dialect:12}{size:9.0f}  {refusal}", flush=True)
        return
    print(f"{name:24}{database.dialect:12}{size:9.0f}{one:11.2f}{speed:12,.0f}{error:10.1e}", flush=True)


def databases():
    yield Duck.new()
    yield Lite.new()
    if server_programs() is not None:
        with postgres_connection() as connection:
            connection.execute("SET max_parallel_workers_per_gather = 0")
            yield Postgres(connection)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[1, 2, 5, 9, 15])
    parser.add_argument("--times", type=int, default=50, help="as many rows for DuckDB")
    parser.add_argument("--members", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(given.rows, COLUMNS)), columns=[f"x{i}" for i in range(COLUMNS)])
    y = (X["x0"] * X["x1"] + np.sin(X["x2"])).to_numpy()
    train = slice(0, 2_000)
    settings = {"effort": "fast", "max_iter": 3, "n_estimators": given.members, "random_state": 0}
    models = {d: SpectralRegressor(dim=d, **settings).fit(X[train], y[train]) for d in given.dims}
    boosted = lightgbm.LGBMRegressor(n_estimators=100, verbose=-1).fit(X[train], y[train])
    print(f"load average {os.getloadavg()[0]:.1f}, {COLUMNS} columns, {given.members} members")
    print(f"{given.rows} rows, in DuckDB {given.times} times as many")
    print(f"{'model':24}{'dialect':12}{'size, kB':>9}{'one row, s':>11}{'rows/s':>12}{'error':>10}")
    for database in databases():
        times = given.times if database.dialect == "duckdb" else 1
        database.create(X[:1], "one")
        database.create(X, "few")
        again = ", ".join(f"({i})" for i in range(times))
        database.execute(f"CREATE TABLE many AS SELECT s.* FROM few AS s CROSS JOIN (VALUES {again}) AS again")
        for dim, model in models.items():
            write = partial(to_sql, model, dialect=database.dialect, key="id")
            line(f"lambdak, dim {dim}", database, lambda table, write=write: write(table=table), model.predict(X),
                 times * given.rows)  # fmt: skip
        line("LightGBM, 100 trees", database, partial(trees, boosted.booster_), boosted.predict(X), times * given.rows)


if __name__ == "__main__":
    main()
