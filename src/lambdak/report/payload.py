"""A fitted model as JSON: columns, matrices in base64, and what the page says about data and guarantees."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.influence import strengths
from lambdak.model.metrics import model_metrics
from lambdak.model.readout import Readout, readouts
from lambdak.optimize.changes.surroundings import spread
from lambdak.report.constants import constants
from lambdak.report.table_summary import describe
from lambdak.table.category_levels import OTHER, shown
from lambdak.table.column_contract import Column
from lambdak.table.read import read_table
from lambdak.table.rows import target_rows

# The page knows all types of columns by the same fields; those that a type does not have are these.
_ABSENT: dict[str, Any] = {
    "knots": (), "levels": (), "center": 0.0, "scale": 1.0, "low": None, "high": None, "median": None, "clamp": True,
}  # fmt: skip

# "<", ">" and "&" cannot then end the element that holds the JSON, and U+2028 and U+2029 are no line ends.
_SURROGATES = range(0xD800, 0xE000)  # halves of a sign, which no file in UTF-8 holds
_ESCAPES = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&\u2028\u2029"), *_SURROGATES)}


def payload(model: Model, X: Any, y: Any, certificate: Mapping[str, Any] | None) -> dict[str, Any]:
    """All that the page needs."""
    if X is None and y is not None:
        raise ValueError("X must be given with y; got y alone: pass the rows that these targets belong to")
    X = X if X is None or issparse(X) else read_table(X)
    if X is not None and not X.shape[0]:
        raise ValueError("X must have at least one row; got none: omit X and y for a report without data")
    outputs = readouts(model)
    blocks, families = _families(model, outputs)
    measured = None if y is None else [own._asdict() for own in model_metrics(model, X, y)]
    bounds = strengths(model).tolist()
    return {
        "about": _about(model, y),
        "constants": constants(model.dim, model.loss.link, max(output.error for output in outputs)),
        "columns": [_column(own, bound) for own, bound in zip(model.encoder.columns, bounds, strict=True)],
        "matrices": model.encoder.get_feature_names_out().tolist(),
        "model": {
            "dim": outputs[0].dim,
            "weights": outputs[0].weights.tolist(),
            "scale": outputs[0].scale,
            "link": model.loss.link.name,
            "blocks": blocks,
            "families": families,
        },
        "data": None if X is None else describe(model.encoder, X, None if y is None else target_rows(y)),
        "metrics": measured,
        "certificate": certificate,
    }


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


def _about(model: Model, y: Any) -> dict[str, Any]:
    return {
        "estimator": model.estimator,
        "target": _target_name(y),
        "version": version("lambdak"),
        "loss": model.loss.name,
        "classes": [shown(label) for label in ([] if model.classes is None else model.classes.tolist())],
        "ordered": model.loss.predicts is Predicts.ORDERED_CLASSES,
        "quantile_levels": list(model.outputs.quantile_levels),
    }


def _target_name(y: Any) -> str | None:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def _column(column: Column, strength: float) -> dict[str, Any]:
    known = {name: getattr(column, name, absent) for name, absent in _ABSENT.items()}
    knots, levels = np.asarray(known["knots"]).tolist(), known["levels"]
    return known | {
        "name": column.name,
        "kind": column.kind,
        "start": column.start,
        "knots": knots,
        "levels": [f"({shown(level)})" if _is_special(level) else shown(level) for level in levels],
        "own": [i for i, level in enumerate(levels) if not _is_special(level)],
        "pooled": OTHER in levels,
        "missing": column.missing,
        "strength": strength,
        "spread": spread(column),
        "whole": bool(knots) and all(float(knot).is_integer() for knot in knots),
    }


def _is_special(level: object) -> bool:
    """Whether a level is "missing" or "other", not a level of the table."""
    return not isinstance(level, str | int | float)


def _families(model: Model, outputs: tuple[Readout, ...]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Coefficients and families of outputs: those of one family are eigenvalues of the same matrices.

    Quantiles and cut-points share the coefficients but not the constant; in old files, cut-points share both.
    """
    dtype = model.stored_dtype
    own = model.outputs.pencils > 1
    blocks = [_array(output.coef.astype(dtype)) for output in (outputs if own else outputs[:1])]
    families: list[dict[str, Any]] = []
    for i, output in enumerate(outputs):
        member = {"position": i, "name": output.name, "index": output.index, "start": output.start}
        if i and not own and np.array_equal(output.constant, outputs[i - 1].constant):
            families[-1]["outputs"].append(member)
        else:
            families.append({"block": i if own else 0, "constant": _array(output.constant), "outputs": [member]})
    return blocks, families


def _array(values: NDArray[Any]) -> dict[str, Any]:
    """An array as base64 of its little-endian bytes, to the last bit."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return {
        "dtype": values.dtype.name,
        "shape": list(values.shape),
        "base64": base64.b64encode(little.tobytes()).decode("ascii"),
    }
