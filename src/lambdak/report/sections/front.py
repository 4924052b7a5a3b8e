"""The first page, the appendix, and all sections in between: findings as a document."""

from __future__ import annotations

from dataclasses import fields

from lambdak.governance.performance import Estimate
from lambdak.losses import Predicts
from lambdak.report.amounts import count, interval, number, plural
from lambdak.report.document import Block, Bullets, Document, Heading, Note, Section, Table, said
from lambdak.report.findings import Findings
from lambdak.report.findings.likeness import SEEN
from lambdak.report.sections import SECTIONS

_TASKS = {
    Predicts.NUMBERS: "regression",
    Predicts.QUANTILES: "quantile regression",
    Predicts.CLASSES: "classification",
    Predicts.ORDERED_CLASSES: "classification into ordered classes",
}
_HEADLINES = ("ROC AUC", "accuracy", "deviance explained", "normalised Gini", "R²", "mean pinball loss", "log loss")
_WORDS = (
    ("Raw score", "What the model adds up before the last step (the link) turns it into a prediction."),
    ("Proven", "Shown to hold for every possible row by a computation that can be checked independently."),
    ("95 % interval", "In 95 of 100 repetitions with other rows, the interval would hold the true figure."),
    ("Actual / expected", "What was observed in total over what was predicted in total."),
    ("Gini", "How well the predictions order the rows; 0 is not at all. Normalised: 1 is a perfect order."),
    ("PSI", "Population stability index: how far the distribution of a column has moved between two tables."),
    ("Segment", "The rows with one level of a category, or with one part of the range of a number."),
)
# Where a validator finds what supervisory guidance asks for (SR 11-7; insurers' validation standards are alike).
_TOPICS = (
    ("Model purpose, use and ownership", "1"),
    ("Data: sources, quality, suitability", "2"),
    ("Conceptual soundness: theory, assumptions, limits", "3, 8, 10"),
    ("Settings and choices of the developer", "4"),
    ("Outcomes analysis: accuracy, discrimination, calibration", "5, 6, 10"),
    ("Sensitivity and stability", "7, 8, 9"),
    ("Explanation of results", "9"),
    ("Limitations and compensating controls", "10, 11"),
    ("Ongoing monitoring", "11"),
    ("Replication, version control", "12, 13"),
)


def document(found: Findings) -> Document:
    """All of it, in the order of reading."""
    sections = tuple(build(found) for build in SECTIONS)
    title = found.words.name or f"{found.subject.model.estimator}: model dossier"
    kind = _TASKS[found.subject.model.loss.predicts]
    subtitle = f"Model documentation for validation: {kind} with proven guarantees"
    return Document(title, subtitle, _front(found, sections), (*sections, _appendix(sections)))


def _front(found: Findings, sections: tuple[Section, ...]) -> tuple[Block, ...]:
    blocks: list[Block] = [Table("At a glance", ("", ""), _facts(found), left=(0, 1))]
    if found.assessment is not None and found.assessment.likeness.seen:
        blocks.append(Note(SEEN, "bad"))
    unsaid = [own.name for own in fields(found.words) if getattr(found.words, own.name) is None]
    points = [f"The owner has yet to say: {', '.join(unsaid)}."] if unsaid else []
    points += [point for section in sections for point in section.open_points]
    if points:
        blocks += [Heading("Open points"), Bullets(tuple(points))]
    return (*blocks, _signatures(found))


def _facts(found: Findings) -> tuple[tuple[str, str], ...]:
    model, words = found.subject.model, found.words
    requested = [claim.proven for claim in found.certificate.claims if claim.requested]
    promised = f"{sum(requested)} of {len(requested)} requested are proven" if requested else "none requested"
    data = "no rows were given" if found.data is None else plural(len(found.data.rows), "row")
    facts = [
        ("Model", said(words.name)),
        ("Version", said(words.version)),
        ("Date of this document", said(words.date)),
        (
            "Estimator",
            f"{model.estimator}, {plural(len(model.weights), 'member')}, matrices of {model.dim} × {model.dim}",
        ),
        ("Columns", count(len(found.subject.names))),
        ("Rows described" if found.assessment is None else "Measured on", data),
        *_headline(found),
        ("Guarantees", promised),
        ("Checksum of the model", found.file.checksum or "none: no file can hold this model"),
    ]
    return tuple(facts)


def _headline(found: Findings) -> list[tuple[str, str]]:
    own = {} if found.assessment is None else {metric.name: metric for metric in found.assessment.metrics}
    known = [own[name] for name in _HEADLINES if name in own][:2]
    return [(metric.name, _with_interval(metric)) for metric in known]


def _with_interval(own: Estimate) -> str:
    return f"{number(own.value)} (95 % interval {interval(own.low, own.high)})"


def _signatures(found: Findings) -> Table:
    roles = (("Owner", found.words.owner), ("Developer", found.words.developer), ("Reviewer", found.words.reviewer))
    rows = tuple((role, said(name), "", "") for role, name in roles)
    return Table("Sign-off", ("Role", "Name", "Date", "Signature"), rows, left=(0, 1, 2, 3))


def _appendix(sections: tuple[Section, ...]) -> Section:
    topics = Table("Where topics of supervisory guidance are", ("Topic", "Section"), _TOPICS, left=(0, 1))
    words = Table("Words", ("Word", "Meaning"), _WORDS, left=(0, 1))
    whole = tuple(table for section in sections for table in section.appendix)
    return Section("appendix", "Appendix", (topics, words, *whole))
