"""Files that load slowly or take much memory: a search that climbs towards them, by counts, sizes and exponents.

What may be reached is drawn: columns, levels, knots, dims, members, outputs, how far exponents spread, promises, what
training needs; in pipeline files how often something is named, how deep, and what arrays claim; in checkpoints stages
and arrays. Each round starts somewhere, changes one count after the other, and keeps a change that made loading slower
(or larger) for a byte of the file. A file fails if it takes more CPU seconds, or more memory beside what the process
had, than the aim allows. Outcomes say how far files came: a file that is refused before its proofs shows little.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lambdak
from fuzzing.models import FOLDER
from fuzzing.slow_checkpoints import CHECKPOINT_COUNTS, checkpoint_file, take_up
from fuzzing.slow_models import CAPPED, MODEL_COUNTS, model_file, training_file
from fuzzing.slow_pipelines import PIPELINE_COUNTS, honest_pipeline, pipeline_file
from fuzzing.trial import TooMuchError, Trial, WrongError
from lambdak.store import ModelFileError

LARGEST = 1 << 20  # bytes of a file that the aim is about
SECONDS = 10.0  # of CPU
SPARE, TIMES = 48 << 20, 10  # bytes that any file may take, and this many times its length
FARTHEST = 192 << 20  # what the search for the farthest pair of cells takes at most, for a cap of a column
STEPS = 3  # files of one climb
GIVE_UP = 1.5 * SECONDS  # CPU seconds after which a child is stopped

Counts = dict[str, int]
File = tuple[str, bytes]  # its name, whose ending says how it is read

FAMILIES: dict[str, tuple[dict[str, tuple[int, int]], Callable[[Counts, int], File | None]]] = {
    "model": (MODEL_COUNTS, model_file),
    "training": (MODEL_COUNTS, training_file),
    "pipeline": (PIPELINE_COUNTS, pipeline_file),
    "checkpoint": (CHECKPOINT_COUNTS, checkpoint_file),
}
TURNS = ("model", "model", "model", "model", "training", "training", "pipeline", "pipeline", "checkpoint")


class Cost(NamedTuple):
    """What loading a file took."""

    seconds: float
    memory: int
    outcome: str

    def share(self, size: int, capped: bool) -> float:
        """The larger part of what is allowed."""
        return max(self.seconds / SECONDS, self.memory / (SPARE + FARTHEST * capped + TIMES * size))


# ---- the search ----------------------------------------------------------------------------------------------------


def target(trial: Trial) -> str:
    """Climb from one file to slower and larger ones; none may take more than the aim."""
    _read_one()
    seed = trial.seed()
    if not seed:  # with which Hypothesis begins every round: it would always be the same file
        return "no file"
    rng = np.random.default_rng(seed)
    family = str(rng.choice(TURNS))
    ranges, make = FAMILIES[family]
    counts, own, best, outcome = _drawn(rng, ranges), int(rng.integers(1 << 30)), -1.0, ""
    for _ in range(STEPS):
        other, file = _fitting(rng, _changed(rng, counts, ranges) if outcome else counts, ranges, make, own)
        took = cost(lambda file=file: read(*file))
        _check(trial, file, took, other)
        if (share := took.share(len(file[1]), _capped(other))) > best:
            best, counts, outcome = share, other, took.outcome
    trial.notes |= {"best": best, "counts": counts}
    slow = "in a second" if best * SECONDS < 1 else f"with {best:.0%} of what is allowed" if best > 0.5 else "slowly"
    return f"{family} {outcome} {slow}"


@cache
def _read_one() -> None:
    """Import all that reading takes, which is no file's cost."""
    if read(*honest_pipeline()) != "read":
        raise WrongError("an honest pipeline is not read")


def _fitting(
    rng: np.random.Generator, counts: Counts, ranges: dict[str, tuple[int, int]], make: Any, seed: int
) -> tuple[Counts, File]:
    """A file with these counts, some of them halved until it is small enough."""
    while True:
        file = make(counts, seed)
        if file is not None and len(file[1]) <= LARGEST:
            return counts, file
        name = str(rng.choice(sorted(ranges)))
        counts = {**counts, name: max(ranges[name][0], counts[name] // 2)}


def _check(trial: Trial, file: File, took: Cost, counts: Counts) -> None:
    name, data = file
    trial.kept[name], trial.notes["cost"] = data, took._asdict()
    if took.share(len(data), _capped(counts)) > 1:
        words = f"{took.seconds:.1f} s and {took.memory / 1e6:.0f} MB for {len(data):,} bytes"
        raise TooMuchError(f"{words}, {took.outcome}: {counts}")
    if took.outcome.startswith("wrong") or took.outcome == "stopped":
        raise WrongError(f"{took.outcome}: {counts}")


def _capped(counts: Counts) -> bool:
    """Whether a model has columns with caps."""
    return counts.get("promise") in CAPPED


def _drawn(rng: np.random.Generator, ranges: dict[str, tuple[int, int]]) -> Counts:
    """Counts of any order of magnitude."""
    return {name: _any(rng, *ends) for name, ends in ranges.items()}


def _any(rng: np.random.Generator, low: int, high: int) -> int:
    """Small or large, and often an end of the range."""
    if high - low < 9 or rng.random() < 0.1:
        return int(rng.integers(low, high + 1)) if high - low < 9 else int(rng.choice([low, high]))
    return int(min(high, low - 1 + np.exp(rng.uniform(0, np.log(high - low + 2)))))


def _changed(rng: np.random.Generator, counts: Counts, ranges: dict[str, tuple[int, int]]) -> Counts:
    """One or two counts drawn again, or made larger."""
    names = rng.choice(sorted(ranges), 1 + int(rng.random() < 0.4), replace=False)
    more = {
        name: _any(rng, *ranges[name]) if rng.random() < 0.5 else min(ranges[name][1], 3 * counts[name] // 2 + 1)
        for name in map(str, names)
    }
    return {**counts, **more}


# ---- what a load takes ---------------------------------------------------------------------------------------------


def read(name: str, data: bytes) -> str:
    """What becomes of a file that is read as its users do."""
    try:
        if name.endswith(".json"):
            lambdak.from_json(data.decode())
        else:
            path = FOLDER / f"slow-{os.getpid()}-{name}"
            path.write_bytes(data)
            if name.endswith(".checkpoint"):
                return take_up(path)
            lambdak.load(path)
    except ModelFileError as error:
        words = str(error)
        if "would take too long" in words:
            return "too long to prove"
        if "must be those of a Pipeline" in words:  # skops has built all of them
            return "built"
        return "not proven" if "is not proven" in words else "refused"
    return "read"


def cost(load: Callable[[], str]) -> Cost:
    """CPU seconds and peak memory of a call in a forked child, beside what the process had before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _measure_in_child(load, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return Cost(*pickle.loads(answer)) if answer else Cost(GIVE_UP, 0, "stopped")


def _measure_in_child(load: Callable[[], str], writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + GIVE_UP), resource.RLIM_INFINITY))
    _forget_peak()
    before, began = _peak(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = load()
    except BaseException as error:
        outcome = f"wrong: {type(error).__name__}: {str(error)[:200]}"
    answer = pickle.dumps((time.process_time() - began, max(0, _peak() - before), outcome))
    os.write(writing, answer)
    os._exit(0)


def _forget_peak() -> None:
    """A forked child starts with its parent's peak; Linux forgets it on request."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Bytes that the process had in memory at most."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
