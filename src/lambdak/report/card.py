"""A model card: the front matter that model hubs read, and the sections of Mitchell et al. in their usual order.

It says the same as the dossier, in fewer words and without pictures: one Markdown file, such as README.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lambdak.losses import Predicts
from lambdak.report.document import Block, Bullets, Code, Document, Note, Paragraph, Section, Table, said
from lambdak.report.findings import Findings
from lambdak.report.markdown import sections_markdown
from lambdak.report.sections import data, guarantees, limits, method, reproduction
from lambdak.report.sections.performance import metric_table, provenance
from lambdak.table.visible import visible

# Names that hubs know, where they have one.
_METRIC_TYPES = {"R²": "r_squared", "RMSE": "rmse", "MAE": "mae", "accuracy": "accuracy", "ROC AUC": "roc_auc"}
_CLASSES = (Predicts.CLASSES, Predicts.ORDERED_CLASSES)
_START = """import lambdak

model = lambdak.load({name!r})
model.predict(X)  # a table with the columns below
print(model.certify())  # what is guaranteed, with proofs"""


def card_text(findings: Findings, license_name: str | None, tags: Sequence[str], dataset: str | None) -> str:
    """The card: front matter and sections."""
    return _front_matter(findings, license_name, tags, dataset) + sections_markdown(_document(findings, license_name))


# ---- what programs read ---------------------------------------------------------------------------------------------


def _front_matter(findings: Findings, license_name: str | None, tags: Sequence[str], dataset: str | None) -> str:
    task = "tabular-classification" if findings.model.loss.predicts in _CLASSES else "tabular-regression"
    fields: dict[str, Any] = {} if license_name is None else {"license": license_name}
    fields |= {"library_name": "lambdak", "pipeline_tag": task, "tags": [task, "tabular", "lambdak", *tags]}
    if dataset is not None:
        fields["datasets"] = [dataset]
    if findings.assessment is not None:
        names = [_METRIC_TYPES[metric.name] for metric in findings.assessment.metrics if metric.name in _METRIC_TYPES]
        fields["metrics"] = names
        fields["model-index"] = [_index(findings, task, dataset)]
    return f"---\n{_yaml(fields)}\n---\n\n"


def _index(findings: Findings, task: str, dataset: str | None) -> dict[str, Any]:
    metrics = [] if findings.assessment is None else findings.assessment.metrics
    results = [
        {"type": _METRIC_TYPES.get(metric.name, metric.name), "name": metric.name, "value": metric.value}
        for metric in metrics
        if metric.value == metric.value
    ]
    rows = dataset or "test rows"
    about = {"type": rows, "name": rows} | ({} if findings.data is None else {"revision": findings.data.sha256})
    return {
        "name": findings.words.name or findings.model.estimator,
        "results": [{"task": {"type": task}, "dataset": about, "metrics": results}],
    }


def _yaml(value: Any, indent: int = 0) -> str:
    r"""Mappings and lists as YAML blocks; what is in them as JSON, which YAML contains.

    >>> print(_yaml({"tags": ["a", "b: c"], "n": 1.5}))
    tags:
      - "a"
      - "b: c"
    n: 1.5
    """
    lead = " " * indent
    if isinstance(value, Mapping):
        return "\n".join(f"{lead}{key}:{_nested(part, indent)}" for key, part in value.items())
    return "\n".join(f"{lead}- {_yaml(part, indent + 2).lstrip()}" for part in value) if isinstance(value, list) else (
        lead + _scalar(value)
    )  # fmt: skip


def _nested(part: Any, indent: int) -> str:
    if isinstance(part, Mapping | list):
        return f"\n{_yaml(part, indent + 2)}" if part else (" {}" if isinstance(part, Mapping) else " []")
    return f" {_scalar(part)}"


def _scalar(value: Any) -> str:
    return json.dumps(visible(value) if isinstance(value, str) else value, ensure_ascii=False)


# ---- what people read -----------------------------------------------------------------------------------------------


def _document(findings: Findings, license_name: str | None) -> Document:
    title = findings.words.name or findings.model.estimator
    sections = (
        _details(findings, license_name),
        _uses(findings),
        _limits(findings),
        _getting_started(findings),
        _training(findings),
        _evaluation(findings),
        Section("guarantees", "Guarantees", _brief(guarantees.dossier(findings).blocks)),
        Section("versions", "Technical specifications", _brief(reproduction.versions(findings).blocks)),
        Section("authors", "Model card authors and contact", (_pairs((("Owner", findings.words.owner),)),)),
    )
    return Document(title, "", (Paragraph(said(findings.words.purpose)),), sections)


def _brief(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Without pictures and headings, which a card has few of."""
    return tuple(block for block in blocks if isinstance(block, Paragraph | Note | Bullets | Table | Code))


def _pairs(rows: Sequence[tuple[str, str | None]]) -> Table:
    return Table("Statements of the owner", ("", ""), tuple((name, said(words)) for name, words in rows), left=(0, 1))


def _details(findings: Findings, license_name: str | None) -> Section:
    words = findings.words
    table = _pairs(
        (("Developed by", words.developer), ("Version", words.version), ("Date", words.date), ("License", license_name))
    )
    return Section("details", "Model details", (table, *_brief(method.dossier(findings).blocks)))


def _uses(findings: Findings) -> Section:
    words = findings.words
    rows = (
        ("Direct use", words.intended_use),
        ("Out-of-scope use", words.out_of_scope),
        ("Risk tier", words.risk_tier),
    )
    return Section("uses", "Uses", (_pairs(rows),))


def _limits(findings: Findings) -> Section:
    ethics = _pairs((("Ethical considerations", findings.words.ethical_considerations),))
    return Section("limits", "Bias, risks and limitations", (ethics, *_brief(limits.dossier(findings).blocks)))


def _training(findings: Findings) -> Section:
    blocks = (*data.dossier(findings).blocks, *method.parameters(findings).blocks)
    return Section("training", "Training details", _brief(blocks))


def _getting_started(findings: Findings) -> Section:
    code = Code(_START.format(name=findings.file.name or "model.safetensors"), "python")
    return Section("start", "How to get started with the model", (code,))


def _evaluation(findings: Findings) -> Section:
    assessment = findings.assessment
    if assessment is None:
        return Section("evaluation", "Evaluation", (Note("Not measured: no rows with targets were given.", "open"),))
    return Section(
        "evaluation",
        "Evaluation",
        (provenance(assessment), Paragraph(assessment.resampling.words), metric_table(assessment)),
    )
