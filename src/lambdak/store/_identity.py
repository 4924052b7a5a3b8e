"""Whether a file holds a given model: by all that predicts, whatever else is in the file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from lambdak.store._fields import ModelFileError
from lambdak.store._header import SavedModel, describe
from lambdak.store._tensors import CHECKSUM, Tensors, check_digest, opened, read_head, read_tensors
from lambdak.table.numeric_column import SAVED_FACTS

_FACTS = {*SAVED_FACTS}  # of a column, which older files do not say
_BESIDE = (CHECKSUM, "format", "lambdak", "target", "training")  # that may differ between two files of one model


def model_checksum(saved: SavedModel) -> str:
    """SHA-256 of a model, as the file holds it that ``save`` writes."""
    return str(describe(saved)[0][CHECKSUM])


def checksum_in_file(path: str | os.PathLike[str], saved: SavedModel) -> str:
    """SHA-256 of the model in a file, computed again; a file that holds another model than ``saved`` is refused."""
    try:
        with opened(path) as (file, length):
            head = read_head(file, length)
            tensors = read_tensors(file, head)
        check_digest(head.header, tensors)
    except ModelFileError as error:
        raise type(error)(f"cannot read {os.fspath(path)!r}: {error}") from None
    if not _same((head.header, tensors), describe(saved)):
        raise ValueError(
            f"{os.fspath(path)!r} must hold this model; it holds another one: save this one, or load that one first"
        )
    return str(head.header[CHECKSUM])


def _same(one: tuple[dict[str, Any], Tensors], other: tuple[dict[str, Any], Tensors]) -> bool:
    headers = [_predicting(model[0]) for model in (one, other)]
    return headers[0] == headers[1] and all(np.array_equal(one[1][name], array) for name, array in other[1].items())


def _predicting(header: dict[str, Any]) -> dict[str, Any]:
    """What of a header predictions depend on."""
    columns = [
        {name: value for name, value in column.items() if name not in _FACTS} for column in header.get("columns", ())
    ]
    return {name: value for name, value in header.items() if name not in _BESIDE} | {"columns": columns}
