"""Tampered model files: whether the independent checker refutes every one that breaks a promise, and no other.

    python benchmarks/tampered.py --files 10000

Ten small models of all estimators, and a hundred with random combinations of shapes, keep what they promise. Each
file has one number changed (a matrix entry, a weight, the scale, a knot, a start, a promise), by the last bit or by
much, and a checksum that fits. An oracle in fractions, which shares nothing with the checker, says which promises the
file breaks. Every fourth file of the ten has its classes in another order, or a constant so large that a cap is below
the rounding of what is computed; every fourth one of the others has a field of a shape changed. What the checker calls
proven as a whole, ``load`` must accept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from checker_cases import verdicts
from hostile_cases import sealed
from promise_oracle import broken
from random_shapes import fitted
from tampered_models import BASES, base, changed, tampered

import lambdak
from lambdak.shapes.registry import SHAPES
from lambdak.store import ModelFileError
from lambdak.store._header import describe

OTHERWISE = {  # the class of a shape that says the opposite
    one: other
    for pair in (("Rising", "Falling"), ("Convex", "Concave"), ("Valley", "Peak"), ("Complements", "Substitutes"))
    for one, other in (pair, pair[::-1])
}
PER_SHAPE = 8  # models that carry it for sure
SHAPED = [f"{name} {number}" for number in range(PER_SHAPE) for name in SHAPES]


@cache
def shaped(name):
    """Header and tensors of a model with random shapes, one of which is that of the name."""
    first, number = name.split()
    model = fitted(np.random.default_rng([int(number), list(SHAPES).index(first)]), first).model
    return describe(model._saved())


def outcome(seed):
    """What the oracle says, whether the checker says the same, what was done, and which shapes the file has."""
    names, odd = (list(BASES), seed % 4 == 3) if seed % 3 == 0 else (SHAPED, seed % 4 == 3)
    name, rng = names[seed // 3 % len(names)], np.random.default_rng(seed)
    if name in BASES:
        header, tensors, words = rounded(name, seed) if odd else tampered(name, seed)
        near = odd
    else:
        header, tensors, words = (reshaped if odd else changed)(*shaped(name), rng)
        words, near = f"{name}, seed {seed}: {words}", False
    shapes = {own["shape"][0] for own in listed(header)}
    return *verdict(header, tensors, near), words, shapes


def verdict(header, tensors, near):
    """What the oracle says, and whether the checker says the same."""
    data = sealed(header, tensors)
    truth, found, loaded = broken(header, tensors), verdicts(data), loads(data)
    proven = found is not None and all(own == "proven" for own in found.values())
    if truth is None:
        return "refused by lambdak", not (proven or loaded)
    if near:
        return f"kept to rounding, load {'accepts' if loaded else 'refuses'}", loaded or not proven
    if found is None:
        return ("broken" if truth[0] else "kept"), False
    wrong = {key for key, own in found.items() if own != "proven"}
    undecided = {key for key, own in found.items() if own == "not proven"} - truth[0]
    return ("broken" if truth[0] else "kept"), wrong - truth[1] - undecided == truth[0]


def listed(header):
    """The shapes of a header."""
    return header["parameters"].get("constraints") or []


def reshaped(header, tensors, rng):
    """A copy of a header and tensors with a shape that says something else: a number, a column, or the opposite."""
    header = deepcopy(header)
    shapes = listed(header)
    own = shapes[rng.integers(len(shapes))]["shape"]
    if own[0] in OTHERWISE and rng.random() < 0.4:
        own[0] = OTHERWISE[own[0]]
        return header, tensors, f"it is {own[0]}"
    names = [column["name"] for column in header["columns"]]
    places = [*leaves(own[1], names)]
    if not places:
        return header, tensors, "nothing"
    holder, key = places[rng.integers(len(places))]
    holder[key], words = other_leaf(holder[key], names, rng), f"{holder[key]!r} of {own[0]}"
    return header, tensors, f"{words} is {holder[key]!r}"


def leaves(value, names):
    """Where numbers and names of columns are in the fields of a shape."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, own in list(items):
        if isinstance(own, dict | list):
            yield from leaves(own, names)
        elif own in names or (isinstance(own, int | float) and not isinstance(own, bool)):
            yield value, key


def other_leaf(value, names, rng):
    """Another column for a name, and another number for a number."""
    if isinstance(value, str):
        return str(rng.choice(names))
    step = float(np.nextafter(value, rng.choice([-np.inf, np.inf])))
    return rng.choice([step, 0.5 * value, 2.0 * value, -value, value + 1.0]).item()


def rounded(name, seed):
    """Classes in another order, or a constant and a range so large that rounding exceeds a cap."""
    rng = np.random.default_rng(seed)
    header, tensors = deepcopy(base(name))
    if header["classes"] is not None:
        values = header["classes"]["array"]["values"]
        values[:] = [values[i] for i in rng.permutation(len(values))]
        return header, tensors, f"{name}, seed {seed}: classes {values}"
    coef = tensors["coef"] = tensors["coef"].astype(np.float64)
    header["dtype"] = "float64"
    diagonal = [0, 2, 5]
    size = 10.0 ** rng.uniform(12, 17)
    knots = len(header["columns"][0].get("knots", [0]))
    coef[:, 0, diagonal] += size
    coef[:, 1 : 1 + knots] = 0.0
    coef[:, 1 : 1 + knots, diagonal] = (size * 10.0 ** rng.uniform(-6, 0) * (1 + np.arange(knots)))[None, :, None]
    cap = float(10.0 ** rng.uniform(-1, 3))
    header["parameters"]["max_influence"] = {"dict": [["x3", cap]]}
    return header, tensors, f"{name}, seed {seed}: a constant of {size:.1e}, a cap of {cap:.3g}"


def loads(data):
    """Whether ``load`` accepts a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(data)
        try:
            lambdak.load(path)
        except ModelFileError:
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, by_shape = Counter(), Counter()
    for seed in range(args.first, args.first + args.files):
        kind, same, words, shapes = outcome(seed)
        counts[kind, same] += 1
        by_shape.update((own, column) for own in shapes for column in ("files", kind, "" if same else "disagreements"))
        if not same:
            print(f"disagreement, {kind}: {words}", flush=True)
    for (kind, same), count in sorted(counts.items()):
        print(f"{count:6} files, promises {kind}: the checker {'agrees' if same else 'DISAGREES'}")
    columns = ("files", "kept", "broken", "refused by lambdak", "disagreements")
    print(f"\n| shape | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name in SHAPES:
        print(f"| {name} | {' | '.join(f'{by_shape[name, column]:,}' for column in columns)} |")
    return int(any(not same for _, same in counts))


if __name__ == "__main__":
    sys.exit(main())
