"""An exported module as a package that npm can publish: its name, its description and its first page."""

from __future__ import annotations

import json
import re
from typing import Any

from lambdak.export.formula import Formula
from lambdak.export.javascript.typings import quoted
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
