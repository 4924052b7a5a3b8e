"""A model as a query: DuckDB, PostgreSQL and SQLite score their own tables."""

from lambdak.export.sql.query import to_sql

__all__ = ["to_sql"]
