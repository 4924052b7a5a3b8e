"""Whether figures come out again: how to compute them, with which versions, and how far other seeds are from them."""

from __future__ import annotations

from shlex import quote

import numpy as np

from lambdak.report.amounts import number, plural, share
from lambdak.report.document import Block, Code, Note, Paragraph, Section, Table
from lambdak.report.findings import Findings
from lambdak.store import ClaimedSignature

_LOAD = """import lambdak

model = lambdak.load({name!r})"""
_CHECK = """from lambdak.table.content_hash import content_hash, target_hash

# X and y are the table and the targets of section 2
assert content_hash(X, model.model_.encoder.feature_names) == {table!r}"""
_TARGET = """
assert target_hash(y) == {target!r}"""
_METRICS = """print(model.performance(X, y{beside}{output}, n_resamples={resamples}, random_state={seed}))"""
_WHOLE = """model.dossier("again.html", X, y{beside}, n_resamples={resamples}, random_state={seed}, exact={exact})"""
_PROOFS = """print(model.certify(exact={exact}))"""


def dossier(findings: Findings) -> Section:
    """Code and command lines."""
    name = findings.file.name or "model.safetensors"
    blocks: list[Block] = [Paragraph(_intro(findings)), Code(_python(findings, name), "python")]
    if findings.assessment is not None:
        blocks += [Paragraph("The same from a command line, with the table and its target in a file:"),
                   Code(_command(name), "sh")]  # fmt: skip
    points: tuple[str, ...] = ()
    if findings.file.name is None:
        blocks.append(Note("No model file was named: model_file= makes this document check and name it.", "open"))
        points = ("No model file was named (model_file).",)
    return Section("reproduction", "Reproduction", tuple(blocks), open_points=points)


def _intro(findings: Findings) -> str:
    checksum = findings.file.checksum
    model = f" The model's checksum (SHA-256, as its file holds it) is {checksum}." if checksum else ""
    seed = "with its settings and its seed" if findings.subject.seeded else "only approximately, because it had no seed"
    draws = plural(findings.options.resamples, "resample")
    return (
        f"These lines load the model, check that the table is the one that was used, and compute the figures again. "
        f"Intervals come from {draws} with the seed {findings.options.seed}. From the training rows the model can be "
        f"fitted again {seed}.{model}"
    )


def _python(findings: Findings, name: str) -> str:
    chosen = {"resamples": findings.options.resamples, "seed": findings.options.seed, "exact": findings.options.exact}
    parts = [_LOAD.format(name=name)]
    if findings.data is not None:
        target = "" if findings.data.target_sha256 is None else _TARGET.format(target=findings.data.target_sha256)
        parts.append(_CHECK.format(table=findings.data.sha256) + target)
    parts.append(_PROOFS.format(**chosen))
    if findings.assessment is not None and findings.data is not None:
        rows = findings.data.rows
        given = {"exposure": rows.exposure, "sample_weight": rows.weight, "offset": rows.offset}
        beside = "".join(f", {argument}={argument}" for argument, value in given.items() if value is not None)
        first = findings.assessment.outputs[0].label
        output = "" if first is None else f", output={first!r}"
        parts += [each.format(beside=beside, output=output, **chosen) for each in (_METRICS, _WHOLE)]
    return "\n\n".join(parts)


def _command(name: str) -> str:
    return f"lambdak dossier TABLE.csv --target COLUMN --model {quote(name)} --out dossier.html"


_SEEDS = """model.dossier(
    "dossier.html", X_test, y_test,
    X_train=X_train, y_train=y_train,  # with sample_weight_train and offset_train, if the fit had them
    seeds=5, progress=print,
)"""


def stability(findings: Findings) -> Section:
    """Return the spread over seeds, or how to compute it."""
    steady = findings.stability
    if steady is None:
        note = "Not run: it fits the model again with other seeds, and needs the training rows. This call runs it:"
        points = ("Stability over seeds was not run: it needs X_train, y_train and seeds.",)
        return Section("stability", "Stability over seeds", (Note(note, "open"), Code(_SEEDS, "python")), (), points)
    names = [metric.name for metric in steady.metrics[0]]
    rows = []
    for i, name in enumerate(names):
        values = np.array([metrics[i].value for metrics in steady.metrics])
        rows.append((name, *map(number, (values.min(), values.mean(), values.max(), values.std(ddof=1)))))
    table = Table("Metrics of the fits", ("Metric", "Least", "Mean", "Largest", "Standard deviation"), tuple(rows))
    middle, high = np.quantile(steady.spread, [0.5, 0.95])
    scale = f", {share(float(middle / steady.size))} of the spread of raw scores over the rows" if steady.size else ""
    words = (
        f"The raw score of a row has a standard deviation over the fits of {number(float(middle))} in the middle"
        f"{scale}, and of {number(float(high))} or less for 95 % of the rows."
    )
    head = (
        f"The model was fitted again {plural(len(steady.seeds), 'time')} with the settings of section 4 and the seeds "
    )
    seeds = ", ".join(map(str, steady.seeds))
    intro = f"{head}{seeds}, and each fit was asked about the same rows."
    blocks = (Paragraph(intro), table, Paragraph(words))
    return Section("stability", "Stability over seeds", blocks)


def versions(findings: Findings) -> Section:
    """Return what the figures were computed with, and who signed the file of the model."""
    table = Table("Versions", ("", "Version"), tuple(findings.versions.items()), left=(0, 1))
    return Section("versions", "Versions and signature", (table, *_signature(findings)))


def _signature(findings: Findings) -> tuple[Paragraph | Note | Table, ...]:
    signature = findings.file.signature
    if findings.file.name is None:
        return (Paragraph("No model file was named, so that nothing can be said about a signature."),)
    if signature is None:
        return (Paragraph(f"The model file {findings.file.name} is not signed."),)
    rows = (
        ("Signer", signature.signer),
        ("Time", signature.time.isoformat()),
        ("Fingerprint of the key", signature.fingerprint),
    )
    table = Table(f"Signature of {findings.file.name}", ("", ""), rows, left=(0, 1))
    if isinstance(signature, ClaimedSignature):
        words = "This is what the file says. It was not verified: give public_key, that of somebody you trust."
        return table, Note(words, "open")
    return table, Note("The signature was verified with the public key that was given.", "good")
