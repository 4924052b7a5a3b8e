"""Is a version slower than another? Kernel, training and prediction of two installs, in turns, in one run.

    python benchmarks/two_versions.py OLD/.venv/bin/python NEW/.venv/bin/python

Each round times both, one after the other, so that a busy machine slows both down; the best of all rounds counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

ROUNDS = 5


def jobs() -> dict[str, Callable[[], object]]:
    """What is timed, in the interpreter that runs this."""
    import numpy as np
    import pandas as pd
    from sklearn.datasets import load_diabetes

    from lambdak import SpectralClassifier, SpectralRegressor, eigenpair

    rng = np.random.default_rng(0)
    packed = rng.standard_normal((8192, 120)).astype(np.float32)
    small = packed[:1, :15].copy()
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    long = pd.DataFrame(rng.standard_normal((20_000, 10)), columns=[f"x{i}" for i in range(10)])
    long["level"] = rng.choice(["a", "b", "c"], len(long))
    target = long["x0"] * long["x1"] + (long["level"] == "a")
    model = SpectralRegressor(random_state=0).fit(long, target)
    classes = np.digitize(y, [100, 200])
    one = long[:1]
    return {
        "kernel: 8192 pairs, dim 15": lambda: eigenpair(packed, 15, 7),
        "kernel: one pair, dim 5, 1000 times": lambda: [eigenpair(small, 5, 2) for _ in range(1000)],
        "fit, balanced, 442 x 10": lambda: SpectralRegressor(random_state=0).fit(X, y),
        "fit, balanced, 20,000 x 11": lambda: SpectralRegressor(random_state=0).fit(long, target),
        "fit, fast, monotone": lambda: SpectralRegressor(effort="fast", monotonic_cst={"x0": 1}, random_state=0).fit(
            long, target
        ),
        "fit, fast, three classes": lambda: SpectralClassifier(effort="fast", random_state=0).fit(X, classes),
        "predict 20,000 rows": lambda: model.predict(long),
        "predict one row, 100 times": lambda: [model.predict(one) for _ in range(100)],
        "certify": lambda: model.certify(),
        "explain 200 rows": lambda: model.explain_local(long[:200]),
    }


def seconds() -> dict[str, float]:
    found = {}
    for name, job in jobs().items():
        job()
        best = float("inf")
        for _ in range(3):
            began = time.perf_counter()
            job()
            best = min(best, time.perf_counter() - began)
        found[name] = best
    return found


def main() -> None:
    if len(sys.argv) == 1:
        print(json.dumps(seconds()))
        return
    best: list[dict[str, float]] = [{}, {}]
    for _ in range(ROUNDS):
        for own, python in zip(best, sys.argv[1:], strict=True):
            shown = subprocess.run([python, __file__], capture_output=True, text=True, check=True).stdout
            for name, taken in json.loads(shown).items():
                own[name] = min(taken, own.get(name, float("inf")))
    print("| | before, ms | after, ms | after / before |\n|---|---|---|---|")
    for name, old in best[0].items():
        new = best[1][name]
        print(f"| {name} | {1000 * old:.2f} | {1000 * new:.2f} | {new / old:.2f} |")


if __name__ == "__main__":
    main()
