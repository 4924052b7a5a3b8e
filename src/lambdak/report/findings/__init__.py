"""Everything that is computed for a dossier, once: its sections only say it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.certify import Certificate, Verification, certify, verify
from lambdak.explain import GlobalExplanation, explain_global
from lambdak.governance.drift import Drift, drift
from lambdak.model.importance import mean_effects
from lambdak.report.findings.assessment import Assessment, assess
from lambdak.report.findings.fit import ModelFile, Progress, Stability, stability
from lambdak.report.findings.table import summarise
from lambdak.report.subject import OwnerWords, Subject
from lambdak.table.column_cells import column_reader
from lambdak.table.content_hash import content_hash, target_hash
from lambdak.table.rows import Rows

LIBRARIES = ("lambdak", "numpy", "scipy", "scikit-learn", "narwhals", "safetensors")


@dataclass(frozen=True)
class Options:
    """What a user chooses about the computations."""

    seeds: int
    resamples: int
    seed: int
    exact: bool
    search: int


@dataclass(frozen=True, eq=False)
class Described:
    """A table in a dossier: its rows, summaries of its columns, and checksums.

    ``columns`` has the summary of every column of the model, as the report gives it.
    """

    rows: Rows
    columns: list[dict[str, Any]]
    sha256: str
    target_sha256: str | None


@dataclass(frozen=True, eq=False)
class Findings:
    """All of it. What needs rows or targets that were not given is None.

    Attributes
    ----------
    importance : array of shape (columns,) or None
        Mean absolute effect of each column over the rows.
    training : Described or None
    """

    subject: Subject
    words: OwnerWords
    options: Options
    data: Described | None
    training: Described | None
    assessment: Assessment | None
    stability: Stability | None
    drift: Drift | None
    certificate: Certificate
    search: Verification | None
    explanation: GlobalExplanation
    importance: NDArray[np.float64] | None
    file: ModelFile
    versions: Mapping[str, str]

    @property
    def by_strength(self) -> list[int]:
        """Positions of the columns, the most important one first: by what they do, or by what they can do."""
        proven = {effect.column: effect.proven for effect in self.explanation.effects}
        size = [proven[name] for name in self.subject.names] if self.importance is None else self.importance
        return [int(i) for i in np.argsort(-np.asarray(size), kind="stable")]


def find(
    subject: Subject, words: OwnerWords, options: Options, file: ModelFile, rows: Rows | None, training: Rows | None,
    progress: Progress,
) -> Findings:  # fmt: skip
    """Compute everything."""
    model = subject.model
    X = None if rows is None else rows.X
    progress("data")
    data, trained = (None if own is None else _described(subject, own) for own in (rows, training))
    progress("performance")
    assessment = None
    if rows is not None and rows.y is not None:
        assessment = assess(model, rows, training, options.resamples, options.seed)
    steady = None
    if options.seeds and rows is not None and rows.y is not None and training is not None:
        steady = stability(subject, training, rows, options.seeds, progress)
    moved = None if rows is None or training is None else _drift(subject, training, rows, options)
    progress("guarantees")
    certificate = certify(model, None, options.exact)
    search = None if X is None or not options.search else verify(model, X, options.search, options.seed)
    progress("effects")
    explanation = explain_global(model, X)
    importance = None if rows is None else mean_effects(model, model.encoder.transform(rows.X, np.float64), rows.weight)
    return Findings(
        subject, words, options, data, trained, assessment, steady, moved, certificate, search, explanation, importance,
        file, _versions(),
    )  # fmt: skip


def _drift(subject: Subject, training: Rows, rows: Rows, options: Options) -> Drift:
    """How far the rows are from those of training; of several classes, in the probability of the first."""
    classes = subject.model.classes
    first = classes.tolist()[0] if classes is not None and len(classes) > 2 else None
    return drift(
        subject.model, training.X, rows.X, sample_weight_old=training.weight, sample_weight_new=rows.weight,
        output=first, random_state=options.seed,
    )  # fmt: skip


def _described(subject: Subject, rows: Rows) -> Described:
    encoder = subject.model.encoder
    read = column_reader(encoder, rows.X)
    columns = [summarise(column, read(i)) for i, column in enumerate(encoder.columns)]
    return Described(
        rows, columns, content_hash(rows.X, subject.names), None if rows.y is None else target_hash(rows.y)
    )


def _versions() -> dict[str, str]:
    own = {"Python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
    return own | {"system": platform.system(), "processor": platform.machine()}
