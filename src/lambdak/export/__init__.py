"""A fitted model elsewhere: C, Java, JavaScript, ONNX, R, SQL, and tables that people read.

Modules: ``formula`` what every export writes down, ``targets`` the registry, by name and by endings of files, and
factor tables as files; ``c/`` one C99 file: ``writer`` fills templates in, ``tables`` the numbers, ``names``
identifiers, literals, comments and the structure of a row; ``flat`` arrays for languages that read constants from
strings; ``java/`` one class and ``r/`` one file of functions, each a ``writer`` that fills templates in;
``javascript/`` one ES module: ``engine`` what computes a model there, shared with reports, ``writer`` adds a thin
layer of functions, ``package`` types and files for npm; ``onnx/``: ``graph`` arithmetic that adds nodes, ``inputs``
and levels, ``matrices``, ``design`` A(row), ``eigenvalue``, ``rows`` block by block, with slopes, ``model`` results,
what the file says, and the whole; ``sql/`` a query: ``dialects`` what databases spell differently, ``script`` steps in
WITH, ``cells`` to choices, ``matrices`` as joins, ``tridiagonal`` form and eigenvalue, ``scores`` before the link,
``influences`` of columns through eigenvectors, ``links`` predictions, ``names`` that collide, ``query`` the whole.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lambdak.export.c import to_c
    from lambdak.export.java import to_java
    from lambdak.export.javascript import to_javascript
    from lambdak.export.onnx import to_onnx
    from lambdak.export.r import to_r
    from lambdak.export.sql import to_sql
    from lambdak.export.targets import export_model, to_table

__all__ = [
    "export_model",
    "to_c",
    "to_java",
    "to_javascript",
    "to_onnx",
    "to_r",
    "to_sql",
    "to_table",
]

_MODULES = {
    "export_model": "targets", "to_c": "c", "to_java": "java", "to_javascript": "javascript", "to_onnx": "onnx",
    "to_r": "r", "to_sql": "sql", "to_table": "targets",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a public function, imported at its first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    """Return the names of the module, imported or not."""
    return sorted({*globals(), *__all__})
