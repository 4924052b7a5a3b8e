"""Which promises a file breaks: slow and simple, in fractions. It shares nothing with the checker or the proofs.

Only reading is lambdak's; what each promise means is in shape_truths.py.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from shape_truths import truths

from lambdak.store import ModelFileError
from lambdak.store._header import Blueprint
from lambdak.store._tensors import check_forms


def positive(M):
    """Whether a symmetric matrix of fractions is positive semidefinite: one Schur complement after the other."""
    if not M:
        return True
    (pivot, *rest), below = M[0], M[1:]
    if pivot < 0 or (pivot == 0 and any(rest)):
        return False
    if pivot == 0:
        return positive([row[1:] for row in below])
    return positive([[x - row[0] * y / pivot for x, y in zip(row[1:], rest, strict=True)] for row in below])


def broken(header, tensors):
    """(kinds and subjects of broken promises, those too close to call); None if lambdak refuses to read it."""
    try:
        blueprint = Blueprint.read(header, {header["estimator"]: set(header["parameters"])})
        check_forms({name: type(form)(tensors[name].dtype, form.shape) for name, form in blueprint.forms.items()},
                    blueprint.forms)  # fmt: skip
        blueprint._check_tensors(tensors)
    except (ModelFileError, ValueError):
        return None
    shapes = blueprint.promises.shapes
    if blueprint.loss.link.joint and any(own.ordered for own in shapes):  # probabilities have no one direction
        return None
    if blueprint.encoder.clamp == any(own.straight and not own.keys for own in shapes):
        return None
    found = truths(read(blueprint, tensors))
    return {key for key, true in found.items() if true is False}, {key for key, true in found.items() if true is None}


def read(blueprint, tensors):
    """What the oracle wants to know of a model."""
    parts = {name: getattr(blueprint, name) for name in ("encoder", "promises", "dim", "outputs", "loss", "scale")}
    numbers = {name: np.asarray(tensors[name], np.float64) for name in ("weights", "start")}
    return SimpleNamespace(**parts, **numbers, matrices=np.asarray(tensors["coef"], np.float64))
