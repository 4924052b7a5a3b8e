"""How to compute the figures of the document again, starting from the model's file and the table."""

from __future__ import annotations

from shlex import quote

from lambdak.report.amounts import plural
from lambdak.report.document import Block, Code, Note, Paragraph, Section
from lambdak.report.findings import Findings

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


def dossier(found: Findings) -> Section:
    """Code and command lines."""
    name = found.file.name or "model.safetensors"
    blocks: list[Block] = [Paragraph(_intro(found)), Code(_python(found, name), "python")]
    if found.assessment is not None:
        blocks += [Paragraph("The same from a command line, with the table and its target in a file:"),
                   Code(_command(name), "sh")]  # fmt: skip
    points: tuple[str, ...] = ()
    if found.file.name is None:
        blocks.append(Note("No model file was named: model_file= makes this document check and name it.", "open"))
        points = ("No model file was named (model_file).",)
    return Section("reproduction", "Reproduction", tuple(blocks), open_points=points)


def _intro(found: Findings) -> str:
    checksum = found.file.checksum
    model = f" The model's checksum (SHA-256, as its file holds it) is {checksum}." if checksum else ""
    seed = "with its settings and its seed" if found.subject.seeded else "only approximately, because it had no seed"
    draws = plural(found.options.resamples, "resample")
    return (
        f"These lines load the model, check that the table is the one that was used, and compute the figures again. "
        f"Intervals come from {draws} with the seed {found.options.seed}. From the training rows the model can be "
        f"fitted again {seed}.{model}"
    )


def _python(found: Findings, name: str) -> str:
    chosen = {"resamples": found.options.resamples, "seed": found.options.seed, "exact": found.options.exact}
    parts = [_LOAD.format(name=name)]
    if found.data is not None:
        target = "" if found.data.target_sha256 is None else _TARGET.format(target=found.data.target_sha256)
        parts.append(_CHECK.format(table=found.data.sha256) + target)
    parts.append(_PROOFS.format(**chosen))
    if found.assessment is not None and found.data is not None:
        rows = found.data.rows
        given = {"exposure": rows.exposure, "sample_weight": rows.weight, "offset": rows.offset}
        beside = "".join(f", {own}={own}" for own, value in given.items() if value is not None)
        first = found.assessment.outputs[0].label
        output = "" if first is None else f", output={first!r}"
        parts += [each.format(beside=beside, output=output, **chosen) for each in (_METRICS, _WHOLE)]
    return "\n\n".join(parts)


def _command(name: str) -> str:
    return f"lambdak dossier TABLE.csv --target COLUMN --model {quote(name)} --out dossier.html"
