"""Model files: structure-aware changes of real ones, with the checksum computed again or not."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lambdak
from fuzzing.models import FOLDER, described, outcome
from fuzzing.trial import Trial, answered, at_most
from fuzzing.values import edited, hostile_floats
from lambdak.store import ModelFileError
from lambdak.store._tensors import as_safetensors, digest

SECONDS = 2.0
MEMORY = 32 << 20  # and this many times the file:
TIMES = 40

Parts = tuple[dict[str, Any], dict[str, np.ndarray]]


def target(trial: Trial) -> str:
    """Load a hostile file: a model that behaves, or ModelFileError."""
    data = hostile(trial)
    trial.kept["model.safetensors"] = data
    path = FOLDER / "model.safetensors"
    path.write_bytes(data)
    with at_most(SECONDS, MEMORY + TIMES * len(data)):
        model = answered(lambda: lambdak.load(path), (ModelFileError, FileNotFoundError))
    return outcome(model)


def hostile(trial: Trial) -> bytes:
    header, tensors = deepcopy(trial.pick(described()))
    way = trial.below(8)
    if way == 0:
        return raw(trial, sealed(header, tensors))
    if way == 1:
        return outer(trial, sealed(header, tensors))
    if way in (2, 3):
        tensors = bent(trial, tensors)
    if way >= 3:
        for _ in range(1 + trial.below(3)):
            header = edited(trial, header)
    return sealed(header, tensors, trial.chance(20))


def sealed(header: Any, tensors: dict[str, np.ndarray], as_it_was: bool = False) -> bytes:
    """A file whose checksum fits, whatever it holds, unless it is as it was."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    if isinstance(header, dict) and not as_it_was:
        with suppress(ValueError, TypeError, RecursionError):
            header = {**header, "sha256": digest(header, arrays)}
    return bytes(as_safetensors(arrays, {"lambdak": plain(header)}))


def plain(header: Any) -> str:
    """JSON, strictly if it can be."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"))


def bent(trial: Trial, tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Other numbers, shapes, dtypes, names or tensors."""
    name = trial.pick(sorted(tensors))
    array = tensors[name] = tensors[name].copy()
    match trial.below(9):
        case 0:
            tensors.pop(name)
        case 1:
            tensors[trial.pick(["extra", "coef ", "", "__proto__", "λ", "a" * 300])] = array
        case 2:
            other = trial.pick(sorted(tensors))
            tensors[name], tensors[other] = tensors[other], tensors[name]
        case 3:
            tensors[name] = trial.pick([array[:-1], array.ravel(), array[None], array[..., ::-1], array[:0]])
        case 4:
            tensors[name] = array.astype(trial.pick([np.float32, np.float64, np.float16, np.int64, np.bool_]))
        case 5:
            with np.errstate(all="ignore"):
                array *= trial.pick([0.0, -1.0, 1e-30, 1e-300, 1e10, 1e20, 1e30, 1e300])
        case _:
            for _ in range(1 + trial.below(4)):
                with np.errstate(all="ignore"):
                    array.ravel()[trial.below(array.size)] = trial.draw(hostile_floats())
    return tensors


def raw(trial: Trial, data: bytes) -> bytes:
    """Bytes flipped, cut, repeated, appended, or another length of the header."""
    size = int.from_bytes(data[:8], "little")
    first, last = sorted((trial.below(len(data) + 1), trial.below(len(data) + 1)))
    match trial.below(6):
        case 0:
            changed = bytearray(data)
            for _ in range(1 + trial.below(8)):
                changed[trial.below(len(data))] = trial.below(256)
            return bytes(changed)
        case 1:
            return data[:first]
        case 2:
            return data[:first] + data[last:]
        case 3:
            return data + trial.draw(st.binary(max_size=200)) + data[first:last]
        case 4:
            wrong = trial.pick([0, 1, size - 1, size + 1, size + 8, len(data), 2**31, 2**40, 2**63, 2**64 - 1])
            return wrong.to_bytes(8, "little") + data[8:]
        case _:
            return trial.draw(st.binary(max_size=400))


def outer(trial: Trial, data: bytes) -> bytes:
    """Another header of the file, not of the model, still JSON; or with a key twice."""
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    if trial.chance(4):
        key = trial.pick(sorted(head))
        text = json.dumps(head)[:-1] + f", {json.dumps(key)}: {json.dumps(head[key])}}}"
    else:
        text = json.dumps(edited(trial, head))
    padded = text.encode("utf-8", "surrogatepass") + b" " * trial.pick([0, 0, 1, 7, 4096])
    return len(padded).to_bytes(8, "little") + padded + data[8 + size :]
