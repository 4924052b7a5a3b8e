"""What a user sets on every estimator: checked, and turned into a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lambdak._checks import check_int, check_tol
from lambdak.estimators.readable import ReadableModel
from lambdak.training.effort import RECIPES, Recipe

# Settings that may change where a fitted model goes on training; "dim" and "n_estimators" are looked at for themselves.
_FREE_SETTINGS = frozenset({
    "dim", "n_estimators", "effort", "max_iter", "early_stopping", "validation_fraction", "n_iter_no_change", "tol",
    "warm_start", "verbose", "random_state", "n_jobs", "class_weight",
})  # fmt: skip


class SpectralSettings(ReadableModel):
    """The settings that all estimators share."""

    def __init__(
        self,
        *,
        dim: int | None = None,
        eig_idx: int | None = None,
        shape: str | None = None,
        monotonic_cst: Mapping[Any, int] | Sequence[int] | str | None = None,
        max_influence: Mapping[Any, float] | Sequence[float] | float | None = None,
        categorical_features: Any = "from_dtype",
        n_knots: int | str = "auto",
        alpha: float = 0.0,
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.dim = dim
        self.eig_idx = eig_idx
        self.shape = shape
        self.monotonic_cst = monotonic_cst
        self.max_influence = max_influence
        self.categorical_features = categorical_features
        self.n_knots = n_knots
        self.alpha = alpha
        self.effort = effort
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _recipe(self) -> Recipe:
        if self.effort not in RECIPES:
            raise ValueError(f"effort must be one of {sorted(RECIPES)}; got {self.effort!r}")
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction must be in [0, 1); got {self.validation_fraction}")
        if not (isinstance(self.alpha, int | float | np.number) and 0 <= self.alpha < np.inf):
            raise ValueError(f"alpha must be a finite number that is not negative; got {self.alpha!r}")
        if self.max_iter is not None:
            check_int(self.max_iter, "max_iter", 1, 2**31)
        check_int(self.n_iter_no_change, "n_iter_no_change", 1, 2**31)
        check_tol(self.tol)
        if self.shape is not None and self.eig_idx is not None:
            raise ValueError(f"eig_idx must be None with shape={self.shape!r}, which takes an end of the spectrum")
        base = RECIPES[self.effort].shaped() if self.shape else RECIPES[self.effort]
        dim = base.dim if self.dim is None else check_int(self.dim, "dim", 1, 129)
        members = base.members if self.n_estimators is None else check_int(self.n_estimators, "n_estimators", 1, 65)
        return replace(base, dim=dim, members=members, scout_dim=min(dim, base.scout_dim))

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _check_unchanged(self, recipe: Recipe) -> None:
        """What a fitted model cannot change any more where it goes on training."""
        if not self.theta_:
            raise ValueError(
                "a model that was loaded cannot go on training, because a file holds only what predicts: fit it anew "
                "with warm_start=False, or keep models that shall go on with pickle or skops"
            )
        now = {"dim": recipe.dim, "n_estimators": recipe.members} | self._fixed_settings()
        for name, then in self.settings_.items():
            if repr(now[name]) != repr(then):
                raise ValueError(f"{name} must stay {then!r} where a fitted model goes on training; got {now[name]!r}")

    def _fixed_settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params(deep=False).items() if name not in _FREE_SETTINGS}
