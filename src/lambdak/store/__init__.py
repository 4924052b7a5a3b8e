r"""A fitted model as one file, or as text to compare: nothing in either can run, and all of it is checked before use.

The file is a safetensors file. Its tensors are ``coef`` (models, design columns, d(d+1)/2), ``start`` and ``weights``
of f = start + scale Σ_m w_m λ_k(A_m(row)). Its header is one JSON text under the key ``lambdak``: format, library
version, estimator and parameters, columns with their names, knots and levels, loss, classes, what explanations say of
the target (its name, its decimals, the average prediction), and a SHA-256 checksum. Quantiles have one more field and
tensor, ``calibration``: tails, and the levels that cover shares of rows.
The checksum reveals damage; it is no signature, because whoever changes a file can compute it again.
:func:`sign_file` adds a signature, with which :func:`verify_file` and ``load(path, public_key=...)`` tell who answers
for a file; it needs the library cryptography.

A file holds what predicts, explains and certifies. What training needs to continue, the parameters behind the matrices
and the moments of the training rows, would make it up to some times as large: it is added by ``save(...,
training_state=True)``, as further tensors ``training.…`` and a field of the header. Without it a loaded model can be
fitted again; ``partial_fit`` and ``warm_start`` refuse. Pickles never hold it. The parameters are those of the fit,
whatever was set since; a ``random_state`` that is a generator becomes None.

Loading proves that the matrices keep what the settings promise: monotone columns, convex shapes, caps, quantiles in
order, as ``certify()`` does, and refuses a file that does not. A file of the first format, in which promises held to
rounding, is widened by a few units in the last place first.

Modules: ``_header``, ``_calibration``, ``_columns``, ``_losses``, ``_promises``, ``_target``, ``_values``, ``_fields``;
``_tensors``, ``_training``, ``_text``; ``_keys``, ``_signature``, ``_identity`` whether a file holds a model.
"""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from lambdak import atomic
from lambdak.store._fields import ModelFileError, damaged, fields, is_number, items
from lambdak.store._header import FORMAT, Blueprint, Known, SavedModel, describe
from lambdak.store._identity import checksum_in_file, model_checksum
from lambdak.store._keys import create_keys, is_encrypted, public_path, read_public_key
from lambdak.store._signature import (
    ClaimedSignature,
    Signature,
    SignatureError,
    check_signature,
    claimed_signature,
    sign_file,
    verify_file,
)
from lambdak.store._tensors import Form, Tensors, check_digest, check_forms, opened, read_head, read_tensors, to_bytes
from lambdak.store._text import layout, parse
from lambdak.store._training import SavedTraining

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey

__all__ = [
    "FORMAT",
    "ClaimedSignature",
    "ModelFileError",
    "SavedModel",
    "SavedTraining",
    "Signature",
    "SignatureError",
    "checksum_in_file",
    "claimed_signature",
    "create_keys",
    "is_encrypted",
    "load_model",
    "model_bytes",
    "model_checksum",
    "model_from_bytes",
    "model_from_json",
    "model_to_json",
    "public_path",
    "save_model",
    "sign_file",
    "verify_file",
]


def save_model(saved: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, as a whole or not at all."""
    atomic.write_bytes(path, model_bytes(saved))


def model_bytes(saved: SavedModel) -> bytes:
    """What :func:`save_model` writes."""
    return to_bytes(*describe(saved))


def load_model(path: str | os.PathLike[str], known: Known, public_key: PublicKey | None = None) -> SavedModel:
    """The model in a file; ``known`` are the estimators it may hold, with the names of their parameters.

    With a ``public_key``, a file that is not signed with it is refused.
    """
    key = None if public_key is None else read_public_key(public_key)
    try:
        with opened(path) as (file, length):
            return _read(file, length, known, key)
    except ModelFileError as error:
        raise type(error)(f"cannot load {os.fspath(path)!r}: {error}") from None


def model_from_bytes(data: bytes, known: Known) -> SavedModel:
    """The model in what :func:`model_bytes` returned, checked as strictly as a file."""
    return _read(BytesIO(data), len(data), known, None)


def _read(file: BinaryIO, length: int, known: Known, key: Any) -> SavedModel:
    head = read_head(file, length)
    blueprint = Blueprint.read(head.header, known)
    check_forms(head.forms, blueprint.forms)
    tensors = read_tensors(file, head)
    check_digest(head.header, tensors)
    if key is not None:
        check_signature(head, tensors, key)
    return blueprint.build(tensors)


def model_to_json(saved: SavedModel) -> str:
    """A model as text: sorted fields, full precision, one line per design column."""
    header, tensors = describe(saved)
    return layout({**header, "tensors": {name: array.tolist() for name, array in tensors.items()}}) + "\n"


def model_from_json(text: str, known: Known) -> SavedModel:
    """The model in a text, checked as strictly as a file."""
    try:
        document = parse(text, "the text")
        if not isinstance(document, dict):
            raise damaged("the text must be an object")
        header = {name: value for name, value in document.items() if name != "tensors"}
        blueprint = Blueprint.read(header, known)
        listed = fields(document.get("tensors"), "tensors", tuple(blueprint.forms))
        tensors: Tensors = {name: _array(listed[name], name, form) for name, form in blueprint.forms.items()}
        check_digest(header, tensors)
        return blueprint.build(tensors)
    except ModelFileError as error:
        raise ModelFileError(f"cannot read a model from this text: {error}") from None


def _array(value: Any, name: str, form: Form) -> np.ndarray[Any, np.dtype[np.floating]]:
    """The numbers of a tensor, listed row by row."""
    rows = [value]
    for size in form.shape:
        rows = [item for row in rows for item in items(row, f"tensor {name!r}", size, size)]
    if not all(map(is_number, rows)):
        raise damaged(f"tensor {name!r} must be finite numbers, {form}")
    with np.errstate(over="ignore"):
        return np.array(rows, np.float64).astype(form.dtype).reshape(form.shape)
