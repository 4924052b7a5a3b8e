"""Databases that score a table: DuckDB, SQLite, and a PostgreSQL server that is started and stopped here."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

_PARENT_DEATH_SIGNAL = 1  # of prctl
_TYPES = {"f": "double precision", "i": "bigint", "u": "bigint", "b": "boolean"}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def as_frame(X):
    """A table with names, as the database has it."""
    if sparse.issparse(X):
        X = X.toarray()
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def plain_rows(frame):
    """Rows of plain cells; the NaN of a column of floats is kept, and what else is missing is NULL."""
    columns = []
    for name in frame.columns:
        cells, floats = frame[name].astype(object).tolist(), frame[name].dtype.kind == "f"
        columns.append([None if pd.isna(cell) and not floats else cell for cell in cells])
    return list(zip(*columns, strict=True))


ERROR = 1e-12  # relative to the largest prediction, or to 1


def close(found, expected, error=ERROR):
    np.testing.assert_allclose(found, expected, rtol=0, atol=error * max(1.0, np.abs(expected).max(initial=0.0)))


class Database:
    """One table at a time."""

    dialect: str
    mark = "?"

    def __init__(self, connection):
        self.connection = connection

    def create(self, X, table="rows", types=None):
        """A table of the frame's rows, and id, which counts them."""
        frame = as_frame(X).assign(id=np.arange(len(X) if not sparse.issparse(X) else X.shape[0]))
        own = {name: (types or {}).get(name, self.type_of(frame[name])) for name in frame.columns}
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in own.items())
        self.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        self.execute(f"CREATE TABLE {quoted(table)} ({columns})")
        marks = ", ".join([self.mark] * len(own))
        self.insert(f"INSERT INTO {quoted(table)} VALUES ({marks})", plain_rows(frame))

    def type_of(self, values):
        return _TYPES.get(values.dtype.kind, "text")

    def execute(self, sql):
        return self.connection.execute(sql)

    def insert(self, sql, rows):
        self.connection.executemany(sql, rows)

    def score(self, sql):
        """The result, in the order of the rows."""
        cursor = self.execute(sql)
        names = [each[0] for each in cursor.description]
        return pd.DataFrame(cursor.fetchall(), columns=names).sort_values("id", ignore_index=True)


class Duck(Database):
    dialect = "duckdb"

    @classmethod
    def new(cls, threads=1):
        import duckdb

        return cls(duckdb.connect(config={"threads": threads}))


class Lite(Database):
    dialect = "sqlite"

    @classmethod
    def new(cls):
        return cls(sqlite3.connect(":memory:"))


class Postgres(Database):
    dialect = "postgresql"
    mark = "%s"

    def insert(self, sql, rows):
        with self.connection.cursor() as cursor:
            cursor.executemany(sql, rows)


def server_programs() -> Path | None:
    """Where Debian has the newest PostgreSQL, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """A new server with its own data on a unix socket, stopped at the end; yields how to connect.

    It is a child that the system stops with this process, even if that is killed.
    """
    programs = server_programs()
    assert programs is not None
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    home = Path(tempfile.mkdtemp(prefix="pg"))
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home}
    quiet |= {"user": user, "group": user, "extra_groups": []} if user else {}
    try:
        if user is not None:
            shutil.chown(home, user, user)
        data = str(home / "data")
        new = ["-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]
        subprocess.run([programs / "initdb", *new], check=True, timeout=120, **quiet)
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={home}", "-c", "fsync=off"]
        server = subprocess.Popen([programs / "postgres", "-D", data, *options], preexec_fn=_die_with_parent, **quiet)
        try:
            _wait_for(programs / "pg_isready", home, server)
            yield f"host={home} user=tests dbname=postgres"
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(timeout=60)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def postgres_connection():
    """A connection to such a server, of its own."""
    import psycopg

    with postgres_server() as address, psycopg.connect(address, autocommit=True) as connection:
        yield connection


def _die_with_parent():
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGQUIT)


def _wait_for(is_ready, home, server):
    until = time.monotonic() + 60
    while subprocess.run([is_ready, "-q", "-h", home], check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the PostgreSQL server did not start: code {server.poll()}")
        time.sleep(0.05)
