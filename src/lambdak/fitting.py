"""What the estimators share: encoding, scouts, the stack of models, the choice among them, prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lambdak._checks import FloatArray, check_int
from lambdak.coordinates import ConeCoordinates, FreeCoordinates, design_moments, free_ramps
from lambdak.encode import TableEncoder
from lambdak.ensemble import convex_weights
from lambdak.losses import Loss, Ordinal
from lambdak.packing import packed_size
from lambdak.pencil import Pencil
from lambdak.recipes import GRID, RECIPES, Recipe
from lambdak.spectrum import spectral_norm
from lambdak.train import Task, Trainer, evaluate

_DESIGN_COLUMNS = 1600  # wanted, where knots are ours to choose
_MOST_DESIGN_COLUMNS = 2500  # the whitening of a stack keeps a square of them for every model
_PREDICT_ROWS = 1 << 16  # at a time, so that memory stays bounded
_FEW_ROWS = 200  # below this, holding rows out costs more than it tells
_MIDDLE = GRID.index((1.0, 3.0))  # where to stand when no row can tell


class SpectralEstimator(BaseEstimator):
    """f = start + scale Σ_m w_m λ_k(A_m(row)): a convex combination of a few pencils, fitted to a table."""

    def __init__(
        self,
        *,
        dim: int | None = None,
        eig_idx: int | None = None,
        shape: str | None = None,
        monotonic_cst: Mapping[str, int] | Sequence[int] | str | None = None,
        categorical_features: Any = "from_dtype",
        n_knots: int | str = "auto",
        effort: str = "balanced",
        n_estimators: int | None = None,
        max_iter: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.dim = dim
        self.eig_idx = eig_idx
        self.shape = shape
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.n_knots = n_knots
        self.effort = effort
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    # ---- fitting ----------------------------------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        loss: Loss,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        validation: tuple[Any, NDArray[Any]] | None,
        neurons: int = 1,
    ) -> Self:
        recipe = self._recipe()
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        self.encoder_ = self._encoder(recipe, X).fit(X)
        self.n_features_in_ = self.encoder_.n_features
        if self.encoder_.from_names:
            self.feature_names_in_ = np.asarray(self.encoder_.feature_names, dtype=object)
        if self.encoder_.n_design > _MOST_DESIGN_COLUMNS:
            raise ValueError(
                f"X must encode to at most {_MOST_DESIGN_COLUMNS} design columns (knots and levels of all columns "
                f"together); got {self.encoder_.n_design}: choose among its columns, or lower n_knots"
            )
        design = self.encoder_.transform(X)
        weight = _check_weight(_optional(sample_weight, len(design), "sample_weight"))
        shift = _optional(offset, len(design), "offset")
        if len(y) != len(design):
            raise ValueError(f"y must have {len(design)} entries, one per row of X; got {len(y)}")
        self.dim_ = recipe.dim
        self.signs_ = self._monotone_signs()
        loss = loss.resolved(y, weight, shift)
        self.loss_, self.start_, self.scale_ = loss, loss.start(y, weight, shift), loss.scale(y, weight, shift)
        self.indices_ = self._indices(loss, neurons, self.dim_)
        anchors = (0.0,)
        if len(self.indices_) > 1:  # the outputs differ by their eigenvalues alone, so that their order is certain
            center = self.start_[len(self.start_) // 2]
            anchors = tuple(((self.start_ - center) / self.scale_).tolist())
            self.start_ = np.full_like(self.start_, center)
        whole = Task(design, y, weight, shift, loss, self.start_, self.scale_, self.indices_, neurons, anchors)
        train, held = self._split(whole, validation, rng)
        trainer = self._trainer(train, held, self._scout(train, held, recipe, rng), self.dim_, rng)
        self._run(trainer, recipe, len(train.design))
        self._choose(trainer, held, recipe, neurons)
        return self

    def _recipe(self) -> Recipe:
        if self.effort not in RECIPES:
            raise ValueError(f"effort must be one of {sorted(RECIPES)}; got {self.effort!r}")
        base = RECIPES[self.effort]
        dim = base.dim if self.dim is None else check_int(self.dim, "dim", 1, 129)
        members = base.members if self.n_estimators is None else check_int(self.n_estimators, "n_estimators", 1, 65)
        return replace(base, dim=dim, members=members)

    def _encoder(self, recipe: Recipe, X: Any) -> TableEncoder:
        if self.shape not in (None, "convex", "concave"):
            raise ValueError(f"shape must be None, 'convex' or 'concave'; got {self.shape!r}")
        wide = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        auto = int(np.clip(_DESIGN_COLUMNS // max(wide, 1), 2, recipe.knots))  # fewer for wide tables
        knots = 0 if self.shape else auto if self.n_knots == "auto" else self.n_knots
        return TableEncoder(n_knots=knots, categorical_features=self.categorical_features, clamp=self.shape is None)

    def _indices(self, loss: Loss, neurons: int, dim: int) -> tuple[int, ...]:
        outputs = loss.n_outputs
        if outputs > 1 and neurons == 1:  # several eigenvalues of one pencil, away from its ends if there is room
            if outputs > dim:
                raise ValueError(f"dim must be at least {outputs}, one eigenvalue per output; got {dim}")
            inner = dim >= outputs + 2
            places = np.linspace(0, dim - 1, outputs + 2)[1:-1] if inner else np.linspace(0, dim - 1, outputs)
            return tuple(np.floor(places + 0.5).astype(int).tolist())
        if self.shape is not None:
            return (dim - 1,) if self.shape == "convex" else (0,)
        if self.eig_idx is None or dim != self.dim_:
            return (dim // 2,)
        return (check_int(self.eig_idx, "eig_idx", 0, dim),)

    def _monotone_signs(self) -> dict[int, int]:
        """Column position → +1 or -1, from any of the spellings of ``monotonic_cst``."""
        names, cst = self.encoder_.feature_names, self.monotonic_cst
        if cst is None:
            return {}
        if isinstance(cst, str):
            if cst not in ("increasing", "decreasing"):
                raise ValueError(f"monotonic_cst must be 'increasing', 'decreasing', a dict or an array; got {cst!r}")
            cst = [1 if cst == "increasing" else -1] * len(names)
        if isinstance(cst, Mapping):
            unknown = [name for name in cst if name not in names]
            if unknown:
                raise ValueError(f"monotonic_cst names columns that X does not have: {unknown}; X has {list(names)}")
            cst = [cst.get(name, 0) for name in names]
        if len(cst) != len(names):
            raise ValueError(f"monotonic_cst must have {len(names)} entries, one per column; got {len(cst)}")
        for name, column, sign in zip(names, self.encoder_.columns, cst, strict=True):
            if sign not in (-1, 0, 1):
                raise ValueError(f"monotonic_cst of column {name!r} must be -1, 0 or 1; got {sign!r}")
            if sign and column.kind == "category":
                raise ValueError(
                    f"monotonic_cst of column {name!r} must be 0, because it is a category; got {sign}: give it as "
                    "numbers if its levels are ordered"
                )
        return {i: int(sign) for i, sign in enumerate(cst) if sign}

    def _split(
        self, task: Task, validation: tuple[Any, NDArray[Any]] | None, rng: np.random.Generator
    ) -> tuple[Task, Task | None]:
        """Training rows and validation rows; with few rows, or fraction 0, there are no validation rows."""
        if validation is not None:
            if task.offset is not None:
                raise ValueError("X_val has no offset of its own: leave it out, and rows of X are held out instead")
            design = self.encoder_.transform(validation[0])
            if len(validation[1]) != len(design):
                raise ValueError(
                    f"y_val must have {len(design)} entries, one per row of X_val; got {len(validation[1])}"
                )
            return task, replace(task, design=design, y=validation[1], weight=None, offset=None)
        rows = len(task.design)
        if rows < _FEW_ROWS or not self.validation_fraction:
            return task, None
        order = rng.permutation(rows)
        cut = max(int(rows * self.validation_fraction), 1)
        return _subset(task, order[cut:]), _subset(task, order[:cut])

    def _scout(
        self, train: Task, held: Task | None, recipe: Recipe, rng: np.random.Generator
    ) -> list[tuple[float, float]]:
        """Where on the grid of damping and decay the members should stand."""
        if held is None:
            return recipe.places([_MIDDLE] * 5)
        dim = max(recipe.scout_dim, train.loss.n_outputs + 2 if len(train.indices) > 1 else 1)
        small = self._indices(train.loss, train.neurons, dim)
        scouts = self._trainer(replace(train, indices=small), replace(held, indices=small), list(GRID), dim, rng)
        rows = len(train.design)
        for _ in scouts.run(recipe.schedule(rows, recipe.scout_steps, None, None, 0.0)):
            pass
        return recipe.places(np.argsort(scouts.best).tolist())

    def _trainer(
        self, train: Task, held: Task | None, places: list[tuple[float, float]], dim: int, rng: np.random.Generator
    ) -> Trainer:
        ladder = np.repeat(np.asarray(places), train.neurons, axis=0)
        columns, n_design = self.encoder_.columns, self.encoder_.n_design
        moments = design_moments(train.design, n_design, train.weight)
        free = FreeCoordinates(free_ramps(columns, n_design, list(self.signs_)), moments, ladder[:, 0].tolist())
        flip = -1 if isinstance(train.loss, Ordinal) else 1  # a larger cut-score means a smaller class
        cones = [
            ConeCoordinates(columns[i], flip * sign, moments, dim)
            for i, sign in self.signs_.items()
            if columns[i].n_ramps or columns[i].kind == "linear"
        ]
        return Trainer(train, held, free, cones, dim, ladder[:, 1].tolist(), rng)

    def _run(self, trainer: Trainer, recipe: Recipe, rows: int) -> None:
        patience = self.n_iter_no_change if self.early_stopping else None
        schedule = recipe.schedule(rows, recipe.row_steps, self.max_iter, patience, self.tol)
        events = []
        columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
        with Progress(*columns, TimeRemainingColumn(), disable=not self.verbose) as progress:
            bar = progress.add_task("fit", total=schedule.epochs, loss="")
            try:
                for event in trainer.run(schedule):
                    events.append(event)
                    progress.update(bar, advance=1, loss=f"loss {event.validation.min():.5g}")
            except KeyboardInterrupt:
                if not events:
                    raise
                progress.console.print(f"interrupted: keeping the best models after {len(events)} epochs")
        self.n_iter_ = len(events)
        self.loss_curve_ = np.array([event.train for event in events])
        self.validation_curve_ = np.array([event.validation for event in events])

    def _choose(self, trainer: Trainer, held: Task | None, recipe: Recipe, neurons: int) -> None:
        models = len(trainer.coef) // neurons
        weights = np.full(models, 1 / models)
        task = held or trainer.task
        if models > 1:
            weights = convex_weights(
                task, evaluate(trainer.coef, self.dim_, self.indices_, task.design), recipe.members
            )
        kept = np.flatnonzero(weights > 1e-3 * weights.max())
        self.weights_ = weights[kept] / weights[kept].sum()
        self.coef_ = np.concatenate([trainer.coef[m * neurons : (m + 1) * neurons] for m in kept])
        self.neurons_ = neurons

    # ---- the fitted model -------------------------------------------------------------------------------------

    @property
    def pencils_(self) -> list[Pencil]:
        """The members, in design coordinates; with several classes, one after the other for each member."""
        check_is_fitted(self)
        return [Pencil(coef[:, : packed_size(self.dim_)], self.indices_[0]) for coef in self.coef_]

    @property
    def feature_strengths_(self) -> NDArray[np.float64]:
        """Proven bound on what each column can do: no change of it, however large, moves the raw score by more.

        It is max ‖A_i(b) − A_i(a)‖₂ over all cells a, b of the column, weighted over the members. A linear column that
        is not clamped counts by its training range.
        """
        check_is_fitted(self)
        weights = np.repeat(self.weights_, self.neurons_)
        packed = self.coef_[..., : packed_size(self.dim_)].astype(np.float64)
        strengths = []
        for column in self.encoder_.columns:
            rows = packed[:, column.start : column.stop]
            if column.kind == "linear":
                span = (column.high - column.low) / column.scale
                rows = np.concatenate([np.zeros_like(rows[:, :1]), rows * span], axis=1)
            first, second = np.triu_indices(rows.shape[1], 1)
            norms = spectral_norm(rows[:, first] - rows[:, second]).max(axis=1, initial=0.0)
            strengths.append(self.scale_ * (weights * norms).reshape(-1, self.neurons_).sum(axis=0).max())
        return np.array(strengths)

    def _raw(self, X: Any, offset: ArrayLike | None = None) -> FloatArray:
        check_is_fitted(self)
        design = self.encoder_.transform(X)
        shift = _optional(offset, len(design), "offset")
        parts = []
        for start in range(0, max(len(design), 1), _PREDICT_ROWS):
            rows = np.arange(start, min(start + _PREDICT_ROWS, len(design)))
            task = Task(
                design.take(rows), rows, None, None if shift is None else shift[rows], self.loss_, self.start_,
                self.scale_, self.indices_, self.neurons_,
            )  # fmt: skip
            raw = task.raw(evaluate(self.coef_, self.dim_, self.indices_, task.design), slice(None))
            parts.append(np.tensordot(self.weights_, raw.astype(np.float64), 1))
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


def _optional(values: ArrayLike | None, rows: int, name: str) -> FloatArray | None:
    if values is None:
        return None
    array = np.asarray(values, np.float32)
    if array.ndim == 0:
        array = np.full(rows, array)
    if array.shape != (rows,):
        raise ValueError(f"{name} must have shape ({rows},), one entry per row of X; got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} must be finite; got {array[~np.isfinite(array)][0]} at row {np.argmin(np.isfinite(array))}"
        )
    return array


def _check_weight(weight: FloatArray | None) -> FloatArray | None:
    if weight is not None and (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"sample_weight must not be negative; got {weight[row]} at row {row}")
    if weight is not None and not weight.any():
        raise ValueError("sample_weight must have a positive entry; got zeros only: every row would be ignored")
    return weight


def _subset(task: Task, rows: NDArray[np.intp]) -> Task:
    weight = None if task.weight is None else task.weight[rows]
    offset = None if task.offset is None else task.offset[rows]
    return replace(task, design=task.design.take(rows), y=task.y[rows], weight=weight, offset=offset)
