"""Tampered model files: whether the independent checker refutes every one that breaks a promise, and no other.

    python benchmarks/tampered.py --files 1000

Ten small models of all estimators keep what they promise. Each file has one number changed (a matrix entry, a weight,
the scale, a knot, a start, a promise), by the last bit or by much, and a checksum that fits. An oracle in fractions,
which shares nothing with the checker, says which promises the file breaks. Every fourth file has its classes in another
order, or a constant so large that a cap is below the rounding of what is computed. What the checker calls proven as a
whole, ``load`` must accept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from copy import deepcopy
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from checker_cases import verdicts
from hostile_cases import sealed
from promise_oracle import broken
from tampered_models import BASES, base, tampered

import lambdak
from lambdak.store import ModelFileError


def outcome(name, seed):
    """What the oracle says, and whether the checker says the same."""
    header, tensors, words = rounded(name, seed) if seed % 4 == 3 else tampered(name, seed)
    data = sealed(header, tensors)
    truth, found, loaded = broken(header, tensors), verdicts(data), loads(data)
    if truth is None:
        return "refused by lambdak", found is None and not loaded, words
    if seed % 4 == 3:
        proven = found is not None and all(verdict == "proven" for verdict in found.values())
        return f"kept to rounding, load {'accepts' if loaded else 'refuses'}", loaded or not proven, words
    wrong = None if found is None else {key for key, verdict in found.items() if verdict != "proven"}
    return ("broken" if truth[0] else "kept"), wrong is not None and wrong - truth[1] == truth[0], words


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
    names, counts = list(BASES), Counter()
    for seed in range(args.first, args.first + args.files):
        kind, same, words = outcome(names[seed % len(names)], seed)
        counts[kind, same] += 1
        if not same:
            print(f"disagreement: {words}")
    for (kind, same), count in sorted(counts.items()):
        print(f"{count:6} files, promises {kind}: the checker {'agrees' if same else 'DISAGREES'}")
    return int(any(not same for _, same in counts))


if __name__ == "__main__":
    sys.exit(main())
