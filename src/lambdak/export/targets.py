"""What a model can be exported to: a new target is a file with a function that writes it, and a line in TARGETS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, final

from lambdak.table.close_names import with_names_suggested


@final
@dataclass(frozen=True)
class ExportTarget:
    """One kind of export: what writes it, and the endings of its files.

    Attributes
    ----------
    writer : str
        Module and name of ``write(model, path, **options)``, which is imported at its first use.
    endings : tuple of str
        Of the files that it writes, the usual one first.
    then : str
        What to do with the file, in a few words.
    any_ending : bool
        Whether the command line takes other endings, too: no program knows the file by its ending.
    folder : bool
        Whether a path without ending is a folder.
    """

    writer: str
    endings: tuple[str, ...]
    then: str
    any_ending: bool = False
    folder: bool = False

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes it."""
        module, _, name = self.writer.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that it takes, beside those that it passes on."""
        options = tuple(signature(self.write).parameters.values())[2:]
        return tuple(option.name for option in options if option.kind is not Parameter.VAR_KEYWORD)

    def check_options(self, name: str, given: Iterable[str]) -> None:
        """Refuse what it cannot be asked for."""
        unknown = [option for option in given if option not in self.options]
        kinds = {option.kind for option in signature(self.write).parameters.values()}
        if unknown and Parameter.VAR_KEYWORD not in kinds:  # otherwise what it passes them to says so
            raise TypeError(f"an export to {name} takes {', '.join(self.options)}; got {unknown[0]!r}")


FACTOR_TABLES = {".xlsx": "to_excel", ".csv": "to_csv", ".json": "to_json"}  # by endings: methods of `TableSet`

TARGETS = {
    "c": ExportTarget("lambdak.export.c:to_c", (".c",), "compile it with its header, cc -O3 -c"),
    "java": ExportTarget("lambdak.export.java:to_java", (".java",), "compile it with the program that calls it"),
    "js": ExportTarget("lambdak.export.javascript:to_javascript", (".mjs", ".js"), "import it in a browser or in Node",
                 folder=True),
    "onnx": ExportTarget("lambdak.export.onnx:to_onnx", (".onnx",), "run it with onnxruntime", any_ending=True),
    "r": ExportTarget("lambdak.export.r:to_r", (".R", ".r"), "source it in R"),
    "sql": ExportTarget("lambdak.export.sql:to_sql", (".sql",), "run it in the database", any_ending=True),
    "table": ExportTarget("lambdak.export.targets:to_table", tuple(FACTOR_TABLES),
                    "a base and one table per column, with the proven deviation from the model"),
}  # fmt: skip


@with_names_suggested
def export_model(
    model: Any, path: str | os.PathLike[str], to: str | None = None, *,
    explain: bool = False, name: str | None = None, package: str | None = None,
    dtype: str = "float64", inputs: str = "columns", offset: bool | str | None = None, missing: str | None = "",
    opset: int = 19,
    dialect: str = "duckdb", table: str | Sequence[str] = "rows", key: str | Sequence[str] | None = None,
    result: str = "prediction", prefix: str = "",
    X: Any = None, y: Any = None, exposure: Any = None, sample_weight: Any = None, form: str = "bands",
    bands: int | Mapping[str, int | Sequence[float]] = 10, two_way: Any = 0, whole: Sequence[str] | None = None,
    base: str = "largest", decimals: int | None = None, output: Any = None, time_limit: float = 10.0,
) -> None:  # fmt: skip
    """Write a fitted model, or a saved one, as something that runs or is read elsewhere.

    Parameters
    ----------
    model : estimator, Model or path
        Fitted, or the file that ``save`` wrote.
    path : path
        The file; its ending says what it is to be: .c, .java, .js or .mjs, .onnx, .R, .sql, or .xlsx, .csv, .json for
        tables.
    to : {"c", "java", "js", "onnx", "r", "sql", "table"}, optional
        The same for a path with another ending, or for a folder.
    explain : bool
        Whether explanations are written, too; not for tables.
    name, package
        Of functions in C, JavaScript and R, and of the class in Java: see :func:`~lambdak.export.to_c`,
        :func:`~lambdak.export.to_javascript`, :func:`~lambdak.export.to_r` and :func:`~lambdak.export.to_java`.
    dtype, inputs, offset, missing, opset
        Of :func:`~lambdak.export.to_onnx`.
    dialect, table, key, offset, result, prefix
        Of :func:`~lambdak.export.to_sql`.
    X, y, exposure, sample_weight, form, bands, two_way, whole, base, decimals, output, time_limit
        Of factor tables: see :func:`~lambdak.governance.tables.relativities`.
    """
    given = _chosen(locals())
    if isinstance(model, str | os.PathLike) and os.path.realpath(model) == os.path.realpath(path):
        raise ValueError(f"path must not be the model itself, which would be lost; got {os.fspath(path)!r}")
    wanted = _named(to) if to is not None else _by_ending(path)
    target = TARGETS[wanted]
    target.check_options(wanted, given)
    target.write(model, path, **given)


def to_table(model: Any, path: str | os.PathLike[str], X: Any = None, y: Any = None, **options: Any) -> None:
    """Write the factor tables of a model to an Excel, CSV or JSON file.

    Parameters
    ----------
    model
        A fitted estimator, its frozen model, or the path of a saved one.
    path
        Ends with .xlsx, .csv or .json.
    X, y, **options
        As in :func:`~lambdak.governance.tables.relativities`.
    """
    ending = Path(path).suffix.lower()
    if ending not in FACTOR_TABLES:
        raise ValueError(f"path must end with one of {', '.join(FACTOR_TABLES)} for tables; got {os.fspath(path)!r}")
    from lambdak.export.formula import frozen
    from lambdak.governance.tables.relativity import relativities

    getattr(relativities(frozen(model), X, y, **options), FACTOR_TABLES[ending])(path)


def _chosen(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an export that are not as they are by default, whatever the target."""
    options = list(signature(export_model).parameters.values())[3:]
    values = {option.name: (arguments[option.name], option.default) for option in options}
    return {
        name: value
        for name, (value, default) in values.items()
        if value is not default and not (isinstance(value, int | float | str | tuple) and value == default)
    }


def _named(to: object) -> str:
    if not isinstance(to, str) or to not in TARGETS:
        raise ValueError(f"to must be one of {list(TARGETS)}; got {to!r}")
    return to


def target_of(path: str | os.PathLike[str]) -> str | None:
    """Return the target whose files end like this one; None if there is none."""
    ending = Path(path).suffix.lower()
    return next((name for name, target in TARGETS.items() if ending in target.endings), None)


def _by_ending(path: str | os.PathLike[str]) -> str:
    name = target_of(path)
    if name is None:
        endings = ", ".join(ending for target in TARGETS.values() for ending in target.endings)
        raise ValueError(f"path must end with one of {endings}, or to must say what is meant; got {os.fspath(path)!r}")
    return name
