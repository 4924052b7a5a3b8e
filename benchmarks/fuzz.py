"""Fuzzing: hostile files, texts, tables, parameters, commands, certificates and slow files, for as long as it is told.

    python benchmarks/fuzz.py --seconds 600
    python benchmarks/fuzz.py --only files tables --seconds 60
    python benchmarks/fuzz.py --only files --seed 17 --rounds 1    # a finding again

Targets take turns. A round is a few examples of one target, drawn by Hypothesis from a seed that is printed; what
fails is made as small as possible, and its input is written to build/fuzz/. The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import lambdak
from fuzzing import certificates, commands, files, parameters, slow, tables, texts
from fuzzing.trial import Trial

TARGETS: dict[str, tuple[Callable[[Trial], str], int]] = {  # with the examples of a round
    "files": (files.target, 100),
    "texts": (texts.target, 60),
    "tables": (tables.target, 12),
    "parameters": (parameters.target, 12),
    "commands": (commands.target, 12),
    "certificates": (certificates.target, 12),
    "slow": (slow.target, 3),
}
NOT_SHRUNK = ("slow",)  # whose findings take long, and are drawn from a seed, which no shrinking makes simpler
BUILD = Path(__file__).parent.parent / "build" / "fuzz"


@dataclass
class Tally:
    """What one target did."""

    examples: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)  # what went wrong → the command that repeats it


def run_round(name: str, seed: int, tally: Tally) -> None:
    """Some examples of one target."""
    target, examples = TARGETS[name]
    last: list[Trial] = []
    phases = [Phase.generate] if name in NOT_SHRUNK else [Phase.generate, Phase.shrink]

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=phases,
        suppress_health_check=list(HealthCheck), print_blob=False, report_multiple_bugs=False,
    )  # fmt: skip
    @given(st.data())
    def each(data: st.DataObject) -> None:
        trial = Trial(data)
        try:
            outcome = target(trial)
        except Exception as error:
            if key_of(error) not in tally.findings:
                last[:] = [trial]
                raise
            outcome = "found before"
        tally.examples += 1
        tally.outcomes[outcome] += 1

    began = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            each()
    except Exception as error:
        report(name, seed, error, last[-1] if last else None, tally)
    tally.seconds += time.monotonic() - began


def key_of(error: BaseException) -> str:
    """What makes two findings the same: the kind of error, and the place in the library, or the first words."""
    cause = error.__cause__ or error
    frames = [
        frame for frame in traceback.extract_tb(cause.__traceback__) if f"{os.sep}lambdak{os.sep}" in frame.filename
    ]
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(cause).__name__}{where}" if where else f"{type(error).__name__}: {str(error)[:60]}"


def report(name: str, seed: int, error: BaseException, trial: Trial | None, tally: Tally) -> None:
    """Say what was found, once for each place in the code, and keep its input."""
    key = key_of(error)
    again = f"python benchmarks/fuzz.py --only {name} --seed {seed} --rounds 1"
    tally.findings[key] = again
    folder = BUILD / f"{name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)), errors="backslashreplace")
    if trial is not None:
        for file, content in trial.kept.items():
            (folder / file).write_bytes(content)
        (folder / "notes.json").write_text(json.dumps(trial.notes, indent=1, default=repr))
    print(f"FOUND by {name}: {key}: {ascii(str(error))[:400]}\n  input in {folder}\n  again: {again}", flush=True)


def fuzz(names: list[str], seed: int, seconds: float, rounds: int | None) -> dict[str, Tally]:
    """Targets in turn until the time is up, or for so many rounds each."""
    tallies = {name: Tally() for name in names}
    began, done = time.monotonic(), 0
    while (done < rounds) if rounds else (time.monotonic() - began < seconds):
        for name in names:
            run_round(name, seed + done, tallies[name])
        done += 1
        if done & (done - 1) == 0:
            counts = ", ".join(f"{name} {tally.examples:,}" for name, tally in tallies.items())
            print(f"{time.monotonic() - began:6.0f} s  {counts}", flush=True)
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, help="rounds of each target, instead of seconds")
    parser.add_argument("--seed", type=int, help="of the first round; without it, the time")
    parser.add_argument("--only", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    arguments = parser.parse_args()
    seed = int(time.time()) if arguments.seed is None else arguments.seed
    os.environ["RUST_BACKTRACE"] = "0"  # polars panics at some columns, which are then not tried
    lambdak.set_num_threads(1)  # so that a limit on time is one on work
    print(f"fuzzing {', '.join(arguments.only)} from seed {seed}", flush=True)
    with threadpool_limits(1):
        tallies = fuzz(arguments.only, seed, arguments.seconds, arguments.rounds)
    print("\n| target | examples | seconds | findings | outcomes |\n|---|---|---|---|---|")
    for name, tally in tallies.items():
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in tally.outcomes.most_common())
        print(f"| {name} | {tally.examples:,} | {tally.seconds:.0f} | {len(tally.findings)} | {outcomes} |")
    sys.exit(any(tally.findings for tally in tallies.values()))


if __name__ == "__main__":
    main()
