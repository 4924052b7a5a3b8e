"""What a file says about its model: columns, levels, classes, guarantees and the version that wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from lambdak.certify import certify
from lambdak.export.formula import Formula
from lambdak.table.cell_rules import NumberRule
from lambdak.table.column_contract import Column


def properties(formula: Formula, names: Sequence[str], missing: str | None) -> dict[str, str]:
    """Metadata as text: the values are JSON."""
    model = formula.model
    certificate = certify(model).to_dict()
    about: dict[str, Any] = {
        "lambdak_version": version("lambdak"),
        "estimator": model.estimator,
        "loss": model.loss.name,
        "link": model.loss.link.name,
        "columns": [_column(column, name, missing) for column, name in zip(formula.columns, names, strict=True)],
        "outputs": list(formula.result_names),
        "classes": [label if isinstance(label, bool | int | float) else str(label) for label in formula.labels],
        "certificate": certificate,
    }
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}


def _column(column: Column, name: str, missing: str | None) -> dict[str, Any]:
    rule = column.rule
    known = {"name": column.name, "input": name, "kind": rule.code}
    if isinstance(rule, NumberRule):
        return known | {"low": rule.low, "high": rule.high, "missing": "NaN"}
    return known | {
        "levels": [level for level, _ in (*rule.numbers, *rule.texts)],
        "missing": missing if rule.take_text else "NaN",
    }
