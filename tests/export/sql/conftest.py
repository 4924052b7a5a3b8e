"""The databases, one of each for all tests."""

from __future__ import annotations

import os

import pytest
from sql_cases import Duck, Lite, Postgres, postgres_connection, server_programs


@pytest.fixture(scope="session")
def postgresql():
    """A connection to a server of our own; skipped where PostgreSQL or its driver is missing."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if server_programs() is None:
        if os.environ.get("LAMBDAK_REQUIRE_POSTGRESQL"):
            pytest.fail("PostgreSQL is required, and not installed: apt-get install postgresql")
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgres_connection() as connection:
        yield Postgres(connection)


@pytest.fixture(scope="session")
def duckdb_():
    pytest.importorskip("duckdb")
    return Duck.new()


@pytest.fixture(scope="session")
def sqlite():
    return Lite.new()


@pytest.fixture(params=["duckdb_", "sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request):
    return request.getfixturevalue(request.param)
