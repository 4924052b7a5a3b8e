"""Models as JSON texts: structure-aware changes, and changes of characters."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lambdak
from fuzzing.models import fitted, outcome
from fuzzing.trial import Trial, answered, at_most
from fuzzing.values import edited, text_of
from lambdak.store import ModelFileError
from lambdak.store._tensors import digest

SECONDS = 2.0
MEMORY, TIMES = 32 << 20, 60  # bytes, and this many times the text


@cache
def documents() -> tuple[Any, ...]:
    return tuple(json.loads(model.to_json()) for model in fitted())


def target(trial: Trial) -> str:
    """Read a hostile text: a model that behaves, or ModelFileError."""
    text = hostile(trial)
    trial.kept["model.json"] = text.encode("utf-8", "surrogatepass")
    with at_most(SECONDS, MEMORY + TIMES * len(text)):
        model = answered(lambda: lambdak.from_json(text), (ModelFileError,))
    return outcome(model)


def hostile(trial: Trial) -> str:
    document = deepcopy(trial.pick(documents()))
    way = trial.below(4)
    if way == 0:
        return characters(trial, text_of(document))
    for _ in range(1 + trial.below(3)):
        document = edited(trial, document)
    return text_of(document if way == 1 else sealed(document))


def sealed(document: Any) -> Any:
    """The same with a checksum that fits, if it has one."""
    if not isinstance(document, dict) or not isinstance(document.get("tensors"), dict):
        return document
    header = {name: value for name, value in document.items() if name != "tensors"}
    kinds = {"coef": header.get("dtype", "float32"), "start": "float64", "weights": "float64"}
    try:
        with np.errstate(all="ignore"):
            tensors = {name: np.array(value, kinds.get(name)) for name, value in document["tensors"].items()}
        return {**document, "sha256": digest(header, tensors)}
    except (ValueError, TypeError, OverflowError, RecursionError):
        return document


def characters(trial: Trial, text: str) -> str:
    """Some characters replaced, removed, repeated or added."""
    first, last = sorted((trial.below(len(text) + 1), trial.below(len(text) + 1)))
    new = trial.draw(
        st.one_of(st.text(max_size=30), st.sampled_from(["[" * 5000, "9" * 5000, "1e999", "-", "NaN", "\ufeff"]))
    )
    middle = trial.pick(["", text[first:last], text[first:last] * 2])
    return trial.pick([text[:first] + new + text[first:], text[:first] + middle + new + text[last:], text[:first], new])
