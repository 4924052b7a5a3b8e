"""Small models that keep what they promise, and copies with one number changed and a checksum that fits."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

import numpy as np
from hostile_cases import SMALL, Y, made

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [2, 3])]
RISING = {"monotonic_cst": {"x0": 1, "x2": -1}}
BASES = {
    "monotone": lambda: made(SpectralRegressor(**SMALL, **RISING)),
    "linear": lambda: made(SpectralRegressor(**SMALL, n_knots=0, **RISING, max_influence=[2.0, 2.0, np.inf, 1.5])),
    "capped": lambda: made(SpectralRegressor(**SMALL, max_influence=0.75, monotonic_cst=[1, 0, 0, 0])),
    "convex": lambda: made(SpectralRegressor(**SMALL, shape="convex", monotonic_cst={0: 1})),
    "concave": lambda: made(SpectralRegressor(**SMALL, shape="concave")),
    "binary": lambda: made(SpectralClassifier(**SMALL, **RISING), LABELS == "a"),
    "classes": lambda: made(SpectralClassifier(**SMALL, max_influence={"x3": 1.0}), LABELS),
    "quantiles": lambda: made(SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL, **RISING)),
    "ordinal": lambda: made(SpectralOrdinalClassifier(**SMALL, **RISING), LABELS),
    "knife's edge": lambda: on_the_edge(made(SpectralRegressor(**SMALL, **RISING))),
}


def on_the_edge(model):
    """Diagonal matrices whose steps are singular: many entries at which one unit in the last place decides."""
    header, tensors = deepcopy(model)
    rng = np.random.default_rng(0)
    coef = np.zeros_like(tensors["coef"])
    start = 1
    for column in header["columns"]:
        knots = len(column["knots"]) if "knots" in column else 0
        sign = -1 if column["name"] == "x2" else 1
        steps = rng.integers(0, 3, (len(coef), knots, header["dim"])) / 8.0
        coef[:, start : start + knots, [0, 2, 5]] = sign * np.cumsum(steps, axis=1)
        start += knots + column.get("missing", 0)
    return header, {**tensors, "coef": coef}


@cache
def base(name):
    return BASES[name]()


def last_bit(x, rng, _):
    return np.nextafter(x, rng.choice([-np.inf, np.inf]).astype(np.asarray(x).dtype))


def tiny(x, rng, _):
    return x + rng.choice([-1, 1]) * 1e-12 * max(abs(x), 1e-3)


def small(x, rng, _):
    return x * (1 + rng.choice([-1, 1]) * 1e-6)


def large(x, rng, _):
    return x * rng.choice([10.0, 0.1])


def minus(x, rng, _):
    return -x


def zero(x, rng, _):
    return 0.0 * x


def swap(x, rng, other):
    return other


CHANGES = (last_bit, tiny, small, large, minus, zero, swap)


def tampered(name, seed):
    """Header and tensors of a model with one number changed, and what was done to it."""
    header, tensors, words = changed(*base(name), np.random.default_rng(seed))
    return header, tensors, f"{name}, seed {seed}: {words}"


def changed(header, tensors, rng):
    """A copy of a header and tensors with one number changed, and what was done."""
    header, tensors = deepcopy(header), deepcopy(tensors)
    change = CHANGES[rng.integers(len(CHANGES))]
    part = rng.choice(["coef", "coef", "coef", "start", "weights", "scale", "knots", "parameters"])
    if part in tensors:
        flat = tensors[part].reshape(-1)
        at, other = rng.integers(flat.size, size=2)
        flat[at] = change(flat[at], rng, flat[other])
    elif part == "scale":
        header["scale"] = float(change(header["scale"], rng, 1.0))
    elif part == "knots":
        numeric = [column for column in header["columns"] if column["kind"] != "category"]
        own = numeric[rng.integers(len(numeric))]
        numbers = own.get("knots", own)
        at = rng.integers(len(numbers)) if "knots" in own else rng.choice(["low", "high", "center", "scale"])
        numbers[at] = float(change(numbers[at], rng, own["median"]))
    else:
        promise(header, rng)
        straight = header["parameters"]["shape"] is not None  # else neither load nor the checker read it
        header["encoder"]["clamp"] = header["encoder"]["clamp"] and not straight
    return header, tensors, f"{change.__name__} of {part}"


def promise(header, rng):
    """Promise something else: another sign, a smaller or larger cap, or another shape."""
    parameters = header["parameters"]
    numeric = [column["name"] for column in header["columns"] if column["kind"] != "category"]
    which = rng.choice(["monotonic_cst", "max_influence", "shape"])
    if which == "monotonic_cst":
        parameters[which] = {"dict": [[numeric[rng.integers(len(numeric))], int(rng.choice([-1, 1]))]]}
    elif which == "max_influence":
        caps = rng.uniform(0.1, 3.0, len(header["columns"]))
        parameters[which] = {"array": {"dtype": "f8", "values": caps.tolist()}}
    else:
        parameters[which] = str(rng.choice(["convex", "concave"]))
