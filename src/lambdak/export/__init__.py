"""A fitted model elsewhere: C, JavaScript, ONNX, SQL, and tables that people read.

Modules: ``formula`` what every export writes down, ``targets`` the registry, by name and by endings of files; ``c/``
one C99 file: ``writer`` fills templates in, ``tables`` the numbers, ``row`` its structure, ``names`` identifiers,
literals and comments; ``javascript/`` one ES module: ``engine`` what computes a model there, shared with reports,
``writer`` adds a thin layer of functions, ``typings``, ``package`` for npm; ``onnx/``: ``graph`` arithmetic that adds
nodes, ``inputs``, ``numbers`` and ``levels`` from cells to design rows, ``matrices``, ``design`` A(row),
``tridiagonal``, ``sturm`` the eigenvalue, ``slopes``, ``rows`` block by block, ``results`` behind the link,
``document`` what the file says, ``model`` the whole; ``sql/`` a query: ``dialects`` what databases spell differently,
``script`` steps in WITH, ``cells`` to choices, ``matrices`` as joins, ``tridiagonal``, ``bisection``, ``eigenvalue``
raw scores, ``additive`` those of dim 1, ``vectors`` eigenvectors, ``influences`` of columns, ``links`` predictions,
``names`` that collide, ``query`` the whole; ``tables`` factor tables as files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "export_model": "targets", "to_c": "c", "to_javascript": "javascript", "to_onnx": "onnx", "to_sql": "sql",
    "to_table": "tables",
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
