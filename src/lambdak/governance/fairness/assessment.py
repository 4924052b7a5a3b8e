"""An assessment of what a protected column does: as data, as tables, in words and as a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lambdak._types import Float64Array
from lambdak.governance.fairness.flips import Flips
from lambdak.governance.fairness.groups import GroupMetrics, Proxy, group_metrics
from lambdak.model.outward import upwards
from lambdak.table.category_levels import shown
from lambdak.table.frames import make_frame
from lambdak.table.shown import Shown
from lambdak.table.visible import visible

_SHOWN = 5  # proxies that are named in words


@final
@dataclass(frozen=True)
class JointBound:
    """What changes of these columns at once can do to any row, at most: to a raw score, and to a prediction. Proven."""

    columns: tuple[str, ...]
    score: float
    prediction: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class Fairness(Shown):
    """What flipping a protected column does, measured and proven, and what its proxies tell of it.

    Attributes
    ----------
    column : str
        The protected column.
    measure : str
        What is predicted: "the probability of approval", "the prediction".
    approval : str or None
        When a row is approved: "the class is 'good'"; None without decisions.
    flips : Flips
        Predictions and decisions with the column at each of its levels, and all pairs of levels.
    effect : array of shape (rows,)
        By how much the prediction of each row changes between the levels, at most.
    alone : JointBound
        What any change of the column can do, "missing" and levels never seen included: proven for every row.
    proxies : tuple of Proxy
        All other columns by their association with it on these rows.
    together : JointBound
        The same bound if the column and its proxies change at once.
    factor : bool
        Whether bounds on predictions are factors minus one, as of a logarithmic link.
    limited : bool
        Whether bounds only hold within the training range, because columns continue straight beyond it.
    """

    column: str
    measure: str
    approval: str | None
    flips: Flips = field(repr=False)
    effect: Float64Array = field(repr=False)
    alone: JointBound
    proxies: tuple[Proxy, ...]
    together: JointBound
    factor: bool
    limited: bool
    _groups: list[str] = field(repr=False)
    _now: NDArray[np.bool_] | None = field(repr=False)
    _predictions: Float64Array = field(repr=False)
    _positive: NDArray[np.bool_] | None = field(repr=False, default=None)
    _like: Any = field(repr=False, default=None)

    @property
    def changed(self) -> int | None:
        """Rows whose decision depends on the level; None without decisions."""
        approved = self.flips.approved
        return None if approved is None else int((approved != approved[:1]).any(axis=0).sum())

    def group_metrics(self) -> GroupMetrics:
        """Selection rates, and with ``y`` error rates and calibration, by level of the column; needs fairlearn."""
        if self._now is None:
            raise ValueError("group metrics need decisions: give fairness a threshold, or a target")
        return group_metrics(self._groups, self._now, self._predictions, self._positive)

    def to_frame(self, what: str = "pairs") -> Any:
        """A table of the "pairs" of levels, of the "proxies", or of the "rows", one line each."""
        if what == "pairs":
            names = ("mean", "largest", "row", "changed", "score_bound", "bound")
            table = {name: [shown(getattr(pair, name)) for pair in self.flips.pairs] for name in ("first", "second")}
            table |= {name: [getattr(pair, name) for pair in self.flips.pairs] for name in names}
            return make_frame({name: values for name, values in table.items() if None not in values}, self._like)
        if what == "proxies":
            found = zip(*self.proxies, strict=True) if self.proxies else ((), ())
            return make_frame(dict(zip(("column", "association"), found, strict=True)), self._like)
        if what == "rows":
            rows = {
                f"prediction if {shown(level)}": p
                for level, p in zip(self.flips.levels, self.flips.predictions, strict=True)
            }
            settled = {} if self.flips.settled is None else {"decision is proven to stay": self.flips.settled}
            return make_frame(
                {"row": np.arange(len(self.effect)), "effect": self.effect, **rows, **settled}, self._like
            )
        raise ValueError(f"what must be 'pairs', 'proxies' or 'rows'; got {what!r}")

    def to_dict(self) -> dict[str, Any]:
        """The assessment as plain data."""
        pairs = [dict(vars(pair)) for pair in self.flips.pairs]
        return {
            "column": self.column, "measure": self.measure, "approval": self.approval, "pairs": pairs,
            "changed": self.changed, "factor": self.factor,
            "rows": len(self.effect), "alone": asdict(self.alone), "together": asdict(self.together),
            "proxies": [proxy._asdict() for proxy in self.proxies],
        }  # fmt: skip

    def plot(self, ax: Any = None) -> Any:
        """How far flipping the column moves each row, up to the proven bound."""
        from lambdak.governance.plots import draw_flips

        return draw_flips(self, ax)

    def __str__(self) -> str:
        return "\n".join(visible(line) for line in self._lines())

    def _lines(self) -> list[str]:
        rows, levels = len(self.effect), ", ".join(shown(level) for level in self.flips.levels)
        lines = [f"What {self.column} does ({levels}), on {rows:,} rows and proven for every row"]
        if self.approval is not None:
            lines.append(f"Approved means: {self.approval}.")
        if rows and not np.isnan(self.effect).any():
            worst = int(self.effect.argmax())
            lines.append(
                f"Measured: flipping {self.column} changes {self.measure} by {self.effect.mean():.3g} in the "
                f"mean, and by {self.effect[worst]:.3g} at most (row {worst}){self._largest_factor()}."
            )
        if self.changed is not None and self.flips.settled is not None and rows:
            lines.append(
                f"Decisions: {self.changed:,} of {rows:,} change with {self.column}. It is proven of "
                f"{int(self.flips.settled.sum()):,} that no value of {self.column} changes them."
            )
        lines.append(f"Proven: {self._bounded(self.alone)}.")
        if self.proxies:
            named = ", ".join(f"{proxy.column} {proxy.association:.2f}" for proxy in self.proxies[:_SHOWN])
            lines.append(f"Association of other columns with {self.column} (0 none, 1 tells all): {named}.")
        if len(self.together.columns) > 1:
            lines.append(f"Proven, with its proxies: {self._bounded(self.together)}.")
        return lines

    def _largest_factor(self) -> str:
        """What is to be compared with a bound that is a factor."""
        if not self.factor or not len(self.flips.levels):
            return ""
        low, high = self.flips.predictions.min(axis=0), self.flips.predictions.max(axis=0)
        ratio = np.divide(high, low, out=np.ones_like(high), where=low > 0)
        return f", and by a factor of {ratio.max():.4g} at most"

    def _bounded(self, joint: JointBound) -> str:
        what = f"no change of {_together(joint.columns)}" + (" at once" if len(joint.columns) > 1 else "")
        by = f"by more than {upwards(joint.prediction, 3)}"
        if self.factor:
            by = f"by a factor of more than {upwards(1 + joint.prediction, 4)}"
        return f"{what} moves a raw score by more than {upwards(joint.score, 3)}, nor {self.measure} {by}" + (
            ", within the training range" if self.limited else ""
        )


def _together(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
