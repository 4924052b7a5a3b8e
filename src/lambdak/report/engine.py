"""What computes a model in JavaScript: scripts that the page shares with exports, and a model as they read it."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.families import families
from lambdak.model.readout import readouts
from lambdak.table.column_contract import Column

# These need ``PAYLOAD``, with the keys of :func:`engine_payload`, and nothing of a page.
ENGINE = ("constants", "eigen", "model")

# The engine knows all types of columns by the same fields; those that a type does not have are these.
_ABSENT: dict[str, Any] = {
    "knots": (), "center": 0.0, "scale": 1.0, "low": None, "high": None, "median": None, "clamp": True,
}  # fmt: skip


def page_file(name: str) -> str:
    """The text of a file of the page."""
    return files("lambdak.report").joinpath("page", name).read_text(encoding="utf-8")


def engine_column(column: Column) -> dict[str, Any]:
    """One column; its cells are numbers or null, or the positions of levels."""
    known = {name: getattr(column, name, absent) for name, absent in _ABSENT.items()}
    return known | {
        "name": column.name,
        "kind": column.kind,
        "start": column.start,
        "knots": np.asarray(known["knots"]).tolist(),
        "missing": column.missing,
    }


def engine_model(model: Model) -> dict[str, Any]:
    """The matrices in base64, and how raw scores and predictions come from them."""
    blocks, listed = _families(model)
    return {
        "dim": model.dim,
        "weights": model.weights.tolist(),
        "scale": model.scale,
        "link": model.loss.link.name,
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
        own = [
            {"position": i, "name": outputs[i].name, "index": index, "start": outputs[i].start}
            for i, index in zip(family.outputs, family.indices, strict=True)
        ]
        listed.append({"block": len(blocks) - 1, "constant": _array(family.constant), "outputs": own})
    return [_array(coef.astype(model.stored_dtype)) for coef in blocks], listed


def _array(values: NDArray[Any]) -> dict[str, Any]:
    """An array as base64 of its little-endian bytes, to the last bit."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return {
        "dtype": values.dtype.name,
        "shape": list(values.shape),
        "base64": base64.b64encode(little.tobytes()).decode("ascii"),
    }
