"""Certificates of random models with changed last bits: both ways to prove agree, and what is refuted is not loaded."""

from __future__ import annotations

import numpy as np

import lambdak
from fuzzing.models import FOLDER
from fuzzing.trial import Trial, WrongError, answered, at_most
from lambdak.certify import certify
from lambdak.store import ModelFileError
from random_models import FITTED, Subject, random_subject

SECONDS = 120.0


def target(trial: Trial) -> str:
    """Change the last bits of some numbers of a random model."""
    rng = np.random.default_rng(trial.seed())
    subject = random_subject(rng, trial.pick(list(FITTED)))
    coef = subject.model.coef.copy()
    width = subject.model.matrices.shape[-1]
    for _ in range(trial.below(6)):
        at = (trial.below(coef.shape[0]), trial.below(coef.shape[1]), trial.below(width))
        coef[at] = changed(trial, float(coef[at]), coef[at[0], trial.below(coef.shape[1]), at[2]])
    other = Subject(subject.kind, subject.model.replace(coef=coef), subject.parameters)
    data = other.file()
    trial.kept["model.safetensors"] = data
    trial.notes |= {"kind": subject.kind, "dim": subject.model.dim}
    with at_most(SECONDS):
        return compared(other, data)


def changed(trial: Trial, number: float, other: float) -> float:
    """A few units in the last place, the number of another knot, or a little more."""
    near = float(np.nextafter(number, trial.pick([-np.inf, np.inf])))
    return trial.pick([near, other, float(np.nextafter(other, -np.inf)), 0.0, -number, number * (1 + 1e-12)])


def compared(subject: Subject, data: bytes) -> str:
    fast, exact = certify(subject.model), certify(subject.model, exact=True)
    verdicts = [[(claim.kind, claim.subject, claim.proven) for claim in own.claims] for own in (fast, exact)]
    if verdicts[0] != verdicts[1]:
        raise WrongError(f"the proofs disagree: {[pair for pair in zip(*verdicts, strict=True) if pair[0] != pair[1]]}")
    path = FOLDER / "certified.safetensors"
    path.write_bytes(data)
    loaded = answered(lambda: lambdak.load(path), (ModelFileError,))
    if isinstance(loaded, Exception) == fast.holds:
        raise WrongError(f"certified: {fast.holds}, but load says {loaded!r:.300}")
    return "proven" if fast.holds else "refuted"
