"""Parameters of the estimators: any value, valid or not, of several constructor parameters at once."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from fuzzing.models import outputs, table
from fuzzing.tables import ESTIMATORS
from fuzzing.trial import Trial, WrongError, answered, at_most
from lambdak import SpectralClassifier, SpectralOrdinalClassifier

SECONDS = 60.0
ANY: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 10**30, 0.0, 0.5, 1.0, -0.5, float("nan"), float("inf"), 1e-320, 1e300, "", "x",
    "auto", [], {}, (), [1], {"x0": 1}, {"a": 1}, {0: 1}, {-1: 1}, {None: 1}, object(), np.array([1, 0, 0]),
    np.float32(2), np.int64(3), np.array(0.5), b"x", 1j, lambda: 1, [[1]], [None] * 3, ["x0"],
    "increasing", "\ud800", range(3), {1, 2},
]  # fmt: skip
USUAL: dict[str, list[Any]] = {
    "loss": ["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"],
    "quantile": [0.5, 0.01, 0.999, 1e-300],
    "quantiles": [(0.1, 0.9), [0.5], 0.5, np.array([0.1, 0.2]), (0.9, 0.1), (0.5, 0.5), (1e-300, 0.5)],
    "power": [1.5, 1, 2, 1.01, 1.999],
    "class_weight": ["balanced", {0: 1.0, 1: 2.0}, {0: 0.0}, {0: -1.0}, {"a": 1}],
    "dim": [1, 2, 3, 5, 20, 128, 129],
    "eig_idx": [0, 1, 2, 4, 5, 127],
    "shape": ["convex", "concave", "Convex"],
    "monotonic_cst": [
        {"x0": 1},
        {"x0": -1, 1: 1},
        [1, 0, 0],
        "decreasing",
        {"x2": 1},
        {"x0": 1.0},
        {"x0": True},
        [2, 0, 0],
    ],
    "max_influence": [1.0, {"x0": 0.1}, [0.1, np.inf, 1], 1e-12, 1e-300, 1e300, {"x0": 0.0}, {"x2": 1e-5}, np.inf],
    "interaction_cst": ["pairwise", "no_interactions", [["x0", "x1"]], [{0, 1}, (1, 2)], [[0]], [["x0", 0]], [[7]]],
    "categorical_features": ["from_dtype", [0], ["x1"], [True, False, True], [2], [0, 1, 2], [7], "x0"],
    "n_knots": [0, 2, 3, 32, 1, 4096, 2.0, "Auto"],
    "alpha": [0.0, 0.1, 1, 1e3, 1e30, np.float32(0.5)],
    "effort": ["fast", "FAST"],
    "n_estimators": [1, 2, 5, 64, 65],
    "max_iter": [1, 2],
    "early_stopping": [True, False],
    "validation_fraction": [0.0, 0.1, 0.5, 0.999, 1e-9],
    "n_iter_no_change": [1, 10],
    "tol": [0.0, 1e-3, 1e30],
    "max_categories": [1, 2, 300, 131_073],
    "scoring": ["loss", "r2", "accuracy", "R2"],
    "balance": [True, False],
    "warm_start": [True],
    "verbose": [0],
    "random_state": [0, 1, np.random.RandomState(0), 2**32 - 1, 2**32],
    "n_jobs": [1, 2, -1, -2, 1024, 1025],
}
BASE = {"effort": "fast", "max_iter": 1, "dim": 3, "n_estimators": 1, "n_knots": 3, "random_state": 0}
QUIET = {"verbose"}  # what is drawn would fill the screen
SAID = ("y must", "column", "sample_weight", "class_weight", "quantile", "levels", "weight", "rows")


def target(trial: Trial) -> str:
    """Fit with any parameters: a model that works, or an error that names one of them."""
    kind = trial.pick(ESTIMATORS)
    names = [name for name in inspect.signature(kind).parameters if name not in QUIET]
    chosen = {trial.pick(names) for _ in range(1 + trial.below(3))}
    given = {name: trial.pick(USUAL.get(name, ANY) if trial.below(3) else ANY) for name in sorted(chosen)}
    trial.notes |= {"estimator": kind.__name__, "parameters": {name: repr(value) for name, value in given.items()}}
    with at_most(SECONDS):
        found = answered(lambda: fitted(kind, {**BASE, **given}), (ValueError, TypeError))
        if isinstance(found, Exception):
            if not any(name in str(found) for name in (*given, *SAID)):
                raise WrongError(f"no parameter is named: {type(found).__name__}: {str(found)[:300]}") from found
            return "refused"
        check(found)
    return "fitted"


def fitted(kind: type, parameters: dict[str, Any]) -> Any:
    X, y = table()
    classes = kind in (SpectralClassifier, SpectralOrdinalClassifier)
    model = kind(**parameters)
    if parameters["max_iter"] is None:
        model.max_iter = 2  # valid, and slow
    return model.fit(X, (np.digitize(y, [3, 6]) if classes else y - y.min() + 0.1))


def check(model: Any) -> None:
    X, _ = table()
    for name, values in outputs(model, X).items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise WrongError(f"{name} is not finite")
    certificate = model.certify()
    if not certificate.holds:
        words = [claim.statement for claim in certificate.claims if claim.requested and not claim.proven]
        raise WrongError(f"the certificate of a new model does not hold: {words[0]}")
    model.explain_local(X[:2]).why(0)
    repr(model)
