"""What a file says about its model: columns, levels, classes, guarantees and the version that wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from lambdak.certify import certify
from lambdak.export.formula import Formula, Levels
from lambdak.export.onnx.levels import is_text
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
    known = {"name": column.name, "input": name, "kind": column.kind}
    if column.is_number:
        return known | {"low": column.low, "high": column.high, "missing": "NaN"}  # type: ignore[attr-defined]
    levels = Levels.of(column)
    text = is_text(levels)
    return known | {
        "levels": [level for level, _ in (*levels.numbers, *levels.texts)],
        "missing": missing if text else "NaN",
    }
