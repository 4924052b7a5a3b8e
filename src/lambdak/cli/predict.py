"""``lambdak predict``: from a table and a model file to a table of predictions."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from lambdak.cli import options, tables
from lambdak.cli.dataset import numbers
from lambdak.cli.errors import InputError, naming
from lambdak.cli.models import columns_of, read_columns, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson, ModelFile, RawText, TableFile, TableFormat
from lambdak.cli.outputs import print_json, say
from lambdak.estimators import SpectralRegressor

EXAMPLES = (
    "lambdak predict patients.csv",
    "lambdak predict patients.csv --keep progression --out predicted.parquet",
    "lambdak predict - --model model.safetensors < patients.csv",
)


def predict(
    table: TableFile,
    model: ModelFile = DEFAULT_MODEL,
    out: Annotated[str, typer.Option(help="Where to write; the suffix is the format, - CSV to standard output.")] = "-",
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN,…", help="Columns of the table to copy next to the predictions.")
    ] = None,
    proba: Annotated[
        bool, typer.Option(help="Columns p_CLASS with the probability of each class, if the model has classes.")
    ] = True,
    quantiles: Annotated[bool, typer.Option(help="Columns q_LEVEL, if the model has quantiles.")] = True,
    offset: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The offset, if the model was fitted with one.")
    ] = None,
    form: TableFormat = None,
    raw_text: RawText = False,
    as_json: AsJson = False,
) -> None:
    """Predict the rows of a table."""
    tables.check_out(out)
    fitted = read_model(model)
    with naming(table):
        data = read_columns(fitted, table, form)
        answer = _answer(fitted, data, table, options.names(keep or ()), proba, quantiles, offset)
    if out != tables.STREAM or not as_json:
        tables.write(answer, out, raw_text=raw_text)
    if as_json:
        where = {"out": out} if out != tables.STREAM else {"predictions": list(tables.rows(answer))}
        print_json({"model": str(model), "rows": answer.num_rows, "columns": answer.column_names} | where)
    elif out != tables.STREAM:
        say(f"{answer.num_rows} rows with {', '.join(answer.column_names)}: {out}")


def _answer(
    fitted: Any, data: Any, path: str, keep: list[str], proba: bool, quantiles: bool, offset: str | None
) -> Any:
    """The table of predictions, with the columns that are kept before them."""
    tables.check_names(keep, data, path, "--keep")
    X = columns_of(fitted, data)
    beside = {} if offset is None else {"offset": _offset(fitted, data, offset, path)}
    found = {"prediction": fitted.predict(X, **beside)} | _further(fitted, X, proba, quantiles)
    clash = [name for name in keep if name in found]
    if clash:
        raise InputError(f"--keep must not name {clash[0]!r}, which is a column of predictions: rename it in {path}")
    return tables.made({name: data.column(name) for name in keep} | found)


def _offset(fitted: Any, data: Any, name: str, path: str) -> NDArray[Any]:
    if not isinstance(fitted, SpectralRegressor):
        raise InputError(f"--offset needs a regression; the model is a {type(fitted).__name__}")
    tables.check_names([name], data, path, "--offset")
    return numbers(data, name, path)


def _further(fitted: Any, X: Any, proba: bool, quantiles: bool) -> dict[str, NDArray[Any]]:
    """Probabilities of classes, or quantiles."""
    if proba and hasattr(fitted, "classes_"):
        labels = fitted.classes_.tolist()
        return {f"p_{label}": p for label, p in zip(labels, fitted.predict_proba(X).T, strict=True)}
    levels = fitted.model_.outputs.quantile_levels
    if quantiles and levels:
        return {f"q_{level:g}": q for level, q in zip(levels, fitted.predict_quantiles(X).T, strict=True)}
    return {}
