"""Hostile JSON values and numbers, and changes of one place in a JSON value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from fuzzing.trial import Trial

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 128, 129, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**30, 10**400, 0.0, -0.0,
    0.5, 1.5, -2.5, 5e-324, 1e-320, 1e-160, 1e-9, 1e30, 1e150, 1e155, 1.7e308, float("nan"), float("inf"), "", "x0",
    "other", "auto", "convex", "concave", "curve", "linear", "category", "float32", "float64", "F32", "F64", "Poisson",
    "Ordinal", "Pinball", "SoftmaxLog", "SpectralRegressor", "SpectralClassifier", "SpectralQuantileRegressor",
    "increasing", "from_dtype", "\ud800", "\u202e\x1b[2J\x00", "a" * 300, [], {}, [[]], [1, 2], ["x"], [0, 0, 0],
    [1, 0, 0], [-1, 0, 0], [1e-9, 1, 1], {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, {"float": "1"},
    {"tuple": [1]}, {"tuple": [1, 0, 0]}, {"dict": [[1, 2]]}, {"dict": [["x0", 1]]},
    {"dict": [["x0", {"float": "nan"}]]}, {"dict": [[0, 1], ["x0", -1]]}, {"dict": [[[], 1]]},
    {"dict": [[{"float": "nan"}, 1]]}, {"level": "other"},
    {"array": {"dtype": "i8", "values": [1]}}, {"array": {"dtype": "i8", "values": [1, 0, 0]}},
    {"array": {"dtype": "O", "values": [None, "a"]}}, {"array": {"dtype": "O", "values": [None, "a", 1]}},
    {"array": {"dtype": "f8", "values": [1.0, 2.0, 3.0]}}, {"array": {"dtype": "U999999", "values": ["a"]}},
    {"array": {"dtype": "u1", "values": [256]}}, {"array": {"dtype": "f2", "values": [1e300]}},
]  # fmt: skip


def hostile_floats() -> st.SearchStrategy[float]:
    """Any float, and those at the ends of what can be computed with."""
    ends = [0.0, -0.0, 5e-324, 1e-300, 1e-38, 1e-30, 1.0, 1e20, 1e23, 1e24, 1e38, 1e155, 1e300, 1.7e308]
    return st.one_of(st.sampled_from(ends), st.floats(), st.floats(-2, 2))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def edited(trial: Trial, value: Any) -> Any:
    """Replace, remove, repeat, rename or move one thing in a JSON value."""
    every = list(places(value))
    if not every:
        return value
    path = trial.pick(every)
    parent, key = at(value, path[:-1]), path[-1]
    match trial.below(10):
        case 0:
            parent.pop(key)
        case 1 if isinstance(parent, list):
            parent.insert(trial.below(len(parent) + 1), deepcopy(parent[key]))
        case 1:
            parent[trial.pick(["new", "name", "__class__", "kind", "missing"])] = parent.pop(key)
        case 2:
            parent[key] = deepcopy(at(value, trial.pick(every)))
        case 3 if isinstance(parent, list):
            other = trial.below(len(parent))
            parent[key], parent[other] = parent[other], parent[key]
        case 4 | 5 if isinstance(parent[key], float | int) and not isinstance(parent[key], bool):
            number = parent[key]
            parent[key] = trial.pick(
                [-number, number + 1, number - 1, number * 2, float(max(min(number, 1e300), -1e300)) / 2]
            )
        case 6 if isinstance(parent[key], float | int):
            parent[key] = trial.draw(hostile_floats())
        case 7 if isinstance(parent[key], str):
            parent[key] = trial.draw(st.text(max_size=20))
        case 8:
            parent[key] = nested(trial, parent[key])
        case _:
            parent[key] = deepcopy(trial.pick(ODD))
    return value


def nested(trial: Trial, value: Any) -> Any:
    """Something inside of many lists, or a long list of it."""
    if trial.chance(2):
        return [deepcopy(value) for _ in range(trial.pick([2, 100, 5000]))]
    for _ in range(trial.pick([1, 5, 40])):
        value = [value]
    return value


def text_of(value: Any) -> str:
    """JSON, in which constants may be that JSON does not know."""
    return json.dumps(value)
