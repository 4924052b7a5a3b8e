"""A category: A(level) = C[level], with one active entry; an unseen level has none, unless levels were pooled."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array, FloatArray
from lambdak.eigen.engine import EntryKind
from lambdak.eigen.lazy import cached_property
from lambdak.table.category_levels import OTHER, Kind, kinds_of, kinds_of_pooled, natural, shown
from lambdak.table.cell_rules import LevelRule
from lambdak.table.cells import Cells
from lambdak.table.column_contract import Column, Saved
from lambdak.table.plain import Entries, plain_level
from lambdak.table.seen import ColumnSettings, RawColumn, Seen

MAX_LEVELS = 1 << 17  # of one category: a model has a matrix for each
_ALL_DRAWN = 1_000  # levels, up to which a picture has them all


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Category(Column):
    """A column of categories, with one design column per level.

    Attributes
    ----------
    levels : tuple
        Levels in design order: from the lowest to the highest, or numbers ascending, then strings in alphabetical
        order; then None if cells were missing in training, then OTHER if levels were pooled.
    pooled : tuple of Kind
        What pooled levels were that no other level is: a column of numbers whose rare cells are text holds both.
    order : tuple
        Levels from the lowest to the highest, where the table said so: neighbours share strength.
    """

    kind: ClassVar[str] = "category"
    is_number: ClassVar[bool] = False
    saved_as: ClassVar[Mapping[str, Saved]] = {"levels": Saved.LEVELS, "pooled": Saved.KINDS, "order": Saved.ORDER}

    levels: tuple[object, ...]
    pooled: tuple[Kind, ...] = ()
    order: tuple[object, ...] = ()

    @classmethod
    def suits(cls, raw: RawColumn, settings: ColumnSettings) -> bool:
        """Return whether cells are levels: text always, others if they are listed, or by their dtype if that counts."""
        by_dtype = raw.kind == "text" or (settings.by_dtype and raw.kind in ("bool", "level"))
        return raw.name not in settings.linear and (raw.listed or by_dtype)

    @classmethod
    def fit(cls, seen: Seen, start: int, settings: ColumnSettings) -> Category:
        """Return the levels of a column; those of too few rows, or too many of them, become OTHER."""
        counts = seen.level_counts()
        order = tuple(getattr(seen, "order", ()))
        levels = _kept_levels(seen.name, counts, settings.min_level_count, settings.max_categories, order)
        kept = set(levels)
        pooled = [level for level in counts if level not in kept]
        known = tuple(level for level in order if level in kept)
        return cls(seen.name, start, levels=levels, pooled=kinds_of_pooled(levels, pooled), order=known)

    @property
    def stop(self) -> int:
        """One after its last design column."""
        return self.start + len(self.levels)

    def without_order(self) -> Category:
        """Return the category as if its levels had no order."""
        return replace(self, order=()) if self.order else self

    @property
    def missing(self) -> int:
        """Design column of a missing cell; -1 if none was missing in training."""
        return self.start + self.levels.index(None) if None in self.levels else -1

    @property
    def n_slots(self) -> int:
        """Number of entries of a row: one, of its level."""
        return 1

    @property
    def packed_as(self) -> EntryKind:
        """What a packed record holds of a cell: a level."""
        return EntryKind.LEVEL

    @property
    def bounded(self) -> bool:
        """True: the bounds include an unseen level."""
        return True

    @cached_property
    def rule(self) -> LevelRule:
        """One matrix per level."""
        return LevelRule(start=self.start, levels=self.levels, kinds=self.kinds)

    @property
    def known_levels(self) -> tuple[Any, ...]:
        """Levels in design order, with None and OTHER."""
        return self.levels

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """What its cells were in training, those of pooled levels included; nothing if all were missing."""
        return frozenset(kinds_of(self.levels) | {*self.pooled})

    def feature_names(self) -> list[str]:
        """Names of the design columns, one per level."""
        words: dict[object, object] = {None: "missing", OTHER: "other"}
        return [f"{self.name}={words.get(level, level)}" for level in self.levels]

    # ---- from cells to entries ---------------------------------------------------------------------------------

    def write_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, threads: int = 0) -> None:
        """Fill with the active entries of ``cells``."""
        codes, levels = cells.levels()
        found = np.array(self._positions(levels), np.int32)
        given, known = _are_strings(levels), self._known_types
        if cells.named and given and known and not given & known:
            code, level = next((code, level) for code, level in enumerate(levels) if level is not None)
            raise ValueError(
                f"column {self.name!r} must hold {'strings' if True in known else 'numbers'}, as in training; got "
                f"{level!r} in row {cells.row(int(np.argmax(codes == code)))}: convert it first"
            )
        ids[:, 0] = (self.start + np.maximum(found, 0))[codes]
        weights[:, 0] = (found >= 0)[codes]

    def cell_entries(self, cell: object, named: bool) -> Entries | None:
        """The active entry of one plain cell; None if it is not plain, or perhaps of the wrong type."""
        if type(cell) is str:  # nearly always one that is known: all else takes several times as long
            known = self._entries.get(cell)
            if known is not None:
                return known
        plain = plain_level(cell)
        if plain is None:
            return None
        known = self._entries.get(plain[0])
        if known is not None:
            return known
        if named and plain[0] is not None and self._known_types and isinstance(plain[0], str) not in self._known_types:
            return None  # the other cells decide about it
        return self._entries.get(OTHER, ((self.start,), (0.0,)))

    def write_slopes_(self, cells: Cells, ids: NDArray[np.int32], weights: FloatArray, leftwards: bool = False) -> None:
        """Fill with A(x): a level has no slope."""
        self.write_(cells, ids, weights)

    def _positions(self, levels: Iterable[object]) -> list[int]:
        """Position of each level among its own; -1 for an unseen one, if none were pooled."""
        other = self._position.get(OTHER, -1)
        return [self._position.get(level, other) for level in levels]

    @cached_property
    def _position(self) -> dict[object, int]:
        """Where each level is."""
        return {level: i for i, level in enumerate(self.levels)}

    @cached_property
    def _entries(self) -> dict[object, Entries]:
        """The active entry of each level."""
        return {level: ((self.start + i,), (1.0,)) for i, level in enumerate(self.levels)}

    @cached_property
    def _known_types(self) -> set[bool]:
        """Whether its cells are strings: both answers may occur."""
        return {kind is Kind.TEXT for kind in self.kinds - {Kind.LOOK_ALIKE}}

    # ---- its cells ---------------------------------------------------------------------------------------------

    def cell_names(self) -> list[str]:
        """Names of the levels."""
        return [shown(level) for level in self.levels]

    def all_names(self) -> list[str]:
        """Names of the levels, and of an unseen one, if no levels were pooled."""
        return [*self.cell_names(), *([] if OTHER in self.levels else ["an unseen level"])]

    @property
    def reach(self) -> float:
        """One: a level has one active entry."""
        return 1.0

    def exact_cells(self) -> list[dict[int, Fraction]]:
        """Position of a design column → 1, level by level, and nothing for an unseen one, if no levels were pooled."""
        return [{j: Fraction(1)} if j < self.width else {} for j in range(len(self.all_names()))]

    def all_cells(self) -> tuple[Float64Array, list[str]]:
        """(cells, p) and their names: the levels, and an unseen one, if no levels were pooled."""
        names = self.all_names()
        return np.eye(len(names), self.width), names

    def at_cells(self, own: FloatArray) -> FloatArray:
        """(…, cells, D): its matrices, and zero for an unseen level, if no levels were pooled."""
        unseen = np.zeros((*own.shape[:-2], len(self.all_names()) - self.width, own.shape[-1]), own.dtype)
        return np.concatenate([own, unseen], axis=-2)

    def baseline(self) -> Float64Array:
        """(p,): no level, which is the average of its levels, as they are centred."""
        return np.zeros(self.width)

    @property
    def baseline_name(self) -> str:
        """The average level."""
        return "average level"

    def points(self, most: int) -> tuple[tuple[str, ...], Float64Array]:
        """All levels, but of very many only some, evenly spread."""
        step = 1 if self.width <= _ALL_DRAWN else -(-self.width // most)
        chosen = np.arange(0, self.width, step)
        return tuple(self.cell_names()[::step]), _one_hot(chosen, self.width)

    def check_between(self, between: Any) -> Sequence[object]:
        """Known levels; with None all of them, and OTHER for those never seen."""
        known = dict.fromkeys([*self.levels, OTHER])
        single = isinstance(between, str) or not isinstance(between, Iterable | None)
        levels = [between] if single else list(known if between is None else between)
        unknown = [level for level in levels if level not in known]
        if unknown or not levels:
            raise ValueError(f"between must hold levels of {self.name!r}, {list(self.levels)}; got {unknown}")
        return levels

    def path(self, between: Sequence[Any], least: int) -> Float64Array:
        """(levels, p): an unseen level counts as the average of all levels, if none were pooled."""
        return _one_hot(np.asarray(self._positions(between)), self.width)

    def shown_cells(self, cells: Cells) -> NDArray[np.object_]:
        """Cells as text."""
        codes, levels = cells.levels()
        return np.asarray(np.array([shown(level) for level in levels], object)[codes])

    def plain_cells(self, cells: Cells) -> NDArray[np.object_]:
        """Positions among the levels, −1 for an unseen one."""
        codes, levels = cells.levels()
        return np.asarray(np.array(self._positions(levels), object)[codes])

    # ---- in which coordinates it is trained --------------------------------------------------------------------

    @property
    def n_free(self) -> int:
        """One for each level; one for each step between levels in an order, and for each level in none."""
        return self.width - bool(self.order)

    def ramps(self) -> Float64Array:
        """(p, n): the levels, or the steps from each to the next, so that neighbours share strength, and the others."""
        if not self.order:
            return np.eye(self.width)
        places = [self.levels.index(level) for level in self.order]
        steps = np.zeros((self.width, len(places) - 1))
        steps[places] = np.tri(len(places), len(places) - 1, -1)
        return np.concatenate([steps, np.delete(np.eye(self.width), places, axis=1)], axis=1)

    # ---- in a file ---------------------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """Levels of the column, and what pooled ones were, as a file holds them."""
        return {"levels": list(self.levels), "pooled": list(self.pooled), "order": list(self.order)}

    @classmethod
    def restored(cls, start: int, clamp: bool, saved: Mapping[str, Any], what: str) -> Category:
        """The category with these levels."""
        levels = tuple(saved["levels"])
        if len(set(levels)) < len(levels):
            raise ValueError(f"levels of {what} must differ")
        pooled = tuple(map(Kind, saved["pooled"]))
        if pooled and (OTHER not in levels or {*pooled} & kinds_of(levels)):
            raise ValueError(f"pooled kinds of {what} must be of pooled levels, and no kinds of the others")
        order = tuple(saved["order"])
        if len(set(order)) < len(order) or not set(order) <= set(levels) - {None, OTHER}:
            raise ValueError(f"order of {what} must name levels of it, each once")
        return cls(saved["name"], start, levels=levels, pooled=pooled, order=order)


def _one_hot(positions: NDArray[np.intp], width: int) -> Float64Array:
    """(n, width): one at each position, nothing where that is -1."""
    cells = np.zeros((len(positions), width))
    cells[np.flatnonzero(positions >= 0), positions[positions >= 0]] = 1.0
    return cells


def _are_strings(levels: Iterable[object]) -> set[bool]:
    """Whether levels are strings: both answers may occur."""
    return {isinstance(level, str) for level in levels if level is not None and level is not OTHER}


def _kept_levels(
    name: str, counts: dict[object, float], min_level_count: int, max_categories: int, order: Sequence[object] = ()
) -> tuple[object, ...]:
    """Frequent levels in their order, then None, then OTHER; ties in frequency go to the first in that order.

    Levels that ``order`` does not name follow those that it does, in natural order.
    """
    rank = {level: i for i, level in enumerate(order)}

    def place(level: object) -> tuple[int, tuple[bool, object]]:
        return rank.get(level, len(rank)), natural(level)

    seen = sorted((level for level in counts if level is not None), key=place)
    frequent = [level for level in seen if counts[level] >= min_level_count]
    room = max_categories if len(seen) == len(frequent) <= max_categories else max_categories - 1  # OTHER counts too
    if len(frequent) > room:
        _warn_of_pooling(name, len(seen), max_categories)
    kept = sorted(sorted(frequent, key=lambda level: -counts[level])[:room], key=place)
    missing = [None] if None in counts else []
    pooled = [OTHER] if len(kept) < len(seen) else []
    return (*kept, *missing, *pooled)


def _warn_of_pooling(name: str, levels: int, most: int) -> None:
    advice = f"raise max_categories to {levels}" if levels <= MAX_LEVELS else "group its levels before the fit"
    warnings.warn(
        f"column {name!r} has {levels} levels, more than {most}: the rarest are pooled into one; {advice} to keep them "
        "apart",
        UserWarning,
        stacklevel=2,
    )
