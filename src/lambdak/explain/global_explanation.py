"""What each column does to a model as a whole: mean effects, proven bounds, and which columns act together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.explain.column_effect import ColumnEffect, column_effect
from lambdak.explain.interactions import Interaction, interactions
from lambdak.explain.pair_surface import PairSurface, pair_surface
from lambdak.explain.progress import watched
from lambdak.explain.promised import all_promised, with_promises
from lambdak.explain.rows import baseline_row, local_slopes, observed_table
from lambdak.explain.wording import Amounts, effect_words
from lambdak.model import Model
from lambdak.model.mean_effects import column_effects
from lambdak.model.output_choice import chosen_output, output_labels
from lambdak.pencil.exact import DOUBTS, Work
from lambdak.table.cells import Cells
from lambdak.table.close_names import asked, shown_names
from lambdak.table.frames import aligned, make_frame
from lambdak.table.rows import spread_rows
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

_MOST_ROWS = 300  # of X that effects are averaged over
_MOST_CELLS = 10_000  # of X whose density is shown
_PRINTED = 15  # columns
_ARROWS = {1: " ↑", -1: " ↓", 0: ""}


@final
@dataclass(frozen=True, eq=False, repr=False)
class GlobalExplanation(Shown):
    """All columns of a model, the most important first, and pairs of them; printed, it is a table.

    Attributes
    ----------
    output : str
        What the raw score stands for.
    rows : int
        Rows of X that observed numbers come from; 0 if they are those of the baseline.
    effects : tuple of ColumnEffect
        The largest mean effect over the rows of X first; without X, the largest proven bound.
    interactions : tuple of Interaction
        The largest joint effect first; the largest commutator if there are no rows.
    promised : tuple of str
        What was requested of the model and holds for every row, in plain words.
    """

    output: str
    rows: int
    effects: tuple[ColumnEffect, ...]
    interactions: tuple[Interaction, ...]
    _model: Model
    _chosen: Any = None  # as the user said it
    _like: Any = None  # the rows
    promised: tuple[str, ...] = ()

    def __getitem__(self, column: str) -> ColumnEffect:
        for effect in self.effects:
            if effect.column == column:
                return effect
        names = [effect.column for effect in self.effects]
        raise KeyError(f"column must be one of {names}; got {column!r}{asked(column, names)}")

    @property
    def link(self) -> str:
        """How predictions come from raw scores: "identity", "log", "logit" or "softmax"."""
        return self._model.loss.link.name

    @property
    def words(self) -> str:
        """What effects are changes of: "log-odds of class 'b'"."""
        return effect_words(self.link, self.output)

    def to_frame(self) -> Any:
        """One line for each column, in a frame of the library that X came from; with what was promised, if anything."""
        names = ("column", "kind", "sign", "importance", "proven", "per_unit", "observed", "tightness", "slope_min",
                 "slope_median", "slope_max")  # fmt: skip
        columns = {name: [getattr(effect, name) for effect in self.effects] for name in names}
        promised = ["; ".join(effect.promised) for effect in self.effects]
        return make_frame(columns | ({"promised": promised} if any(promised) else {}), self._like)

    def interactions_to_frame(self) -> Any:
        """One line for each pair of columns."""
        names = ("first", "second", "commutator", "coupling", "joint", "h_statistic")
        return make_frame(
            {name: [getattr(interaction, name) for interaction in self.interactions] for name in names}, self._like
        )

    def pair(self, first: str, second: str) -> PairSurface:
        """What two columns do together, as numbers over a grid of their cells."""
        return pair_surface(self._model, self._like, first, second, self._chosen)

    def plot(self, ax: Any = None) -> Any:
        """Mean effects of the columns beside their proven bounds, the most important on top; returns the Axes."""
        from lambdak.explain.plots import draw_strengths

        return draw_strengths(self, ax)

    def plot_interactions(self, ax: Any = None) -> Any:
        """How strongly pairs of columns act together, the strongest on top; returns the Axes."""
        from lambdak.explain.plots import draw_interactions

        return draw_interactions(self, ax)

    def plot_pair(self, first: str, second: str, *, joint_only: bool = False, ax: Any = None) -> Any:
        """A map of what two columns do together; ``joint_only`` is what that adds to the sum of their own effects."""
        return self.pair(first, second).plot(ax, joint_only=joint_only)

    def __str__(self) -> str:
        over = f", over {self.rows:,} rows" if self.rows else "; without rows, only what is proven is known"
        what = "prediction, as a factor" if self.link == "log" else self.words
        lines = [f"What each column does to the {what}{over}", *self._table()]
        if self.rows:
            lines.append("mean effect: how far a column moves it, on average, from its median or average level")
        within = ", within the training range" if any(effect.within_range for effect in self.effects) else ""
        lines.append(f"proven limit: no change of the column moves it by more, in any row{within}")
        if any(effect.sign for effect in self.effects):
            lines.append("↑ ↓: proven never to fall, or never to rise, as the column rises")
        lines += ["promised, for every row:", *(f"  {words}" for words in self.promised)] if self.promised else []
        labels = output_labels(self._model)
        if len(labels) > 2:
            named = shown_names(map(str, labels))
            lines.append(f"This is one of several: explain_global(X, output=…) explains another of {named}")
        return "\n".join(map(visible, lines))

    def _table(self) -> list[str]:
        shown = [effect for effect in self.effects if effect.proven][:_PRINTED]
        head = ["", "mean effect", "largest seen", "proven limit"]
        largest = max((effect.importance if self.rows else effect.proven for effect in shown), default=0.0)
        amounts = Amounts("log", 0) if self.link == "log" else Amounts.of("identity", [largest])
        rows = [[effect.column + _ARROWS[effect.sign], amounts.size(effect.importance), amounts.size(effect.observed),
                 amounts.limit(effect.proven)] for effect in shown]  # fmt: skip
        kept = [0, 1, 2, 3] if self.rows else [0, 3]
        silent = sum(not effect.proven for effect in self.effects)
        weaker = len(self.effects) - silent - len(shown)
        more = [f"  … and {weaker:,} weaker columns"] if weaker else []
        none = [f"  {silent:,} columns have no effect at all"] if silent else []
        return [*aligned([[row[i] for i in kept] for row in (head, *rows)]), *more, *none]


def explain_global(model: Model, X: Any = None, output: Any = None) -> GlobalExplanation:
    """Explain a model; see :class:`GlobalExplanation`.

    Parameters
    ----------
    model
        The ``model_`` of a fitted estimator.
    X
        Rows to observe effects on; up to 300 of them, evenly spread, are used. Without it, what is observed is the
        baseline: medians of numbers and the average of a category's levels.
    output
        Label or position of a class, quantile or cut-point, such as ``"b"``, 0.9 or 0; None is the first one of several
        classes, the second one of two, and the middle one of the others.
    """
    readout, _ = chosen_output(model, output)
    n = len(readout.columns)
    cells: tuple[Cells, ...] = ()
    if X is None:
        design, slopes, importance, rows = baseline_row(readout), None, np.full(n, np.nan), 0
    else:
        table = observed_table(X)
        some = spread_rows(table.shape[0], _MOST_ROWS)
        design = model.encoder.transform(table, np.float64).take(some)
        slopes, rows = model.encoder.slopes(table).take(some), len(some)
        importance = column_effects(readout, design, np.ones(rows))
        seen = spread_rows(table.shape[0], _MOST_CELLS)
        cells = tuple(table.cells(position, seen) for position in model.encoder.positions(table))
    packed = readout.packed(design)
    steep = None if slopes is None else local_slopes(readout, packed, slopes, slopes).influence
    work = Work(DOUBTS)
    effects = [
        with_promises(
            column_effect(readout, design, i, steep, cells[i] if cells else None, float(importance[i]), work=work),
            model, readout, i,
        )
        for i in watched(range(n), "columns explained")
    ]  # fmt: skip
    ordered = sorted(effects, key=lambda effect: (-effect.importance if rows else 0.0, -effect.proven))
    pairs = interactions(readout, design if rows else None)
    promised = all_promised(model, readout)
    return GlobalExplanation(readout.name, rows, tuple(ordered), pairs, model, output, X, promised)
