"""A dossier: one document about a model, in the order in which a validator or a regulator reads, in three formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from lambdak import atomic
from lambdak._checks import check_int
from lambdak.governance.performance.bootstrap import RESAMPLES
from lambdak.losses import LOG, Loss
from lambdak.model.rows import check_exposure
from lambdak.report.card import card_text
from lambdak.report.document import Document
from lambdak.report.findings import Findings, Options, compute_all
from lambdak.report.findings.fit import SEEN, Progress
from lambdak.report.findings.fit import model_file as file_of
from lambdak.report.html import to_html
from lambdak.report.markdown import to_markdown
from lambdak.report.pictures import check_pictures
from lambdak.report.sections import DOSSIER, front
from lambdak.report.sections.front import TASKS
from lambdak.report.sections.words import appendix
from lambdak.report.subject import Refittable, owner_words
from lambdak.report.word import check_docx, to_docx
from lambdak.table.rows import Rows, optional_read
from lambdak.table.visible import warn_user

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey

__all__ = ["Refittable", "dossier_findings", "write_card", "write_dossier"]

Writer = Callable[[Path, Document], None]

_SEEDS = 5  # that a model is fitted with again, if training rows are given
_MOST_SEEDS = 1_000
_SEARCH = 2_000  # pairs of rows that the search for counterexamples tries
_FEW_COLUMNS = 20  # with more, its time grows with their square, and it is only done if it is requested


def write_dossier(
    subject: Refittable,
    path: str | os.PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    **options: Any,
) -> Path:
    """Write the dossier of a model, and return its path; its format is that of the file's name.

    Parameters
    ----------
    subject
        The fitted model.
    path
        A file that ends in ``.html`` (one file, nothing else is loaded), ``.docx`` (Word), or ``.md`` (Markdown, with
        the pictures in a folder ``NAME_pictures`` beside it).
    X, y
        Rows to describe and to measure the model on, best those that the fit did not see. Whether it saw them is found
        out, never assumed, as in a report: ``X_train`` lets rows be compared one by one; otherwise the ranges that the
        model keeps tell. Rows that look like those of training are named as such, in the document and in a warning.
        Without rows, the document says what was not measured.
    options
        See :func:`dossier_findings`.
    """
    write = _writer(path)
    check_pictures()
    findings = dossier_findings(subject, X, y, **options)
    write(Path(path), document(findings))
    return Path(path)


def dossier_findings(
    subject: Refittable,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    sample_weight_train: ArrayLike | None = None,
    offset_train: ArrayLike | None = None,
    exposure_train: ArrayLike | None = None,
    seeds: int | None = None,
    n_resamples: int = RESAMPLES,
    random_state: int = 0,
    exact: bool = True,
    search: int | None = None,
    model_file: str | os.PathLike[str] | None = None,
    public_key: PublicKey | None = None,
    progress: Progress | None = None,
    **words: str | None,
) -> Findings:
    """Return everything that a dossier says.

    Parameters
    ----------
    subject, X, y
        As in :func:`write_dossier`.
    sample_weight, offset, exposure
        Of these rows, as in :func:`lambdak.governance.performance.performance`.
    X_train, y_train, sample_weight_train, offset_train, exposure_train
        What the model was fitted to. Rows are then compared with these, and the model is fitted again with other seeds.
    seeds : int, optional
        How many; None is 5 if training rows are given with their targets, and 0 leaves it out.
    n_resamples, random_state
        Of the confidence intervals.
    exact : bool
        Whether every proof is made in integers.
    search : int, optional
        Pairs of rows of the search for counterexamples, see :func:`lambdak.certify.verify`; None is 2,000 for models of
        up to 20 columns, and 0 leaves it out.
    model_file, public_key
        The file that the model was saved to, and the public key of somebody you trust if it is signed.
    progress : callable, optional
        Called with a sentence at each step, such as ``print``.
    words
        What only the owner can say: ``name``, ``version``, ``purpose``, ``intended_use``, ``owner``, … See
        :class:`lambdak.report.subject.OwnerWords`. What is not given is marked as to be completed.
    """
    owner = owner_words(words)
    rows = optional_read(X, y, sample_weight, offset, exposure)
    training = optional_read(X_train, y_train, sample_weight_train, offset_train, exposure_train, suffix="_train")
    many = _seed_count(seeds, rows, training)
    if training is not None:
        _check_exposures(subject.model.loss, rows, training, many)
    chosen = Options(many, n_resamples, random_state, exact, _search_size(search, subject))
    file = file_of(subject.saved, model_file, public_key)
    found = compute_all(Findings(
        subject.model, rows, rows, training, chosen, training is not None, fitted=subject, words=owner, file=file,
        progress=progress or (lambda words: None),
    ))  # fmt: skip
    if found.assessment is not None and found.assessment.likeness.seen:
        warn_user(f"{SEEN} {found.assessment.likeness.words} Give rows that the fit did not see")
    return found


def document(findings: Findings) -> Document:
    """Return the first page, all sections in the order of reading, and the appendix."""
    sections = [build(findings) for build in DOSSIER]
    title = findings.words.name or f"{findings.model.estimator}: model dossier"
    subtitle = f"Model documentation for validation: {TASKS[findings.model.loss.predicts]} with proven guarantees"
    return Document(title, subtitle, front.dossier(findings, sections), (*sections, appendix(sections)))


def write_card(
    subject: Refittable,
    path: str | os.PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    license: str | None = None,
    tags: Sequence[str] = (),
    dataset: str | None = None,
    **options: Any,
) -> Path:
    """Write a model card, as model hubs show it, and return its path: YAML for programs, then Markdown for people.

    Parameters
    ----------
    subject
        The fitted model.
    path
        A file that ends in ``.md``, such as ``README.md``.
    X, y
        Rows that the fit did not see, for the metrics.
    license : str, optional
        As hubs spell it, such as "bsd-3-clause".
    tags : sequence of str
        In addition to those of the task.
    dataset : str, optional
        Name of the data set.
    options
        See :func:`dossier_findings`. The model is fitted with other seeds only if ``seeds`` is given.
    """
    if Path(path).suffix.lower() != ".md":
        raise ValueError(f"path must end in .md; got {os.fspath(path)!r}")
    found = dossier_findings(subject, X, y, **{"seeds": 0} | options)
    atomic.write_text(path, card_text(found, license, tags, dataset))
    return Path(path)


def _check_exposures(loss: Loss, rows: Rows | None, training: Rows, seeds: int) -> None:
    """Refuse exposures that a fit would refuse, and to fit totals as if they were rates."""
    if training.exposure is not None:
        check_exposure(loss, training.offset, "exposure_train")
    counted = any(values is not None for values in (training.exposure, training.offset, training.weight))
    if seeds and loss.link is LOG and rows is not None and rows.exposure is not None and not counted:
        raise ValueError(
            "exposure_train must be given where exposure is, so that the model is fitted again as it was; if it was "
            "fitted otherwise, give offset_train or sample_weight_train, or seeds=0"
        )


def _seed_count(seeds: int | None, rows: Rows | None, training: Rows | None) -> int:
    ready = training is not None and training.y is not None and rows is not None and rows.y is not None
    if seeds is None:
        return _SEEDS if ready else 0
    many = check_int(seeds, "seeds", 0, _MOST_SEEDS)
    if many and not ready:
        raise ValueError("seeds needs rows to fit and to compare: give X_train, y_train, X and y, or seeds=0")
    if many == 1:
        raise ValueError("seeds must be 0, or at least 2, to say something about their spread; got 1")
    return many


def _search_size(search: int | None, subject: Refittable) -> int:
    if search is None:
        return _SEARCH if len(subject.names) <= _FEW_COLUMNS else 0
    return check_int(search, "search", 0, 2**31)


def _writer(path: str | os.PathLike[str]) -> Writer:
    ending = Path(path).suffix.lower()
    if ending not in WRITERS:
        raise ValueError(f"path must end in {', '.join(WRITERS)}, which is the format; got {os.fspath(path)!r}")
    if ending == ".docx":
        check_docx()
    return WRITERS[ending]


def _write_html(path: Path, written: Document) -> None:
    atomic.write_text(path, to_html(written))


def _write_docx(path: Path, written: Document) -> None:
    atomic.write_bytes(path, to_docx(written))


def _write_markdown(path: Path, written: Document) -> None:
    """Pictures first: if something fails between, the older text still finds its own."""
    folder = path.with_name(f"{path.stem}_pictures")
    text, pictures = to_markdown(written, folder.name)
    if pictures:
        folder.mkdir(exist_ok=True)
    for name, png in pictures.items():
        atomic.write_bytes(folder / name, png)
    atomic.write_text(path, text)


WRITERS: dict[str, Writer] = {".html": _write_html, ".md": _write_markdown, ".docx": _write_docx}
