"""A fitted model as JSON: what the engine computes with, and what the page says about data and guarantees."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from lambdak.export.javascript.engine import engine_column, engine_model
from lambdak.model.readout import readouts
from lambdak.report.constants import constants
from lambdak.report.contents import Contents
from lambdak.report.measured import drawn
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.column_contract import Column


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
    engine, levels = engine_column(column), column.known_levels
    knots = engine["knots"]
    return engine | {
        "levels": [f"({shown(level)})" if _is_special(level) else shown(level) for level in levels],
        "own": [i for i, level in enumerate(levels) if not _is_special(level)],
        "pooled": OTHER in levels,
        "strength": strength,
        "spread": column.spread,
        "whole": bool(knots) and all(float(knot).is_integer() for knot in knots),
    }


def _is_special(level: object) -> bool:
    """Whether a level is "missing" or "other", not a level of the table."""
    return not isinstance(level, str | int | float)
