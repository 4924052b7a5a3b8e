"""What documents say of a model: each finding is computed once, when a section first asks for it.

To add one, write a property of ``Findings``; a dossier computes those in ``_STEPS`` before it is written.

- ``assessment``: how well the model does, on which rows, and in which segments it does worst.
- ``headline``: the figures that people of a task read first, beside what is reached without a model.
- ``behaviour``: what the columns do, as a page shows it.
- ``table``: what the columns of a table hold, and which of its rows are typical.
- ``fit``: the rows that the fit saw, the file that the model was saved to, and how much its seed matters.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from lambdak.certify import Certificate, Verification, certify, verify
from lambdak.eigen.lazy import cached_property
from lambdak.explain import GlobalExplanation, explain_global
from lambdak.explain.wording import Amounts
from lambdak.governance.drift import Drift, drift
from lambdak.governance.performance import Coverage, coverage_of
from lambdak.governance.performance.bootstrap import RESAMPLES
from lambdak.governance.performance.scored import name_of
from lambdak.losses import Predicts
from lambdak.model import Model
from lambdak.model.influence import strengths
from lambdak.model.mean_effects import mean_effects
from lambdak.report.amounts import at_most, number
from lambdak.report.findings.assessment import Assessment, WeakSegment, assess, weak_segments
from lambdak.report.findings.behaviour import Behaviour, behaviour
from lambdak.report.findings.fit import ModelFile, Progress, Stability, stability
from lambdak.report.findings.table import Described, describe, row_names
from lambdak.report.subject import OwnerWords, Refittable
from lambdak.table.category_levels import shown
from lambdak.table.rows import Rows
from lambdak.table.visible import visible

LIBRARIES = ("lambdak", "numpy", "scipy", "scikit-learn", "narwhals", "safetensors")


@dataclass(frozen=True)
class Options:
    """What a user chooses about the computations."""

    seeds: int = 0
    resamples: int = RESAMPLES
    seed: int = 0
    exact: bool = False
    search: int = 0


@dataclass(frozen=True, eq=False)
class Findings:
    """What can be said of a model; what needs rows or targets that were not given is None.

    Attributes
    ----------
    rows : Rows or None
        What the columns hold and do is found out on these.
    measured : Rows or None
        How well the model does is measured on these, if they have targets.
    training : Rows or None
        Rows that the model was fitted to, which the measured ones are compared with.
    unseen : bool
        Whether the measured rows are called unseen, or can be compared with all rows of training; never assumed.
    fitted : Refittable or None
        How the model was fitted, and how to fit it again; a report does not speak of it.
    words : OwnerWords
        What only the owner can say.
    file : ModelFile
        The file that the model was saved to.
    target_name : str or None
        What is predicted, in the user's words.
    units : mapping
        Units of columns and of the target, by their names.
    known_effects : array of shape (columns,) or None
        Mean absolute effects over the training rows, as an estimator keeps them.
    known_certificate : Certificate or None
        What is guaranteed, if it was computed before.
    row_names : list of str or None
        What the rows are called, if they are not just numbered.
    """

    model: Model
    rows: Rows | None
    measured: Rows | None
    training: Rows | None
    options: Options
    unseen: bool = True
    fitted: Refittable | None = None
    words: OwnerWords = field(default_factory=OwnerWords)
    file: ModelFile = field(default_factory=lambda: ModelFile(None, None))
    target_name: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    known_effects: NDArray[np.float64] | None = None
    known_certificate: Certificate | None = None
    row_names: list[str] | None = None
    progress: Progress = field(default=lambda words: None, repr=False)

    # ---- names and units --------------------------------------------------------------------------------------------

    @property
    def subject(self) -> Refittable:
        """How the model was fitted."""
        if self.fitted is None:
            raise ValueError("settings of the fit are known to a dossier only; a report knows the frozen model alone")
        return self.fitted

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.model.encoder.feature_names

    @property
    def classes(self) -> list[str]:
        """The classes as text; none if numbers are predicted."""
        return [shown(label) for label in ([] if self.model.classes is None else self.model.classes.tolist())]

    @property
    def ordered(self) -> bool:
        """Whether classes are in order."""
        return self.model.loss.predicts is Predicts.ORDERED_CLASSES

    @property
    def target(self) -> str:
        """What is predicted, in the user's words if there are any."""
        return visible(self.target_name or "target")

    @property
    def per(self) -> str:
        """What numbers are predicted per unit of, as " per year", or nothing."""
        if self.model.loss.predicts is not Predicts.NUMBERS:
            return ""
        tables = [table for table in (self.rows, self.measured) if table is not None and table.exposure is not None]
        return f" per {name_of(tables[0].given['exposure'], 'unit of exposure')}" if tables else ""

    @property
    def unit(self) -> str:
        """The unit of the target, with a space before it, or nothing."""
        unit = self.units.get(self.target, "")
        return f" {unit}" if unit and not self.classes else ""

    @property
    def score(self) -> str:
        """What influences and bounds are in units of."""
        name = self.model.loss.link.name
        return f"prediction{f' (in{self.unit})' if self.unit else ''}" if name == "identity" else "raw score"

    @property
    def size_unit(self) -> str:
        """The unit of how large effects are, as it stands behind a title; factors under a log link."""
        link = self.model.loss.link
        if link.name == "log":
            return " (factor)"
        unit = self.unit.strip()
        return link.short or (f" ({unit})" if unit else "")

    def size(self, value: float) -> str:
        """How large an effect is: in units of the prediction or of log-odds, and as a factor under a log link."""
        return Amounts("log", 0).size(value) if self.model.loss.link.name == "log" else number(value, 3)

    def limit(self, value: float) -> str:
        """A bound on how large an effect is, never less than it is, in the units of ``size``."""
        return Amounts("log", 0).limit(value) if self.model.loss.link.name == "log" else at_most(value)

    # ---- rows -------------------------------------------------------------------------------------------------------

    @cached_property
    def data(self) -> Described | None:
        """Summaries and checksums of the rows."""
        return None if self.rows is None else Described(self.rows, self.model.encoder)

    @cached_property
    def training_data(self) -> Described | None:
        """Summaries and checksums of the training rows."""
        return None if self.training is None else Described(self.training, self.model.encoder)

    @cached_property
    def examples(self) -> dict[str, Any] | None:
        """Rows to start from, a typical one among them, columns that name rows, and summaries for scripts."""
        rows = self.rows
        return None if rows is None else describe(self.model.encoder, rows.X, rows.y, self.row_names)

    @property
    def identifiers(self) -> list[int]:
        """Positions of the columns that name rows instead of describing them."""
        return [] if self.examples is None else list(self.examples["identifiers"])

    # ---- how well the model does ------------------------------------------------------------------------------------

    @cached_property
    def assessment(self) -> Assessment | None:
        """Metrics with intervals, output by output, and whether the fit has seen the rows."""
        rows = self.measured
        if rows is None or rows.y is None:
            return None
        return assess(self.model, rows, self.training, self.unseen, self.options.resamples, self.options.seed)

    @cached_property
    def coverage(self) -> Coverage | None:
        """How often targets are where a distribution says; None unless several quantiles were measured."""
        rows, levels = self.measured, self.model.outputs.quantile_levels
        if self.assessment is None or rows is None or len(levels) < 2 or self.model.calibration is None:
            return None
        return coverage_of(self.model, rows.X, np.asarray(rows.y), rows.weight)

    @cached_property
    def segments(self) -> tuple[WeakSegment, ...]:
        """All segments with enough rows, the weakest first."""
        return () if self.assessment is None else weak_segments(self.model, self.assessment.outputs)

    @cached_property
    def stability(self) -> Stability | None:
        """How far fits with other seeds are apart."""
        rows = self.measured
        if not self.options.seeds or rows is None or rows.y is None or self.training is None:
            return None
        return stability(self.subject, self.training, rows, self.options.seeds, self.progress)

    @cached_property
    def drift(self) -> Drift | None:
        """How far the rows are from those of training; of several classes, in the probability of the first."""
        if self.rows is None or self.training is None:
            return None
        classes = self.model.classes
        first = classes.tolist()[0] if classes is not None and len(classes) > 2 else None
        return drift(
            self.model, self.training.X, self.rows.X, sample_weight_old=self.training.weight,
            sample_weight_new=self.rows.weight, output=first, random_state=self.options.seed,
        )  # fmt: skip

    # ---- what is proven, and what columns do ------------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate:
        """What is guaranteed, with its proofs."""
        return self.known_certificate or certify(self.model, None, self.options.exact)

    @cached_property
    def search(self) -> Verification | None:
        """The search for a counterexample, if one was requested."""
        if self.rows is None or not self.options.search:
            return None
        return verify(self.model, self.rows.X, self.options.search, self.options.seed)

    @cached_property
    def importance(self) -> NDArray[np.float64] | None:
        """Mean absolute effect of each column over the rows, or those that the estimator keeps."""
        size = self.known_effects
        if self.rows is not None:
            design = self.model.encoder.transform(self.rows.X, np.float64)
            size = mean_effects(self.model, design, self.rows.weight)
        return None if size is None else np.where(strengths(self.model) > 0, size, 0.0)  # without what rounding does

    @cached_property
    def behaviour(self) -> Behaviour:
        """What the strongest columns do, in as few numbers as a page shows."""
        X = None if self.rows is None else self.rows.X
        return behaviour(self.model, X, self.identifiers, self.importance)

    @cached_property
    def explanation(self) -> GlobalExplanation:
        """What all columns do, with curves and pairs."""
        return explain_global(self.model, None if self.rows is None else self.rows.X)

    @property
    def by_strength(self) -> list[int]:
        """Positions of the columns, the most important one first: by what they do, or by what they can do."""
        proven = {effect.column: effect.proven for effect in self.explanation.effects}
        size = [proven[name] for name in self.names] if self.importance is None else self.importance
        return [int(i) for i in np.argsort(-np.asarray(size), kind="stable")]

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of Python and of the libraries, and the system that the figures were computed on."""
        libraries = {name: version(name) for name in LIBRARIES}
        return {"Python": platform.python_version()} | libraries | {
            "system": platform.system(), "processor": platform.machine(),
        }  # fmt: skip


_STEPS = {
    "data": "data", "training_data": "", "assessment": "performance", "segments": "", "coverage": "", "stability": "",
    "drift": "", "certificate": "guarantees", "search": "", "explanation": "effects", "importance": "",
}  # fmt: skip


def compute_all(findings: Findings) -> Findings:
    """Return the findings after all that a dossier says has been computed, with a word at each step."""
    for name, step in _STEPS.items():
        if step:
            findings.progress(step)
        getattr(findings, name)
    return findings


def report_findings(
    model: Model, X: Any, rows: Rows | None, test: Rows | None, effects: NDArray[np.float64] | None,
    target: str | None, units: Mapping[str, str] | None, options: Options, certificate: Certificate | None = None,
) -> Findings:  # fmt: skip
    """Return the findings of a report: measured on test rows, or else on the others.

    ``X`` is the table as the user gave it, whose rows may have names; ``effects`` are mean absolute effects over the
    training rows, as an estimator keeps them.
    """
    with_test = test is not None and test.y is not None
    tables = [table for table in (rows, test) if table is not None]
    name = target or _target_name([table.given.get("y") for table in tables])
    return Findings(
        model, rows, test if with_test else rows, rows if with_test else None, options, with_test,
        target_name=name, units=_checked_units(units or {}, [*model.encoder.feature_names, name or "target"]),
        known_effects=effects, known_certificate=certificate,
        row_names=None if X is None or issparse(X) else row_names(X),
    )  # fmt: skip


def _target_name(targets: Sequence[Any]) -> str | None:
    names = (getattr(y, "name", None) for y in targets)
    return next((name for name in names if isinstance(name, str) and name), None)


def _checked_units(units: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    for name in units:
        if name not in names:
            raise ValueError(f"units must be those of columns or of the target, {list(names)}; got {name!r}")
    return {name: visible(str(unit)) for name, unit in units.items()}
