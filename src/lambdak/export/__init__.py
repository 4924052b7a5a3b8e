"""A fitted model elsewhere: C, JavaScript, ONNX, SQL, and tables that people read.

Modules: ``formula`` what every export writes down, ``targets`` by endings of files; ``c/`` one C99 file: ``writer``
fills templates in, ``tables`` the numbers, ``row`` its structure, ``names`` identifiers, literals and comments;
``javascript/`` one ES module: ``engine`` what computes a model there, shared with reports, ``writer`` adds a thin layer
of functions, ``typings``, ``package`` for npm;
``onnx/``: ``graph`` arithmetic that adds nodes, ``inputs``, ``numbers`` and ``levels`` from cells to design
rows, ``matrices``, ``design`` A(row), ``tridiagonal``, ``sturm`` the eigenvalue, ``slopes``, ``rows`` block by block,
``results`` behind the link, ``document`` what the file says, ``model`` the whole; ``sql/`` a query: ``dialects`` what
databases spell differently, ``script`` steps in WITH, ``cells`` to choices, ``matrices`` as joins, ``tridiagonal``,
``bisection``, ``eigenvalue`` raw scores, ``additive`` those of dim 1, ``vectors`` eigenvectors, ``influences`` of
columns, ``links`` predictions, ``names`` that collide, ``query`` the whole; ``tables``
factor tables as files.
"""

from lambdak.export.c import to_c
from lambdak.export.javascript import to_javascript
from lambdak.export.onnx import to_onnx
from lambdak.export.sql import to_sql
from lambdak.export.tables import to_table
from lambdak.export.targets import export_model

__all__ = [
    "export_model",
    "to_c",
    "to_javascript",
    "to_onnx",
    "to_sql",
    "to_table",
]
