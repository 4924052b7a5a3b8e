"""What Complements and Substitutes cost where they are true and where they are false: R² on new rows, and fit time.

python benchmarks/joint.py [--rows 1500] [--repeats 3] [--terms 1 2 3]

Targets of three numbers in [0, 3]: the product of two, the smaller one of two, a product beside an interaction with the
third; and, where complements are false, minus the product. --terms fits with so many eigenvalues of each member.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser

import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak.shapes import Complements, Substitutes
from lambdak.training import draft

TARGETS = {
    "product": lambda X: X["a"] * X["b"],
    "smaller one": lambda X: np.minimum(X["a"], X["b"]),
    "product, and another interaction": lambda X: X["a"] * X["b"] + 0.3 * X["a"] * X["c"],
    "minus the product": lambda X: -X["a"] * X["b"],
}
CONSTRAINTS = {"free": None, "complements": [Complements("a", "b")], "substitutes": [Substitutes("a", "b")]}
NOISE = 0.3


def table(rows: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).uniform(0, 3, (rows, 3)), columns=["a", "b", "c"])


def measured(target: str, constraint: str, rows: int, seed: int) -> tuple[float, float]:
    """R² on new rows without noise, and seconds."""
    X, new, made = table(rows, seed), table(5000, 1000 + seed), TARGETS[target]
    y = made(X) + NOISE * np.random.default_rng(seed).normal(size=rows)
    model = SpectralRegressor(constraints=CONSTRAINTS[constraint], random_state=seed)
    began = time.perf_counter()
    model.fit(X, y)
    return float(model.score(new, made(new))), time.perf_counter() - began


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--terms", type=int, nargs="+", default=[draft.JOINT_TERMS])
    args = parser.parse_args()
    for terms in args.terms:
        draft.JOINT_TERMS = terms
        for target in TARGETS:
            for constraint in CONSTRAINTS:
                found = [measured(target, constraint, args.rows, seed) for seed in range(args.repeats)]
                score, seconds = np.mean(found, axis=0)
                print(
                    f"{terms} eigenvalues  {target:<34} {constraint:<12} R² {score:.4f}  {seconds:5.1f} s", flush=True
                )


if __name__ == "__main__":
    main()
