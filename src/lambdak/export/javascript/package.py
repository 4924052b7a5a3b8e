"""What stands beside the code of an exported module.

An exported module as a package that npm can publish: its name, its description and its first page.

The types of an exported module: a row with its columns by name, and what is said of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from lambdak.export.formula import Formula
from lambdak.losses import Predicts
from lambdak.table.cell_rules import NumberRule
from lambdak.table.column_contract import Column

_VALID = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_MOST = 214  # characters of a name
_COLUMNS_SHOWN = 8


def package_name(given: str | None, folder: str) -> str:
    """The name of the package: as given, or after the folder."""
    made = re.sub(r"[^a-z0-9._~-]+", "-", folder.lower()).strip("-._~") or "model"
    name = made[:_MOST] if given is None else given
    valid = isinstance(name, str) and _VALID.fullmatch(name) and len(name) <= _MOST
    if not valid or name in ("node_modules", "favicon.ico"):
        raise ValueError(
            f"name must be one that npm takes, lower case without spaces, such as {made!r} or '@team/{made}'; "
            f"got {given!r}"
        )
    return name


def description(formula: Formula) -> str:
    """What the package is, in one line."""
    return f"Predictions of a {formula.model.estimator} of {len(formula.columns)} columns"


def package_json(formula: Formula, name: str) -> str:
    """The file that npm reads."""
    parts: dict[str, Any] = {
        "name": name,
        "version": "1.0.0",
        "description": description(formula),
        "type": "module",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}},
        "types": "./index.d.ts",
        "files": ["index.js", "index.d.ts"],
        "sideEffects": False,
        "engines": {"node": ">=18"},
        "license": "UNLICENSED",
    }
    return json.dumps(parts, indent=2) + "\n"


def readme(formula: Formula, name: str, explain: bool) -> str:
    """The first page."""
    predicts = formula.model.loss.predicts
    calls = ["predict(row)"]
    if formula.labels:
        calls.append("proba(row)")
    if predicts is Predicts.QUANTILES:
        calls.append("quantiles(row)")
    calls += ["raw(row)", *(["explain(row)"] if explain else [])]
    names = ", ".join(["predictMany", *(call.partition("(")[0] for call in calls)])
    cells = [f"  {quoted(column.name)}: {_example(column)}," for column in formula.columns[:_COLUMNS_SHOWN]]
    more = ["  // …"] if len(formula.columns) > _COLUMNS_SHOWN else []
    return "\n".join([
        f"# {name}", "",
        f"{description(formula)}, written by lambdak. It needs nothing else, in browsers and in Node.", "", "```js",
        f'import {{ {names} }} from "{name}";', "", "const row = {", *cells, *more, "};",
        *(f"{call};" for call in calls), "predictMany([row, row]);", "```", "",
        "Missing cells are `null`, `undefined` or `NaN`; a column that is not there at all is an error. Raw scores "
        "equal those of the model in Python to 1e-12, relative to the size of what they are the sum of.", "",
    ])  # fmt: skip


def _example(column: Column) -> str:
    rule = column.rule
    if isinstance(rule, NumberRule):
        return f"{rule.median:.6g}"
    return quoted(rule.texts[0][0]) if rule.texts else repr(rule.numbers[0][0]) if rule.numbers else "null"


_FEW_LEVELS = 20  # up to which a type lists them


def declarations(formula: Formula, explain: bool) -> str:
    """The declaration file."""
    return "\n".join([*_row(formula.columns), *_functions(formula), *(_explain(formula) if explain else ())]) + "\n"


def _row(columns: Iterable[Column]) -> Iterator[str]:
    yield "/** A cell: null, undefined and NaN are missing. */"
    yield "export type Cell = string | number | bigint | boolean | null | undefined;"
    yield ""
    yield "/** A row by the names of its columns, which must all be there; others are ignored. */"
    yield "export interface Row {"
    for column in columns:
        yield f"  {quoted(column.name)}: {_type(column)} | null | undefined;"
    yield "}"
    yield ""
    yield "/** The same as a Map, or as cells in the order of the training columns. */"
    yield "export type AnyRow = Row | ReadonlyMap<string, Cell> | readonly Cell[];"
    yield ""


def _type(column: Column) -> str:
    """What a cell may be; of few levels each is named, and any other is one that training has not seen."""
    rule, kinds = column.rule, list[str]()
    if isinstance(rule, NumberRule):
        return "number | bigint | boolean"
    if rule.take_text:
        few = [quoted(text) for text, _ in rule.texts] if len(rule.texts) <= _FEW_LEVELS else []
        kinds += [*few, "(string & {})"] if few else ["string"]
    if rule.take_numbers:
        kinds += ["number", "bigint", "boolean"]
    return " | ".join(kinds)


def _functions(formula: Formula) -> Iterator[str]:
    predicts, offset = formula.model.loss.predicts, ", offset?: number" if formula.takes_offset else ""
    answer, what = "number", "the prediction"
    if predicts is Predicts.QUANTILES:
        what = "the middle quantile"
    elif predicts is not Predicts.NUMBERS:
        answer, what = "Label", "the label of the predicted class"
        yield f"export type Label = {' | '.join(map(json.dumps, formula.labels))};"
    many = ", offset?: number | ArrayLike<number>" if offset else ""
    yield "/** Names of the columns, in the order of training. */"
    yield "export const columns: readonly string[];"
    yield "/** The labels of a classifier, in their order. */"
    yield f"export const classes: readonly {answer if formula.labels else 'never'}[];"
    yield "/** The levels of the quantiles, if several are predicted. */"
    yield "export const quantileLevels: readonly number[];"
    yield "/** What was requested of the model and proven of its matrices, in words. */"
    yield "export const guarantees: readonly string[];"
    yield f"/** {what[0].upper()}{what[1:]} of a row. */"
    yield f"export function predict(row: AnyRow{offset}): {answer};"
    yield f"/** {what[0].upper()}{what[1:]} of each row; errors name the row, counted from zero. */"
    yield f"export function predictMany(rows: Iterable<AnyRow>{many}): {answer}[];"
    yield "/** Raw scores, before the link. */"
    yield f"export function raw(row: AnyRow{offset}): number[];"
    if formula.labels:
        yield "/** The probability of each class, in the order of `classes`. */"
        yield f"export function proba(row: AnyRow{offset}): number[];"
    if predicts is Predicts.QUANTILES:
        yield "/** The quantiles, in the order of `quantileLevels`. */"
        yield "export function quantiles(row: AnyRow): number[];"


def _explain(formula: Formula) -> Iterator[str]:
    answer = "Label" if formula.labels else "number"
    offset = "; offset?: number" if formula.takes_offset else ""
    yield "/**"
    yield " * The prediction, and by how much the raw score changes per unit of each column, to the right of a knot;"
    yield " * of a category, how much its level adds. All are NaN where the eigenvalue is repeated. `output` is the"
    yield " * position of the raw score; without it, the class with the largest one, or the middle one of several."
    yield " */"
    yield f"export function explain(row: AnyRow, options?: {{ output?: number{offset} }}): {{"
    yield f"  prediction: {answer};"
    yield "  raw: number[];"
    yield "  output: number;"
    yield "  influence: number[];"
    yield "};"


def quoted(text: str) -> str:
    r"""A string in JavaScript, JSON and TypeScript, in ASCII.

    >>> print(quoted('a"b\u2028</script>'))
    "a\"b\u2028\u003c/script>"
    """
    return json.dumps(text).replace("<", "\\u003c")
