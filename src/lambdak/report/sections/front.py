"""The first page of a dossier and the top of a page: what the model is and does, and what is guaranteed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version

import numpy as np

from lambdak.losses import Predicts
from lambdak.model.rows import model_target
from lambdak.report.amounts import count, interval, number, plural, share
from lambdak.report.document import (
    Answer,
    Answers,
    Block,
    Bullets,
    Heading,
    Note,
    Section,
    Table,
    said,
)
from lambdak.report.findings import Findings
from lambdak.report.findings.fit import SEEN
from lambdak.report.findings.headline import Figure, headline
from lambdak.report.sections import guarantees, performance

_MOST_CLASSES = 4  # that are named
TASKS = {
    Predicts.NUMBERS: "regression",
    Predicts.QUANTILES: "quantile regression",
    Predicts.CLASSES: "classification",
    Predicts.ORDERED_CLASSES: "classification into ordered classes",
}


def dossier(findings: Findings, sections: Sequence[Section]) -> tuple[Block, ...]:
    """Return the first page: facts, open points of all sections, and room for signatures."""
    blocks: list[Block] = [Table("At a glance", ("", ""), _facts(findings), left=(0, 1))]
    if findings.assessment is not None and findings.assessment.source == "seen":
        blocks.append(Note(SEEN, "bad"))
    unsaid = [word.name for word in fields(findings.words) if getattr(findings.words, word.name) is None]
    points = [f"The owner has yet to say: {', '.join(unsaid)}."] if unsaid else []
    points += [point for section in sections for point in section.open_points]
    if points:
        blocks += [Heading("Open points"), Bullets(tuple(points))]
    return (*blocks, _signatures(findings))


def _facts(findings: Findings) -> tuple[tuple[str, str], ...]:
    model, words = findings.model, findings.words
    requested = [claim.proven for claim in findings.certificate.claims if claim.requested]
    promised = f"{sum(requested)} of {len(requested)} requested are proven" if requested else "none requested"
    data = "no rows were given" if findings.data is None else plural(len(findings.data.rows), "row")
    facts = [
        ("Model", said(words.name)),
        ("Version", said(words.version)),
        ("Date of this document", said(words.date)),
        (
            "Estimator",
            f"{model.estimator}, {plural(len(model.weights), 'member')}, matrices of {model.dim} × {model.dim}",
        ),
        ("Columns", count(len(findings.names))),
        ("Rows described" if findings.assessment is None else "Measured on", data),
        *_headline(findings),
        ("Guarantees", promised),
        ("Checksum of the model", findings.file.checksum or "none: no file can hold this model"),
    ]
    return tuple(facts)


def _headline(findings: Findings) -> list[tuple[str, str]]:
    figures = () if findings.assessment is None else headline(findings.assessment)
    return [(figure.metric.name, _with_interval(figure)) for figure in figures]


def _with_interval(figure: Figure) -> str:
    metric = figure.metric
    beside = f"; {figure.without}: {number(figure.base)}" if figure.without else ""
    return f"{number(metric.value)} (95 % interval {interval(metric.low, metric.high)}){beside}"


def _signatures(findings: Findings) -> Table:
    roles = (
        ("Owner", findings.words.owner),
        ("Developer", findings.words.developer),
        ("Reviewer", findings.words.reviewer),
    )
    rows = tuple((role, said(name), "", "") for role, name in roles)
    return Table("Sign-off", ("Role", "Name", "Date", "Signature"), rows, left=(0, 1, 2, 3))


# ---- on a page -------------------------------------------------------------------------------------------------------


def title(findings: Findings) -> str:
    """The heading of the page."""
    if findings.target_name:
        return f"Prediction of {findings.target}{findings.per}"
    names = _class_names(findings)
    return f"Prediction of {names or 'the target'}"


def about(findings: Findings) -> str:
    """Return what wrote a page, and that it keeps to itself."""
    return (
        f"{findings.model.estimator}, written by lambdak {version('lambdak')}. The model runs inside this page: "
        "nothing is sent anywhere."
    )


def page(findings: Findings) -> Answers:
    """Return three answers side by side."""
    return Answers((_subject(findings), performance.answer(findings), guarantees.answer(findings)))


def _subject(findings: Findings) -> Answer:
    columns = plural(len(findings.names), "column")
    what = findings.target + findings.per if findings.target_name else _class_names(findings) or "the target"
    return Answer("What it predicts", what, [
        f"{_kind(findings)}, from {columns} of a table.", _observed(findings),
    ])  # fmt: skip


def _class_names(findings: Findings) -> str:
    """The classes by their names, if they are few: what is predicted where the target has no name."""
    names = findings.classes
    return f"{', '.join(names[:-1])} or {names[-1]}" if 2 <= len(names) <= _MOST_CLASSES else ""


def _kind(findings: Findings) -> str:
    names = findings.classes
    if names:
        named = f" ({', '.join(names)})" if len(names) <= _MOST_CLASSES else ""
        return f"One of {len(names)} {'ordered ' if findings.ordered else ''}classes{named}"
    levels = findings.model.loss.quantile_levels
    if levels:
        return f"{'Quantiles' if len(levels) > 1 else 'The quantile'} {', '.join(f'{level:g}' for level in levels)}"
    return f"A number{f', in{findings.unit}' if findings.unit else ''}{findings.per}"


def _observed(findings: Findings) -> str:
    """What was observed of the target in the data."""
    rows = findings.rows
    if rows is None or rows.y is None:
        return ""
    if findings.classes:
        labels = np.asarray(findings.model.classes).tolist()
        counts = [(np.asarray(rows.y) == label).mean() for label in labels]
        named = [f"{name} {share(float(part))}" for name, part in zip(findings.classes, counts, strict=True)]
        return f"In the data: {', '.join(named[:_MOST_CLASSES])}{', …' if len(named) > _MOST_CLASSES else ''}."
    target = np.asarray(model_target(findings.model, rows), np.float64)
    low, below, middle, above, high = (number(float(each), 3) for each in np.quantile(target, [0, 0.25, 0.5, 0.75, 1]))
    if rows.exposure is not None:
        total, units = float(np.asarray(rows.y, np.float64).sum()), float(rows.exposure.sum())
        return f"In the data: {number(total)} in {number(units)} units of exposure."
    return f"In the data: {low} to {high}{findings.unit}, half of it between {below} and {above}, median {middle}."


STATEMENTS = {
    "purpose": "Purpose",
    "intended_use": "Intended use: decisions, users, products",
    "out_of_scope": "What it must not be used for",
    "risk_tier": "Risk tier, and why",
    "owner": "Owner",
    "developer": "Developer",
    "reviewer": "Independent reviewer",
    "alternatives": "Other models that were considered",
    "assumptions": "Assumptions",
    "ethical_considerations": "Protected groups, and what was done about them",
}


def purpose(findings: Findings) -> Section:
    """Return what the model is for, in the words of its owner."""
    rows = tuple((title, said(getattr(findings.words, name))) for name, title in STATEMENTS.items())
    table = Table("Statements of the owner", ("", "Statement"), rows, left=(0, 1))
    return Section("purpose", "Purpose", (table,))
