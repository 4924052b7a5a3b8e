"""What computes a model in JavaScript: scripts that modules and reports share, and a model as these scripts read it."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Predicts
from lambdak.losses.links import EXPONENT_LIMIT
from lambdak.model import Model
from lambdak.model.readout import families, readouts
from lambdak.pencil import REPEATED_TOL
from lambdak.table.cell_rules import KnotRule, LevelRule, LineRule, NumberRule
from lambdak.table.column_contract import Column

# These need ``PAYLOAD``, with the columns, the model and the constants of this module, and nothing of a page.
ENGINE = ("constants", "eigen", "model")

_NEGLIGIBLE = 1e-25  # below this, an entry of a matrix whose largest entry is 1 counts as zero

# "<", ">" and "&" cannot then end the element that holds the JSON, and U+2028 and U+2029 are no line ends.
_SURROGATES = range(0xD800, 0xE000)  # halves of a sign, which no file in UTF-8 holds
_ESCAPES = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&\u2028\u2029"), *_SURROGATES)}


def engine_script(name: str) -> str:
    """Return the text of one of the scripts ``ENGINE``."""
    return files("lambdak.export.javascript").joinpath(f"{name}.js").read_text(encoding="utf-8")


def engine_constants() -> dict[str, float | str]:
    """Return the numbers that the scripts read as ``CONSTANTS``."""
    return {"repeated_tol": REPEATED_TOL, "negligible": _NEGLIGIBLE, "exponent_limit": EXPONENT_LIMIT}


def engine_column(column: Column) -> dict[str, Any]:
    """One column; its cells are numbers or null, or the positions of levels.

    Scripts know columns by their cell rules alone, all of them with the same fields.
    """
    rule, knots, center, scale = column.rule, list[float](), 0.0, 1.0
    match rule:
        case KnotRule():
            knots = rule.knots.tolist()
        case LineRule():
            center, scale = rule.center, rule.scale
        case LevelRule():
            pass
        case unknown:
            assert_never(unknown)
    number = rule if isinstance(rule, NumberRule) else None
    return {
        "knots": knots,
        "center": center,
        "scale": scale,
        "low": number and number.low,
        "high": number and number.high,
        "median": number and number.median,
        "clamp": number is None or number.clamp,
        "name": column.name,
        "kind": rule.code,
        "start": column.start,
        "missing": column.missing,
    }


def engine_model(model: Model) -> dict[str, Any]:
    """The matrices in base64, and how raw scores and predictions come from them."""
    (blocks, listed), link = _families(model), model.loss.output_link
    return {
        "dim": model.dim,
        "weights": model.weights.tolist(),
        "scale": model.scale,
        "link": model.loss.link.name,
        **{name: end for name, end in (("low", link.low), ("high", link.high)) if np.isfinite(end)},
        "ordered": model.loss.predicts is Predicts.ORDERED_CLASSES,
        "blocks": blocks,
        "families": listed,
    }


def _families(model: Model) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Coefficients, and families of outputs that name theirs by its position."""
    outputs, blocks = readouts(model), list[Float64Array]()
    listed: list[dict[str, Any]] = []
    for family in families(model):
        if not blocks or blocks[-1] is not family.coef:
            blocks.append(family.coef)
        written = [
            {"position": i, "name": outputs[i].name, "index": index, "start": outputs[i].start}
            for i, index in zip(family.outputs, family.indices, strict=True)
        ]
        listed.append({"block": len(blocks) - 1, "constant": _array(family.constant), "outputs": written})
    return [_array(coef.astype(model.stored_dtype)) for coef in blocks], listed


def _array(values: NDArray[Any]) -> dict[str, Any]:
    """An array as base64 of its little-endian bytes, to the last bit."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return {
        "dtype": values.dtype.name,
        "shape": list(values.shape),
        "base64": base64.b64encode(little.tobytes()).decode("ascii"),
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
