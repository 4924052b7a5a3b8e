"""All that a report says: computed once, then written as text and tables, and as data for the page's scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.certify.certificate import Claim
from lambdak.governance.performance.scored import name_of
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.report.findings.behaviour import Behaviour, behaviour
from lambdak.report.findings.table import describe, row_names
from lambdak.report.measured import Measured, measure
from lambdak.table.category_levels import shown
from lambdak.table.rows import Rows
from lambdak.table.visible import visible


@dataclass(frozen=True, eq=False)
class Contents:
    """What a report says of a model: its rows, metrics, claims and words.

    Attributes
    ----------
    data : dict or None
        Rows to start from and summaries of the columns, see :func:`lambdak.report.findings.table.describe`.
    measured : Measured or None
        How well it does, if targets were given.
    claims : tuple of Claim or None
        Those of its certificate.
    target : str
        What is predicted, in the user's words.
    per : str
        What it is predicted per unit of, as " per year", or nothing.
    units : mapping
        Units of columns and of the target, by their names.
    """

    model: Model
    rows: Rows | None
    data: dict[str, Any] | None
    measured: Measured | None
    behaviour: Behaviour
    claims: tuple[Claim, ...] | None
    target: str
    per: str
    named: bool  # whether the user named the target
    units: Mapping[str, str]

    @property
    def classes(self) -> list[str]:
        """The classes as text; none if numbers are predicted."""
        return [shown(label) for label in ([] if self.model.classes is None else self.model.classes.tolist())]

    @property
    def ordered(self) -> bool:
        """Whether classes are in order."""
        return self.model.loss.predicts is Predicts.ORDERED_CLASSES

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.model.encoder.feature_names

    @property
    def unit(self) -> str:
        """The unit of the target, with a space before it, or nothing."""
        own = self.units.get(self.target, "")
        return f" {own}" if own and not self.classes else ""

    @property
    def score(self) -> str:
        """What influences and bounds are in units of."""
        name = self.model.loss.link.name
        return f"prediction{f' (in{self.unit})' if self.unit else ''}" if name == "identity" else "raw score"


def gather(
    model: Model, X: Any, rows: Rows | None, test: Rows | None, certificate: Mapping[str, Any] | None,
    effects: NDArray[np.float64] | None,
    target: str | None, units: Mapping[str, str] | None, resamples: int, seed: int,
) -> Contents:  # fmt: skip
    """Compute everything; ``X`` is the table as the user gave it, whose rows may have names.

    ``effects`` are mean absolute effects over the training rows, as an estimator keeps them.
    """
    encoder = model.encoder
    data = None if rows is None else describe(encoder, rows.X, rows.y, None if issparse(X) else row_names(X))
    measured = measure(model, rows, test, resamples, seed)
    identifiers = [] if data is None else data["identifiers"]
    own = None if rows is None else rows.weight
    table = None if rows is None else rows.X
    name = target or _target_name([own.given.get("y") for own in (rows, test) if own is not None])
    checked = _checked_units(units or {}, [*encoder.feature_names, name or "target"])
    per = _per([own for own in (rows, test) if own is not None]) if model.loss.predicts is Predicts.NUMBERS else ""
    return Contents(
        model, rows, data, measured, behaviour(model, table, own, identifiers, effects),
        None if certificate is None else tuple(Claim(**claim) for claim in certificate["claims"]),
        visible(name or "target"), per, bool(name), checked,
    )  # fmt: skip


def _target_name(targets: Sequence[Any]) -> str | None:
    names = (getattr(y, "name", None) for y in targets)
    return next((name for name in names if isinstance(name, str) and name), None)


def _per(given: Sequence[Rows]) -> str:
    exposures = [own.given["exposure"] for own in given if own.exposure is not None]
    return f" per {name_of(exposures[0], 'unit of exposure')}" if exposures else ""


def _checked_units(units: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    for name in units:
        if name not in names:
            raise ValueError(f"units must be those of columns or of the target, {list(names)}; got {name!r}")
    return {name: visible(str(unit)) for name, unit in units.items()}
