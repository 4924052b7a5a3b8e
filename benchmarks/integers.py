"""What deciding in integers takes, in microseconds, against what `lambdak.pencil.exact` expects it to take.

    python benchmarks/integers.py

Bounds on work must be about right on any machine: they decide what is worth to be tried, and after how long a file is
refused. So the last column matters: time over expected work, for sizes and bits that differ by a lot.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from lambdak.pencil import exact

SIZES = [(3, 110), (7, 110), (7, 600), (15, 120), (15, 600), (31, 120), (31, 600), (50, 120), (63, 120), (128, 110)]
MOST = 2e6  # of expected work that is tried


def dominant(dim: int, bits: int) -> list[list[int]]:
    """A matrix whose diagonal dominates: nothing ends early."""
    draw = random.getrandbits
    return [[*(draw(bits - 8) for _ in range(i)), draw(bits) | 1 << (bits - 1)] for i in range(dim)]


def microseconds(call: Callable[[], object], least: float) -> float:
    """CPU time of one call, over as many as take ``least`` seconds."""
    count, began = 0, time.process_time()
    while (spent := time.process_time() - began) < least:
        call()
        count += 1
    return 1e6 * spent / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each line")
    least = parser.parse_args().seconds
    random.seed(0)
    print("| what | size | bits | microseconds | expected | ratio |\n|---|---|---|---|---|---|")
    for dim, bits in SIZES:
        lower = dominant(dim, bits)
        ways = {
            "factorisation": (exact._is_factorised, exact.factorisation_work(dim)),
            "elimination": (exact._is_eliminated, exact.elimination_work(dim, bits)),
        }
        for name, (way, expected) in ways.items():
            if expected <= MOST:
                spent = microseconds(lambda way=way, lower=lower: way(lower), least)
                print(f"| {name} | {dim} | {bits} | {spent:,.1f} | {expected:,.1f} | {spent / expected:.2f} |")


if __name__ == "__main__":
    main()
