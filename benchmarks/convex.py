"""Convex regression: the last eigenvalue beside max-affine regression and an input-convex network, re-run here.

usage: python benchmarks/convex.py [--data DIR] [--seeds 5] [--only log-sum-exp quadratic distances auto-mpg]
                                   [--dims 2 5 10] [--segments 100000] [--effort balanced]

Synthetic tasks: 2000 rows uniform in [-1, 1]^d, with noise of 0.1 standard deviations of the target, and 2000 test
rows without noise; every seed draws another function. Their errors are in standard deviations of the target. Auto MPG
has a given split and its error is in miles per gallon: there the seeds vary the training alone. Each convex method
validates its own choices on a tenth of the training rows; boosting with defaults is there for its error alone: no
boosting library can be asked for joint convexity, so its violations say nothing against it. Violations are segments
with f((a+b)/2) > (f(a)+f(b))/2 by more than rounding, counted over all seeds; "worst" is the largest difference, in
standard deviations of the target. Needs torch and pandas.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import lambdak
import torch
from lambdak import SpectralRegressor
from peers import Predict
from quantiles import with_error
from tables import DATA
from torch import nn

Fit = Callable[[np.ndarray, np.ndarray, int], Predict]
ROWS, NOISE = 2000, 0.1
ROUNDING = 1e-5  # in standard deviations of the target: the network predicts in single precision
BOX_MARGIN = 0.1  # of the training range, on either side


class Task(NamedTuple):
    """Training rows and test rows; ``unit`` is what errors are measured in."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    unit: float = 1.0


def log_sum_exp(d: int, rng: np.random.Generator) -> Predict:
    """Log of the sum of exp of 2d random affine functions: a smoothed maximum, the home ground of affine pieces."""
    slopes, shifts = rng.normal(0, 5 / np.sqrt(d), (d, 2 * d)), rng.normal(size=2 * d)
    return lambda X: np.logaddexp.reduce(X @ slopes + shifts, axis=1)


def quadratic(d: int, rng: np.random.Generator) -> Predict:
    """‖Bx‖² / d + Σ |x_i − c_i|: a positive semidefinite quadratic with a kink in every coordinate."""
    B, center = rng.normal(size=(d, d)), rng.uniform(-0.5, 0.5, d)
    return lambda X: ((X @ B) ** 2).sum(axis=1) / d + np.abs(X - center).sum(axis=1)


def distances(d: int, rng: np.random.Generator) -> Predict:
    """Σ_g ‖B_g x + c_g‖₂ over four affine maps to three dimensions: kinks in cones, the home ground of eigenvalues."""
    B, shifts = rng.normal(size=(4, d, 3)), rng.normal(size=(4, 1, 3))
    return lambda X: np.linalg.norm(X @ B + shifts, axis=2).sum(axis=0)


FUNCTIONS = {"log-sum-exp": log_sum_exp, "quadratic": quadratic, "distances": distances}


def synthetic(make: Callable[[int, np.random.Generator], Predict], d: int, seed: int) -> Task:
    rng = np.random.default_rng(seed)
    f, X, X_test = make(d, rng), rng.uniform(-1, 1, (ROWS, d)), rng.uniform(-1, 1, (ROWS, d))
    unit = f(X).std()
    return Task(X, f(X) + rng.normal(0, NOISE * unit, ROWS), X_test, f(X_test), unit)


def auto_mpg(folder: Path) -> Task:
    # Fuel per mile is nearly affine in weight, power and displacement; miles per gallon, one over it, are then convex.
    parts = []
    for part in ("train", "test"):
        frame = pd.read_parquet(folder / f"monotone_auto_mpg_{part}.parquet").drop(columns="Origin")  # a category
        parts += [frame.drop(columns="ground_truth").to_numpy(), frame["ground_truth"].to_numpy()]
    return Task(*parts)


# ---- the contestants: fit(X, y, seed) -> a function that predicts -------------------------------------------------


def standardised(fit: Callable[..., Predict]) -> Fit:
    """A contestant that sees columns and target with mean 0 and deviation 1, and a tenth of the rows for validation."""

    def fit_rows(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
        center, scale, shift, unit = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
        order = np.random.default_rng(seed).permutation(len(y))
        held, train = order[: len(y) // 10], order[len(y) // 10 :]
        Z, target = (X - center) / scale, (y - shift) / unit
        predict = fit(Z[train], target[train], Z[held], target[held], seed)
        return lambda rows: shift + unit * predict((rows - center) / scale)

    return fit_rows


def spectral(X: np.ndarray, y: np.ndarray, seed: int, effort: str = "balanced") -> Predict:
    return SpectralRegressor(shape="convex", effort=effort, random_state=seed).fit(X, y).predict


def alternate(X: np.ndarray, y: np.ndarray, pieces: int, ridge: float, rng: np.random.Generator) -> np.ndarray:
    """Magnani & Boyd (2009): least squares within each part, then a new partition by the plane on top, (p, pieces).

    ``X`` has a column of ones. Slopes are shrunk by ``ridge`` rows' worth; a part that empties drops its plane.
    """
    products = (X[:, :, None] * X[:, None, :]).reshape(len(y), -1)  # (n, p p)
    penalty = ridge * np.diag(np.r_[np.ones(X.shape[1] - 1), 1e-6])
    seeds = X[rng.choice(len(y), pieces, replace=False)]
    part = (X @ seeds.T - (seeds**2).sum(axis=1) / 2).argmax(axis=1)  # the nearest of random rows
    best, least = np.empty(0), np.inf
    for _ in range(50):
        _, part = np.unique(part, return_inverse=True)
        member = (part == np.arange(part.max() + 1)[:, None]).astype(float)  # (pieces, n)
        gram = (member @ products).reshape(-1, X.shape[1], X.shape[1]) + penalty
        planes = np.linalg.solve(gram, (member @ (X * y[:, None]))[..., None])[..., 0].T
        heights = X @ planes
        error = ((heights.max(axis=1) - y) ** 2).mean()
        if error < least:
            best, least = planes, error
        before, part = part, heights.argmax(axis=1)
        if (part == before).all():
            break
    return best


def max_affine(X: np.ndarray, y: np.ndarray, X_held: np.ndarray, y_held: np.ndarray, seed: int) -> Predict:
    """max_j (a_j x + b_j): the best on the validation rows of several sizes and ridges with ten restarts each."""
    X, X_held = (np.column_stack([Z, np.ones(len(Z))]) for Z in (X, X_held))
    rng, start = np.random.default_rng(seed), np.linalg.lstsq(X, y)[0]  # planes are shrunk towards the affine fit
    sizes = [pieces for pieces in (2, 4, 8, 12, 16, 24, 32, 48) if pieces * X.shape[1] <= len(y)]
    fits = [
        start[:, None] + alternate(X, y - X @ start, pieces, ridge, rng)
        for pieces in sizes for ridge in (0.1, 3.0) for _ in range(10)
    ]  # fmt: skip
    best = min(fits, key=lambda planes: ((y_held - (X_held @ planes).max(axis=1)) ** 2).mean())
    return lambda rows: (rows @ best[:-1] + best[-1]).max(axis=1)


class ConvexNetwork(nn.Module):
    """z ← ReLU(V² z + W x + b), three times (Amos et al. 2017): convex, as V² ≥ 0 and ReLU is convex and rising."""

    def __init__(self, d: int, width: int = 64) -> None:
        super().__init__()
        self.skips = nn.ModuleList(nn.Linear(d, size) for size in (width, width, width, 1))
        self.roots = nn.ParameterList(torch.randn(size, width) * width**-0.5 for size in (width, width, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predictions of the rows of ``x``."""
        z = self.skips[0](x)
        for root, skip in zip(self.roots, self.skips[1:], strict=True):
            z = torch.relu(z) @ root.square().T + skip(x)
        return z[:, 0]


def convex_network(X: np.ndarray, y: np.ndarray, X_held: np.ndarray, y_held: np.ndarray, seed: int) -> Predict:
    """Adam with a rate that falls on plateaus, batches of 64; the best epoch on the validation rows is kept."""
    torch.manual_seed(seed)
    X, y, X_held, y_held = (torch.tensor(array, dtype=torch.float32) for array in (X, y, X_held, y_held))
    model = ConvexNetwork(X.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=8)
    best, least, waited = {}, np.inf, 0
    while waited < 30:
        for rows in torch.randperm(len(y)).split(64):
            optimizer.zero_grad()
            (model(X[rows]) - y[rows]).square().mean().backward()
            optimizer.step()
        with torch.no_grad():
            error = (model(X_held) - y_held).square().mean().item()
        plateau.step(error)
        waited += 1
        if error < least:
            best, least, waited = {key: value.clone() for key, value in model.state_dict().items()}, error, 0
    model.load_state_dict(best)
    return torch.no_grad()(lambda rows: model(torch.tensor(rows, dtype=torch.float32)).double().numpy())


def boosted(X: np.ndarray, y: np.ndarray, seed: int) -> Predict:
    return HistGradientBoostingRegressor(random_state=seed).fit(X, y).predict


def excess(predict: Predict, task: Task, segments: int, seed: int) -> np.ndarray:
    """f((a+b)/2) − (f(a)+f(b))/2 in standard deviations of the target, at random segments of a box; convex: ≤ 0."""
    low, high = task.X.min(axis=0), task.X.max(axis=0)
    margin = BOX_MARGIN * (high - low)
    a, b = np.random.default_rng(seed).uniform(low - margin, high + margin, (2, segments, len(low)))
    return (predict((a + b) / 2) - (predict(a) + predict(b)) / 2) / task.y.std()


def compare(title: str, make: Callable[[int], Task], arguments: argparse.Namespace) -> None:
    contestants = {f"lambdak {effort}": partial(spectral, effort=effort) for effort in arguments.effort}
    contestants |= {"max-affine": standardised(max_affine), "convex network": standardised(convex_network)}
    contestants |= {"HistGradientBoosting, not convex": boosted}
    print(f"\n## {title}, {arguments.seeds} seeds\n")
    tried = arguments.seeds * arguments.segments
    print(f"| | RMSE | fit s | violations in {tried:,} | worst |\n|---|---|---|---|---|")
    for name, fit in contestants.items():
        errors, seconds, gaps = [], [], []
        for seed in range(arguments.seeds):
            task = make(seed)
            began = time.perf_counter()
            predict = fit(task.X, task.y, seed)
            seconds.append(time.perf_counter() - began)
            errors.append(np.sqrt(((predict(task.X_test) - task.y_test) ** 2).mean()) / task.unit)
            gaps.append(excess(predict, task, arguments.segments, seed))
        violated = tried - (np.array(gaps) <= ROUNDING).sum()  # a NaN is one, too
        cells = [name, with_error(np.array(errors), 4), f"{np.median(seconds):.2f}"]
        print("| " + " | ".join([*cells, f"{violated:,}", f"{np.max(gaps):.1e}"]) + " |", flush=True)


def main() -> None:
    names = [*FUNCTIONS, "auto-mpg"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the Parquet files, for auto-mpg")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=names, choices=names)
    parser.add_argument("--dims", nargs="+", type=int, default=[2, 5, 10])
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--effort", nargs="+", default=["balanced"])
    arguments = parser.parse_args()
    if "auto-mpg" in arguments.only and not arguments.data.is_dir():
        parser.error(f"no folder {arguments.data}: give the folder with the Parquet files with --data")
    warnings.filterwarnings("ignore")
    lambdak.show_config()
    for name, d in ((name, d) for name in arguments.only if name in FUNCTIONS for d in arguments.dims):
        compare(f"{name} in {d} dimensions", partial(synthetic, FUNCTIONS[name], d), arguments)
    if "auto-mpg" in arguments.only:
        compare("auto-mpg", lambda seed: auto_mpg(arguments.data), arguments)


if __name__ == "__main__":
    main()
