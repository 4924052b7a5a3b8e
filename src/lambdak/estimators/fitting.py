"""What the estimators share: encoding, scouts, the stack of models that is trained at once, and prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scipy.sparse import issparse
from sklearn.isotonic import isotonic_regression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lambdak._checks import FloatArray, check_int, check_weight
from lambdak.eigen.packing import diagonal_indices
from lambdak.estimators.settings import SpectralSettings
from lambdak.losses import Loss, Ordinal
from lambdak.pencil.initial import anchored, gapped
from lambdak.table.constraints import check_positions, influence_caps, monotone_signs
from lambdak.table.encoder import TableEncoder
from lambdak.table.quantile_levels import level_column
from lambdak.table.read import read_table
from lambdak.table.rows import merged_rows, optional_rows
from lambdak.training.coordinates import design_moments
from lambdak.training.effort import MIDDLE, Recipe, scout_turns
from lambdak.training.plan import Plan
from lambdak.training.polish import polish
from lambdak.training.trainer import Folds, Schedule, Task, Trainer

_MOST_DESIGN_COLUMNS = 60_000
_GENTLE = 0.1  # of the usual rate, where a fitted model goes on training
_PARTIAL_EPOCHS = 3  # over the rows of one partial_fit
_SMALLEST_RISE = 1e-3  # between neighbouring quantiles at the start, in units of the target's scale
_CALIBRATION = 0.5  # of the shift that single members ask for: their mean, whose errors are smaller, needs less
_JUDGES = 5  # small models that decide which columns vanish
_FEW_ROWS = 40  # below this, holding rows out costs more than it tells


class SpectralEstimator(SpectralSettings):
    """f = start + scale Σ_m w_m λ_k(A_m(row)): a convex combination of a few pencils, fitted to a table."""

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
        partial: bool = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit, or leave everything as it was; ``attributes`` are set before."""
        # BLAS threads would fight the kernel's.
        with self._whole_or_not_at_all(), threadpool_limits(1, user_api="blas"):
            self.__dict__.update(attributes or {})
            recipe, rng = self._recipe(), self._generator()
            if self.dim is None and loss.n_outputs > 1 and neurons == 1 and not self.levels_:
                recipe = replace(recipe, dim=max(recipe.dim, loss.n_outputs + 2))
            go_on = partial or (self.warm_start and hasattr(self, "theta_"))
            if go_on:
                self._check_unchanged(recipe)
            task = self._task(X, y, loss, sample_weight, offset, neurons, recipe, go_on)
            held = self._validation(task, validation)
            if not go_on:
                self.plan_ = self._plan(task)
                self.places_ = self._scout(task, held, recipe, rng)
                if self.alpha:
                    self.plan_ = replace(self.plan_, dropped=self._vanishing(task, held, recipe, rng))
                    self.places_ = self._scout(task, held, recipe, rng)
            parameters = self.plan_.parameters(self.places_, self.dim_, neurons)
            if go_on:
                parameters.go_on_(self.theta_)
            else:
                parameters.start_(self._constants(task, self.dim_, recipe.members * neurons, rng), rng)
            trainer = Trainer(task, parameters, rng, self._folds(task, held, recipe.members, rng), held)
            epochs = _PARTIAL_EPOCHS if partial and self.max_iter is None else self.max_iter
            self._run(trainer, recipe.schedule(len(task.design), epochs), go_on)
            self._keep(trainer, recipe, go_on)
        return self

    @contextmanager
    def _whole_or_not_at_all(self) -> Iterator[None]:
        """Undo what a fit that fails or is interrupted has changed."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _keep(self, trainer: Trainer, recipe: Recipe, go_on: bool) -> None:
        """The fitted attributes that training decides."""
        guarded = trainer.parameters.guarded or self.shape is not None
        self.theta_ = trainer.theta
        self.coef_ = trainer.parameters.exact(trainer.theta) if guarded else trainer.coef
        self._centre_levels_(self.coef_)
        self.weights_ = np.full(recipe.members, 1 / recipe.members)
        self.settings_ = {"dim": recipe.dim, "n_estimators": recipe.members} | self._fixed_settings()
        if self.levels_:
            if not go_on:
                self.shift_ = self._wanted_shift(trainer)
            self.coef_[:, self.encoder_.n_design :, diagonal_indices(self.dim_)] += self.shift_[:, None]

    def _go_on(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None, offset: ArrayLike | None = None) -> Self:
        """Train the fitted members a little more, on these rows."""
        return self._fit(X, y, self.loss_, sample_weight, offset, None, self.neurons_, partial=True)

    def _centre_levels_(self, coef: FloatArray) -> None:
        """Move the mean matrix of each category to the constant, so that an unseen level, a zero, is average."""
        for column in self.encoder_.columns:
            if column.kind == "category":
                rows = coef[:, column.start : column.stop]
                share = self.plan_.moments.mean[column.start : column.stop].astype(coef.dtype)
                mean = np.einsum("p,mpw->mw", share / max(share.sum(), 1e-30), rows)
                rows -= mean[:, None]
                coef[:, 0] += mean

    def _wanted_shift(self, trainer: Trainer) -> NDArray[np.float64]:
        """What rows that a member has not seen ask the quantiles to move by, in order, so that they cannot cross."""
        raw, rows, task = trainer.unseen()
        levels = len(self.levels_)
        error = (np.asarray(task.y[rows][..., 0], np.float64) - raw).reshape(-1, levels)
        weight = (
            None if task.weight is None else np.broadcast_to(task.weight[rows], raw.shape).reshape(-1, levels)[:, 0]
        )
        wanted = [
            np.quantile(error[:, j], q, weights=weight, method="inverted_cdf") for j, q in enumerate(self.levels_)
        ]
        share = 1.0 if len(self.weights_) == 1 else _CALIBRATION
        return np.asarray(share * isotonic_regression(np.asarray(wanted)), np.float64)

    def _task(
        self,
        X: Any,
        y: NDArray[Any],
        loss: Loss,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        neurons: int,
        recipe: Recipe,
        go_on: bool,
    ) -> Task:
        """The encoded table with its targets; fills in the attributes that the table decides, unless it goes on."""
        weight = None if sample_weight is None else check_weight(sample_weight, len(y))
        if not go_on:
            self._encode(X, weight, recipe)
        design = self.encoder_.transform(X)
        shift = optional_rows(offset, len(design), "offset")
        if len(y) != len(design):
            raise ValueError(f"y must have {len(design)} entries, one per row of X; got {len(y)}")
        design, y, weight, shift = merged_rows(design, y, weight, shift)
        if not go_on:
            self.dim_, self.neurons_ = recipe.dim, neurons
            loss = loss.resolved(y, weight, shift)
            self.loss_, self.start_, self.scale_ = loss, loss.start(y, weight, shift), loss.scale(y, weight, shift)
            self.indices_ = self._indices(loss, neurons, self.dim_)
            # Several outputs differ by their eigenvalues or levels alone, so that their order is certain.
            self.anchors_ = tuple(((self.start_ - np.median(self.start_)) / self.scale_).tolist())
            if loss.n_outputs > 1 and neurons == 1:
                self.start_ = np.full_like(self.start_, np.median(self.start_))
        light = None if weight is None else weight.astype(np.float32)
        return self._training(
            Task(design, y, light, shift, self.loss_, self.start_, self.scale_, self.indices_, neurons)
        )

    def _training(self, task: Task) -> Task:
        """The task in units in which training is well scaled, and with every row once for each level."""
        if task.loss.identity:
            y = (np.asarray(task.y, np.float64) - self.start_[0]) / self.scale_
            offset = None if task.offset is None else task.offset / np.float32(self.scale_)
            loss = task.loss.resolved(y, task.weight, offset)
            task = replace(task, y=y, offset=offset, loss=loss, start=np.zeros_like(self.start_), scale=1.0)
        return self._leveled(task) if self.levels_ else task

    def _encode(self, X: Any, weight: NDArray[np.float64] | None, recipe: Recipe) -> None:
        if self.shape not in (None, "convex", "concave"):
            raise ValueError(f"shape must be None, 'convex' or 'concave'; got {self.shape!r}")
        # Whole weights count rows; others say how much a row matters, but it is one row all the same.
        counts = None if weight is None else weight if (weight == np.floor(weight)).all() else np.sign(weight)
        table = X if issparse(X) else read_table(X)
        for wish in ("monotonic_cst", "max_influence"):
            check_positions(getattr(self, wish), getattr(table, "labels", ()), wish)
        rows, width = table.shape
        rows = rows if counts is None else int(counts.sum())
        knots = recipe.n_knots(rows, width) if self.n_knots == "auto" else self.n_knots
        encoder = TableEncoder(n_knots=knots, categorical_features=self.categorical_features, clamp=self.shape is None)
        self.encoder_ = encoder.fit(X, counts)
        self.n_features_in_ = self.encoder_.n_features
        if self.encoder_.from_names:
            self.feature_names_in_ = np.asarray(self.encoder_.feature_names, dtype=object)
        if self.encoder_.n_design > _MOST_DESIGN_COLUMNS:
            raise ValueError(
                f"X must encode to at most {_MOST_DESIGN_COLUMNS} design columns (knots and levels of all columns "
                f"together); got {self.encoder_.n_design}: choose among its columns, or lower n_knots"
            )

    def _plan(self, task: Task) -> Plan:
        columns, n_design, rises = list(self.encoder_.columns), self.encoder_.n_design, {}
        flip = -1 if isinstance(task.loss, Ordinal) else 1  # a larger cut-score means a smaller class
        signs = {i: flip * sign for i, sign in monotone_signs(self.monotonic_cst, columns).items()}
        caps = {i: cap / self.scale_ for i, cap in influence_caps(self.max_influence, columns).items()}
        if self.levels_:
            signs[len(columns)] = 1
            rises[len(columns)] = np.maximum(np.diff(self.anchors_), _SMALLEST_RISE)
            columns.append(level_column(self.levels_, n_design))
            n_design = columns[-1].stop
        moments = design_moments(task.design, n_design, task.weight)
        return Plan(columns, moments, signs, self.shape, caps, rises=rises)

    def _indices(self, loss: Loss, neurons: int, dim: int) -> tuple[int, ...]:
        outputs = loss.n_outputs
        if outputs > 1 and neurons == 1 and not self.levels_:
            # Several eigenvalues of one pencil, away from its ends if there is room.
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

    def _constants(self, task: Task, dim: int, models: int, rng: np.random.Generator) -> FloatArray:
        """A_0 of each model at the start: a gap around a single index, or a spectrum through several anchors."""
        if len(task.indices) > 1:
            return np.stack([anchored(dim, task.indices, self.anchors_, rng) for _ in range(models)])
        return np.stack([gapped(0, dim, task.indices[0], random_state=rng)[0] for _ in range(models)])

    def _validation(self, task: Task, validation: tuple[Any, NDArray[Any]] | None) -> Task | None:
        if validation is None:
            return None
        if task.offset is not None:
            raise ValueError("X_val has no offset of its own: leave it out, and rows of X are held out instead")
        design = self.encoder_.transform(validation[0])
        if len(validation[1]) != len(design):
            raise ValueError(f"y_val must have {len(design)} entries, one per row of X_val; got {len(validation[1])}")
        args = (self.loss_, self.start_, self.scale_, self.indices_, task.neurons)
        return self._training(Task(design, validation[1], None, None, *args))

    def _folds(
        self, task: Task, held: Task | None, members: int, rng: np.random.Generator, larger: float = 1
    ) -> Folds | None:
        """Every member leaves out another fold, so that each is measured on rows it has not seen and all rows count."""
        rows, copies = len(task.design), max(len(self.levels_), 1)  # the copies of a row stay together
        if held is not None or rows // copies < _FEW_ROWS or not self.validation_fraction:
            return None
        folds = max(round(1 / (larger * self.validation_fraction)), 2)
        fold = np.repeat(rng.permutation(rows // copies) % folds, copies)
        return Folds(fold.astype(np.int32), tuple(m % folds for m in range(members)))

    def _scout(
        self, task: Task, held: Task | None, recipe: Recipe, rng: np.random.Generator
    ) -> list[tuple[float, float]]:
        """Damping and decay of the members: those of the rung on which the scouts did best."""
        rows, places = len(task.design), [place for rung in recipe.ladder for place in rung]
        folds = self._folds(task, held, 1, rng, larger=2)  # noise in the choice of a rung costs more than rows
        if folds is None and held is None:
            return recipe.places(MIDDLE)
        turns = 1
        if folds is not None:
            turns = scout_turns(rows, int(folds.fold.max()) + 1, task.neurons)
            folds = Folds(folds.fold, tuple(np.repeat(np.arange(turns), len(places)).tolist()))
        schedule = recipe.scout_schedule(rows, self.max_iter)
        scouts = self._small_stack(self.plan_, places * turns, task, held, folds, recipe, schedule, rng)
        return recipe.places(int(scouts.best.reshape(turns, -1, 2).mean(axis=(0, 2)).argmin()))

    def _vanishing(self, task: Task, held: Task | None, recipe: Recipe, rng: np.random.Generator) -> frozenset[int]:
        """Columns that become zero in most of a few small models with the penalty, whatever else is asked of them."""
        signs = dict.fromkeys(self.plan_.rises, 1)  # levels stay
        plan = replace(self.plan_, signs=signs, shape=None, caps={}, alpha=self.alpha)
        places = [self.places_[i % len(self.places_)] for i in range(_JUDGES)]
        folds, schedule = self._folds(task, held, _JUDGES, rng), recipe.schedule(len(task.design), self.max_iter)
        judges = self._small_stack(plan, places, task, held, folds, recipe, schedule, rng)
        spans = [slice(column.start, column.stop) for column in self.encoder_.columns]
        size = np.stack([np.abs(judges.parameters.coef[:, span]).max(axis=(1, 2)) for span in spans])
        alive = (size > 0).reshape(len(size), _JUDGES, -1).any(axis=2).mean(axis=1) > 0.5
        return frozenset(np.flatnonzero(~alive).tolist())

    def _small_stack(
        self,
        plan: Plan,
        places: list[tuple[float, float]],
        task: Task,
        held: Task | None,
        folds: Folds | None,
        recipe: Recipe,
        schedule: Schedule,
        rng: np.random.Generator,
    ) -> Trainer:
        """Small models at these places, trained: they decide something about the members."""
        dim = max(recipe.scout_dim, task.loss.n_outputs + 2 if len(task.indices) > 1 else 1)
        small = replace(task, indices=self._indices(task.loss, task.neurons, dim))
        held = None if held is None else replace(held, indices=small.indices)
        parameters = plan.parameters(places, dim, task.neurons)
        parameters.start_(self._constants(small, dim, len(places) * task.neurons, rng), rng)
        trainer = Trainer(small, parameters, rng, folds, held)
        for _ in trainer.run(schedule):
            pass
        return trainer

    def _run(self, trainer: Trainer, schedule: Schedule, go_on: bool) -> None:
        if self.early_stopping:
            schedule = replace(schedule, patience=self.n_iter_no_change, tol=self.tol)
        if go_on:
            schedule = replace(schedule, rate=_GENTLE * schedule.rate)
        events = []
        columns = (TextColumn("fitting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[loss]}"))
        with Progress(*columns, TimeRemainingColumn(), disable=not self.verbose) as progress:
            bar = progress.add_task("fit", total=schedule.epochs, loss="")
            try:
                for event in trainer.run(schedule):
                    events.append(event)
                    progress.update(bar, advance=1, loss=f"loss {event.validation.mean():.5g}")
                if self.max_iter is None and not go_on:
                    for seen in polish(trainer):
                        progress.update(bar, loss=f"polish, loss {seen.mean():.5g}")
            except KeyboardInterrupt:
                if not events:
                    raise
                progress.console.print(f"interrupted: keeping the best models after {len(events)} epochs")
        self.n_iter_ = len(events)
        self.loss_curve_ = np.array([event.train for event in events])
        self.validation_curve_ = np.array([event.validation for event in events])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
