"""What does it cost that promises hold to the last bit? The same fits with and without the last step, in one run.

    python benchmarks/widening.py

Accuracy on test rows and seconds of the fit, each with the widening and the settling of caps (``training/finish.py``)
and without, in turns; how far predictions moved, relative to their range; and whether ``certify(exact=True)`` holds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from lambdak import SpectralQuantileRegressor, SpectralRegressor
from lambdak.training import finish as training

SETTLED = training.settled


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray, dict[str, Any]]]:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    rising = [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    yield "diabetes, monotone", X, y, {"monotonic_cst": rising}
    yield "diabetes, capped", X, y, {"max_influence": {1: 5.0}}
    X, y = make_friedman1(8000, 10, noise=1.0, random_state=0)
    yield "friedman, monotone", X, y, {"monotonic_cst": [1, 1, -1, 1, 1, 0, 0, 0, -1, 1]}
    yield "friedman, capped", X, y, {"max_influence": {3: 4.0, 4: 2.0}}
    yield "friedman, concave", X, y, {"shape": "concave", "effort": "fast"}
    yield "friedman, quantiles", X, y, {"quantiles": (0.1, 0.5, 0.9), "effort": "fast"}


def fitted(X: np.ndarray, y: np.ndarray, settings: dict[str, Any], exact: bool) -> tuple[Any, float]:
    """A model and the seconds of its fit."""
    kind = SpectralQuantileRegressor if "quantiles" in settings else SpectralRegressor
    training.settled = SETTLED if exact else lambda model: model
    began = time.perf_counter()
    model = kind(random_state=0, **settings).fit(X, y)
    return model, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print("| table | R² without | R² with | moved, of the range | seconds without | with | proven without | with |")
    print("|---|---|---|---|---|---|---|---|")
    for name, X, y, settings in tables():
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
        seconds: dict[bool, float] = {False: np.inf, True: np.inf}
        models = {}
        for _ in range(repeats):
            for exact in (False, True):
                models[exact], took = fitted(train, y_train, settings, exact)
                seconds[exact] = min(seconds[exact], took)
        plain, kept = (models[exact].predict(test) for exact in (False, True))
        proven = [models[exact].certify(exact=True).holds for exact in (False, True)]
        moved = np.abs(plain - kept).max() / np.ptp(plain)
        scores = [r2_score(y_test, predicted) for predicted in (plain, kept)]
        print(
            f"| {name} | {scores[0]:.10f} | {scores[1]:.10f} | {moved:.1e} | {seconds[False]:.3f} "
            f"| {seconds[True]:.3f} | {proven[0]} | {proven[1]} |"
        )


if __name__ == "__main__":
    main()
