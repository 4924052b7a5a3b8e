"""The ES module: the model as JSON, the engine that reports share, and functions for rows as programs have them."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from lambdak.atomic import write_texts
from lambdak.export.formula import Formula, is_double
from lambdak.export.javascript.engine import (
    ENGINE,
    engine_column,
    engine_constants,
    engine_model,
    engine_script,
    to_json,
)
from lambdak.export.javascript.package import declarations, description, package_json, package_name, readme
from lambdak.losses import Predicts
from lambdak.table.cell_rules import LevelRule
from lambdak.table.cells import LARGEST
from lambdak.table.column_contract import Column
from lambdak.table.rows import LARGEST_NUMBER

_TYPES = {".mjs": ".d.mts", ".js": ".d.ts"}  # where TypeScript looks for the types of a file


def to_javascript(model: Any, path: str | os.PathLike[str], *, explain: bool = False, name: str | None = None) -> None:
    """Write a model as one ES module with types, for browsers and Node 18 or later, alone or as a package for npm.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, its frozen model, or a file that ``save`` wrote.
    path : path
        A file that ends in ``.mjs`` or ``.js``; its types are written beside it. Or a folder, which becomes a package:
        ``package.json``, ``index.js``, ``index.d.ts`` and ``README.md``; other files in it stay as they are.
    explain : bool
        Whether ``explain`` is there too: the signed influence of every column, as in ``explain_local(X).influence``,
        beside the prediction.
    name : str, optional
        That of the package; None takes that of the folder.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lambdak import SpectralRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> to_javascript(SpectralRegressor(effort="fast", max_iter=2).fit(X, y), "diabetes.mjs")  # doctest: +SKIP
    """
    target, formula = Path(path), Formula.of(model)
    single = target.suffix in _TYPES
    if not os.fspath(path):
        raise ValueError("path must end in .mjs or .js, or be a folder; got '': '.' is the folder you are in")
    if single and name is not None:
        raise ValueError(f"name needs a folder, which becomes a package; got {os.fspath(path)!r}: omit one of them")
    if not single and target.suffix and not target.is_dir():
        raise ValueError(f"path must end in .mjs or .js, or be a folder; got {os.fspath(path)!r}")
    _check_numbers(formula)
    code, types = _module(formula, explain), declarations(formula, explain)
    if single:
        texts = {target.with_suffix(_TYPES[target.suffix]): types, target: code}
    else:
        package = package_name(name, target.resolve().name)
        texts = {
            target / "index.d.ts": types,
            target / "README.md": readme(formula, package, explain),
            target / "package.json": package_json(formula, package),
            target / "index.js": code,
        }
        _make_folder(target)
    write_texts(texts)


def _make_folder(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise FileExistsError(f"path must be a folder, or end in .mjs or .js; got the file {os.fspath(target)!r}")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"the folder of {os.fspath(target)!r} does not exist: create {os.fspath(target.parent)!r} first"
        )
    target.mkdir(exist_ok=True)


def _module(formula: Formula, explain: bool) -> str:
    parts = ["api.js", *(["api_explain.js"] if explain else [])]
    return "\n".join([
        f"// {description(formula)}, written by lambdak; see index.d.ts or the .d.mts beside this file for its types.",
        f"const PAYLOAD = {to_json(_payload(formula))};\n",
        *map(engine_script, ENGINE),
        *(files("lambdak.export.javascript").joinpath(name).read_text(encoding="utf-8") for name in parts),
    ])  # fmt: skip


def _payload(formula: Formula) -> dict[str, Any]:
    """What the module computes with."""
    model = formula.model
    predicts = model.loss.predicts
    return {
        "about": {
            "estimator": model.estimator,
            "kind": predicts.value if predicts is not Predicts.ORDERED_CLASSES else Predicts.CLASSES.value,
            "classes": formula.labels,
            "quantile_levels": model.outputs.quantile_levels,
            "guarantees": formula.guarantees,
            "largest": LARGEST,
            "largest_offset": LARGEST_NUMBER,
            "no_offset": model.loss.no_offset,
        },
        "constants": engine_constants(),
        "columns": [_column(column) for column in formula.columns],
        "model": engine_model(model),
    }


def _column(column: Column) -> dict[str, Any]:
    rule = column.rule
    if not isinstance(rule, LevelRule):
        return engine_column(column)

    def position(id_: int) -> int:
        return id_ - column.start if id_ >= 0 else -1

    return engine_column(column) | {
        "texts": [(text, position(id_)) for text, id_ in rule.texts],
        "numbers": [(number, position(id_)) for number, id_ in rule.numbers],
        "takes": {"text": rule.take_text, "number": rule.take_numbers or not rule.kinds},
        "missing_level": position(rule.missing),
        "unseen_level": position(rule.unseen),
    }


def _check_numbers(formula: Formula) -> None:
    """Refuse numbers that JavaScript would round, or that JSON does not have."""
    for column in formula.columns:
        for level in column.known_levels:
            if isinstance(level, int | float) and not is_double(level):
                raise ValueError(
                    f"column {column.name!r} has the level {level}, which JSON cannot hold as a double: convert the "
                    "column to strings before the fit"
                )
    for label in formula.labels:
        if isinstance(label, int | float) and not is_double(label):
            raise ValueError(f"the class {label} equals no double: convert the classes to strings before the fit")
