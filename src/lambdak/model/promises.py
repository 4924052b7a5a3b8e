"""What was requested of a model, column by column, and holds by construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from lambdak.eigen.lazy import cached_property
from lambdak.losses import LOG, Loss, Predicts
from lambdak.shapes.bending import Concave, Convex
from lambdak.shapes.contract import Effect, Shape
from lambdak.shapes.ends import end_of_spectrum
from lambdak.shapes.influence import MaxInfluence
from lambdak.shapes.interactions import Interactions
from lambdak.shapes.output_range import OutputRange
from lambdak.shapes.requested import requested_shapes
from lambdak.shapes.rising import Falling, Rising
from lambdak.shapes.slope import Direction, MaxSlope
from lambdak.table.column_contract import Column


@final
@dataclass(frozen=True)
class Promises:
    """Constraints that a model was fitted with. Immutable, so that nothing set later can change what was promised.

    Attributes
    ----------
    columns : int
        How many columns the model has.
    shapes : tuple of Shape
        What was requested of them, with positions for names.
    """

    columns: int
    shapes: tuple[Shape, ...] = ()

    @classmethod
    def requested(
        cls,
        columns: Sequence[Column],
        monotonic_cst: Any = None,
        max_influence: Any = None,
        shape: Any = None,
        interaction_cst: Any = None,
        constraints: Any = None,
    ) -> Promises:
        """Return what the settings of an estimator ask for, in any of their spellings."""
        wanted = requested_shapes(columns, monotonic_cst, max_influence, shape, interaction_cst, constraints)
        return cls(len(columns), wanted)

    def settled(self, columns: Sequence[Column], effect: Effect) -> Promises:
        """Return the promises with all that their shapes leave to training, by what columns do to the training rows."""
        shapes = (own.settled(columns, effect) if own.unsettled else own for own in self.shapes)
        return replace(self, shapes=tuple(dict.fromkeys(shapes)))

    def as_settled(self, constraints: Sequence[Shape], columns: Sequence[Column]) -> list[Shape]:
        """Return what a user gave as ``constraints``, with all that training chose for these promises."""
        settled = {own.requested(): own for own in self.shapes if own.requested() != own}
        names = [column.name for column in columns]
        placed = [settled.get(own.placed(columns)) if own.unsettled else None for own in constraints]
        return [own if new is None else new.named(names) for own, new in zip(constraints, placed, strict=True)]

    def of(self, *kinds: type[Shape]) -> list[Any]:
        """Return the shapes of these classes."""
        return [shape for shape in self.shapes if isinstance(shape, kinds)]

    def about(self, i: int, columns: Sequence[Column]) -> list[Shape]:
        """Return the shapes that speak of the effect of the column at this position."""
        return [shape for shape in self.shapes if i in shape.about(columns)]

    # ---- what readers ask ---------------------------------------------------------------------------------------

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """Of each column: 1 if predictions never fall with it, -1 if they never rise, otherwise 0."""
        signs = {own.positions[0]: own.sign for own in self.of(Rising, Falling) if own.order is None}
        return tuple(signs.get(i, 0) for i in range(self.columns))

    @property
    def monotone(self) -> Mapping[int, int]:
        """Position of each monotone column → its sign."""
        return {i: sign for i, sign in enumerate(self.signs) if sign}

    @cached_property
    def caps(self) -> tuple[float, ...]:
        """The most that a change of each column can do to a raw score; infinite where nothing was requested."""
        capped = self.capped
        return tuple(capped.get(i, np.inf) for i in range(self.columns))

    @property
    def capped(self) -> Mapping[int, float]:
        """Position of each capped column → its cap."""
        caps = {shape.positions[0]: shape.cap for shape in self.of(MaxInfluence) if len(shape.positions) == 1}
        return dict(sorted((i, cap) for i, cap in caps.items() if np.isfinite(cap)))

    @property
    def groups(self) -> tuple[tuple[tuple[int, ...], float], ...]:
        """Positions of columns, and the most that a change of these together can do to a raw score."""
        return tuple((shape.positions, shape.cap) for shape in self.of(MaxInfluence) if len(shape.positions) > 1)

    def slopes(self, columns: Sequence[Column]) -> tuple[tuple[Direction, float], ...]:
        """Return directions, and the most that a unit more along each may move a raw score, each once."""
        found: dict[Direction, float] = {}
        for shape in self.of(MaxSlope):
            for direction in shape.directions(columns):
                found[direction] = min(shape.limit, found.get(direction, np.inf))
        return tuple((direction, limit) for direction, limit in found.items() if np.isfinite(limit))

    @property
    def output_range(self) -> OutputRange | None:
        """Between what predictions stay; None if nothing was requested of them."""
        return next(iter(self.of(OutputRange)), None)

    def limited(self, loss: Loss) -> Loss:
        """Return the loss with predictions in the range that was requested, after a check that it can have one."""
        wanted = self.output_range
        if wanted is None:
            return loss
        if loss.predicts is Predicts.TIMES:
            raise ValueError(
                f"{wanted!r} needs one number, quantiles or two classes to predict, and the probability of an event "
                "rises from 0 to 1 with time: leave it out"
            )
        if loss.predicts is Predicts.ORDERED_CLASSES or loss.link.joint:
            raise ValueError(
                f"{wanted!r} needs one number, quantiles or two classes to predict: the probabilities of "
                f"{loss.n_classes} classes sum up to 1, so that a range of each would change the others: leave it out"
            )
        if loss.predicts is Predicts.CLASSES and not (wanted.lowest >= 0 or wanted.low is None):
            raise ValueError(f"low of {wanted!r} must be in [0, 1), because probabilities are predicted")
        if loss.predicts is Predicts.CLASSES and not (wanted.highest <= 1 or wanted.high is None):
            raise ValueError(f"high of {wanted!r} must be in (0, 1], because probabilities are predicted")
        if loss.predicts is Predicts.CLASSES and not (wanted.lowest < 1 and wanted.highest > 0):
            raise ValueError(f"{wanted!r} must leave probabilities between 0 and 1")
        if loss.link is LOG and wanted.highest <= 0:
            raise ValueError(f"high of {wanted!r} must be positive for loss={loss.name!r}, whose predictions are")
        return loss.within(wanted.lowest, wanted.highest)

    @property
    def shape(self) -> str | None:
        """Convex or concave, in a word, if the raw score is that in all numeric columns together."""
        return next((own.kind for own in self.of(Convex, Concave) if not own.columns), None)

    @property
    def interactions(self) -> Interactions | None:
        """Which columns may interact; None if all may."""
        return next(iter(self.of(Interactions)), None)

    @property
    def others(self) -> list[Shape]:
        """Shapes that have no reader of their own: what they say is proven, attacked and worded by their contract."""
        ordered = [own for own in self.of(Rising, Falling) if own.order is not None]
        readers, shape = (Rising, Falling, MaxInfluence, MaxSlope, OutputRange, Interactions), self.shape
        return ordered + [own for own in self.shapes if not isinstance(own, readers) and own.kind != shape]

    def end(self, flip: int, names: Sequence[str] = ()) -> int:
        """Return 1 if the raw score must be the last eigenvalue, -1 if the first, 0 if any, for a loss of this sign."""
        return end_of_spectrum(self.shapes, flip, names)

    def scalar(self, flip: int) -> frozenset[int]:
        """Return positions of columns that must only add a number: they bend the other way than the raw score."""
        bent = [own for own in self.of(Convex, Concave) if own.columns]
        return frozenset(i for own in bent if own.end != self.end(flip) for i in own.positions)

    @property
    def without_influence(self) -> frozenset[int]:
        """Positions of the columns that may do nothing, alone or together: their cap is zero."""
        alone = {i for i, cap in self.capped.items() if cap == 0}
        return frozenset(alone.union(*(group for group, cap in self.groups if cap == 0)))
