"""Tampered model files: whether the independent checker refutes every one that breaks a promise, and no other.

    python benchmarks/tampered.py --files 1000

Ten small models of all estimators keep what they promise. Each file has one number changed (a matrix entry, a weight,
the scale, a knot, a start, a promise), by the last bit or by much, and a checksum that fits. An oracle in fractions,
which shares nothing with the checker, says which promises the file breaks.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from checker_cases import verdicts
from hostile_cases import sealed
from promise_oracle import broken
from tampered_models import BASES, tampered


def outcome(name, seed):
    """What the oracle says, and whether the checker says the same."""
    header, tensors, words = tampered(name, seed)
    truth, found = broken(header, tensors), verdicts(sealed(header, tensors))
    if truth is None:
        return "refused by lambdak", found is None, words
    wrong = None if found is None else {key for key, verdict in found.items() if verdict != "proven"}
    return ("broken" if truth[0] else "kept"), wrong is not None and wrong - truth[1] == truth[0], words


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
