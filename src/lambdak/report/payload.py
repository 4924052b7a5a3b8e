"""A fitted model as JSON: what the engine computes with, and what the page says about data and guarantees."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from lambdak.model.readout import readouts
from lambdak.optimize.changes.rows import spread
from lambdak.report.constants import constants
from lambdak.report.contents import Contents
from lambdak.report.engine import engine_column, engine_model
from lambdak.report.measured import drawn
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.column_contract import Column

# "<", ">" and "&" cannot then end the element that holds the JSON, and U+2028 and U+2029 are no line ends.
_SURROGATES = range(0xD800, 0xE000)  # halves of a sign, which no file in UTF-8 holds
_ESCAPES = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&\u2028\u2029"), *_SURROGATES)}


def payload(contents: Contents) -> dict[str, Any]:
    """All that the page's scripts need."""
    model, found = contents.model, contents.behaviour
    outputs, known = readouts(model), contents.data
    identifiers = set() if known is None else set(known["identifiers"])
    columns = [
        _column(own, float(bound))
        | {"unit": contents.units.get(own.name, ""), "identifier": i in identifiers, "choices": _choices(known, i)}
        for i, (own, bound) in enumerate(zip(model.encoder.columns, found.proven, strict=True))
    ]
    return {
        "about": _about(contents),
        "constants": constants(model.dim, model.loss.link, max(output.error for output in outputs)),
        "columns": columns,
        "order": list(found.order),
        "first": list(found.first),
        "mean_effects": None if found.mean is None else found.mean.tolist(),
        "pairs": _pairs(contents),
        "matrices": model.encoder.get_feature_names_out().tolist(),
        "model": engine_model(model),
        "data": known,
        "performance": None if contents.measured is None else drawn(model, contents.measured),
    }


def _choices(known: dict[str, Any] | None, i: int) -> list[float] | None:
    """The two numbers of a column that has no others in the data."""
    summaries = [] if known is None else known["summary"]
    return summaries[i].get("values") if i < len(summaries) else None


def _pairs(contents: Contents) -> dict[str, Any] | None:
    """Columns, and what each two of them do together."""
    pairs = contents.behaviour.pairs
    inside = {i for pair in pairs for i in pair}
    columns = [i for i in contents.behaviour.first if i in inside]
    both = [[pairs.get((min(i, j), max(i, j))) for j in columns] for i in columns]
    return {"columns": columns, "joint": both} if pairs else None


def to_json(value: object) -> str:
    r"""JSON without NaN or infinity (both become null), safe inside of a script element.

    >>> to_json({"</script>": float("nan")})
    '{"\\u003c/script\\u003e": null}'
    """
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False).translate(_ESCAPES)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _about(contents: Contents) -> dict[str, Any]:
    model = contents.model
    return {
        "estimator": model.estimator,
        "target": contents.target + contents.per if contents.named else None,
        "unit": contents.unit.strip(),
        "version": version("lambdak"),
        "loss": model.loss.name,
        "classes": contents.classes,
        "ordered": contents.ordered,
        "quantile_levels": list(model.outputs.quantile_levels),
    }


def _column(column: Column, strength: float) -> dict[str, Any]:
    engine, levels = engine_column(column), getattr(column, "levels", ())
    knots = engine["knots"]
    return engine | {
        "levels": [f"({shown(level)})" if _is_special(level) else shown(level) for level in levels],
        "own": [i for i, level in enumerate(levels) if not _is_special(level)],
        "pooled": OTHER in levels,
        "strength": strength,
        "spread": spread(column),
        "whole": bool(knots) and all(float(knot).is_integer() for knot in knots),
    }


def _is_special(level: object) -> bool:
    """Whether a level is "missing" or "other", not a level of the table."""
    return not isinstance(level, str | int | float)
