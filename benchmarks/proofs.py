"""Both ways to certify, load and the independent checker: do they agree with one another, and with what is true.

    python benchmarks/proofs.py --models 2000 --tampered 10000

Random models of all kinds, honest and tampered with; what is true of them is decided with fractions, by code of its own
(rational.py). The exit code is 1 if any two disagree about a promise:

- what is false must be accepted by nobody, and classes out of order neither by load nor by the checker;
- what the checker calls proven as a whole, ``load`` accepts;
- what is true must be proven by both ways of ``certify`` and refuted by nobody. Two things may be true and still not
  certified: promises of models whose computed raw scores err by too much, and caps that are met by less than the
  rounding that a certificate adds to them. Those are counted as "true, within rounding".
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import lambdak
from lambdak.certify import certify
from lambdak.certify.certificate import Claim
from lambdak.store import ModelFileError
from random_models import FITTED, Subject, random_subject
from rational import Key, truths
from tampering import tampered

CHECKER = Path(lambdak.__file__).parent / "certify" / "lambdak_check.py"
NOISE = "computing a raw score can err by"  # what a certificate says if rounding matters
_PER_COLUMN = ("monotone", "influence")
_CAP_ROUNDING = 1e-11  # relative: what bounds on norms may add


@dataclass
class Row:
    """Counts of one line of the table."""

    counts: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def __iadd__(self, other: Row) -> Row:
        self.counts += other.counts
        self.disagreements += other.disagreements
        return self


def key_of(kind: str, subject: str) -> Key:
    return kind, subject if kind in _PER_COLUMN else ""


# ---- the independent checker -------------------------------------------------------------------------------------


@cache
def checker_module(path: str) -> ModuleType | None:
    spec = importlib.util.spec_from_file_location("lambdak_check", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module if hasattr(module, "main") else None


def checked(checker: str, file: Path) -> tuple[int, dict[Key, str]]:
    """Its exit code, and its verdict on each promise."""
    module = checker_module(checker)
    if module is None:
        done = subprocess.run([sys.executable, checker, str(file), "--json"], capture_output=True, text=True)
        code, text = done.returncode, done.stdout
    else:
        code, text = _in_process(module, file)
    claims = json.loads(text)["claims"] if code in (0, 1) and text else []
    return code, {key_of(each["kind"], each["subject"]): each["verdict"] for each in claims if each["requested"]}


def _in_process(module: ModuleType, file: Path) -> tuple[int, str]:
    before, output = sys.argv, io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.argv = ["lambdak_check.py", str(file), "--json"]
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            try:
                code = module.main()
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 2
    finally:
        sys.argv = before
    output.seek(0)
    return int(code or 0), output.read()


# ---- one model ---------------------------------------------------------------------------------------------------


def within_rounding(claim: Claim, cap: float | None) -> bool:
    """Whether a promise may be true and still not certified."""
    if NOISE in claim.how:
        return True
    if claim.kind != "influence" or cap is None or claim.value is None or claim.margin is None:
        return False
    return claim.value - cap <= 2.1 * claim.margin + _CAP_ROUNDING * claim.value


def compare(subject: Subject, name: str, checker: str | None, file: Path) -> Row:
    """All verdicts about one model."""
    row = Row(Counter(models=1))
    fast, exact = certify(subject.model), certify(subject.model, exact=True)
    true = truths(subject.model)
    file.write_bytes(subject.file())
    loaded = loads(file)
    code, verdicts = (None, {}) if checker is None else checked(checker, file)

    def disagree(words: str) -> None:
        row.disagreements.append(f"{name}: {subject.kind}, dim {subject.model.dim}: {words}")

    if [*map(said, fast.claims)] != [*map(said, exact.claims)]:
        pairs = zip(map(said, fast.claims), map(said, exact.claims), strict=True)
        disagree(f"certify and exact: {[pair for pair in pairs if pair[0] != pair[1]]}")
    caps = {subject.model.encoder.columns[i].name: cap for i, cap in subject.model.promises.capped.items()}
    claims = {key_of(claim.kind, claim.subject): claim for claim in fast.claims if claim.requested}
    if set(claims) != set(true):
        disagree(f"promises of the certificate {sorted(claims)}, of the model {sorted(true)}")
    excused = False
    for key, claim in claims.items():
        near = within_rounding(claim, caps.get(claim.subject))
        excused |= near and not claim.proven
        for words in disagreements(claim, near, true.get(key), verdicts.get(key)):
            disagree(f"{key}: {words}")
        row.counts["checker undecided"] += verdicts.get(key) == "not proven" and claim.proven
        row.counts["too close to say"] += true.get(key, True) is None
    broken = False in true.values()
    row.counts += Counter(broken=broken, proven=fast.holds, refuted=not fast.holds)
    row.counts["true, within rounding"] += not broken and not fast.holds and excused
    if disordered(subject):  # which ``certify`` is not asked about: it takes a model as it is
        row.counts += Counter(broken=1, caught=not loaded and code != 0)
        if loaded or code == 0:
            disagree(f"its classes are out of order, but load says {loaded}, and the checker {code}")
        return row
    excused_by_norms = any(close_to_cap(claims[key], caps.get(claims[key].subject)) for key in claims)
    if code == 0 and not loaded and not excused_by_norms:
        disagree("the checker says that all is proven, but load refuses it")
    accepted = [
        who
        for who, ok in (("certify", fast.holds), ("exact", exact.holds), ("load", loaded), ("checker", code == 0))
        if ok
    ]
    row.counts["caught"] += broken and not accepted
    if broken and accepted:
        disagree(f"it breaks {[key for key, ok in true.items() if ok is False]}, but {', '.join(accepted)} accept it")
    if loaded != fast.holds:
        disagree(f"load says {loaded}, certify {fast.holds}")
    return row


def disordered(subject: Subject) -> bool:
    """Whether the labels of the classes do not increase."""
    classes = subject.model.classes
    return classes is not None and not bool((classes[:-1] < classes[1:]).all())


def close_to_cap(claim: Claim, cap: float | None) -> bool:
    """Whether a cap is met by less than bounds on norms in float64 may add, rounding of scores apart."""
    if claim.proven or claim.kind != "influence" or cap is None or claim.value is None:
        return False
    return claim.value - cap <= _CAP_ROUNDING * claim.value


def disagreements(claim: Claim, near: bool, true: bool | None, verdict: str | None) -> list[str]:
    """What is wrong about the verdicts on one promise."""
    found = []
    if true is False and claim.proven:
        found.append("false, but certified")
    if true is True and not claim.proven and not near:
        found.append(f"true, but not certified: {claim.how}")
    if verdict == "proven" and true is False:
        found.append("false, but proven by the checker")
    if verdict == "refuted" and (true is True or claim.proven):
        found.append("true, but refuted by the checker")
    if verdict == "proven" and not claim.proven and not near:
        found.append("proven by the checker, but not certified")
    return found


def said(claim: Claim) -> tuple[Any, ...]:
    return claim.kind, claim.subject, claim.proven, claim.requested


def loads(file: Path) -> bool:
    try:
        lambdak.load(file)
    except ModelFileError:
        return False
    return True


def work(seed: int, number: int, per_model: int, checker: str | None) -> dict[tuple[str, str], Row]:
    """One honest model, and some that it was tampered with to be."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, number])
    subject = random_subject(rng, list(FITTED)[number % len(FITTED)])
    rows: dict[tuple[str, str], Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        rows["honest", subject.kind] = compare(subject, f"model {number}", checker, file)
        for i in range(per_model):
            way, other = tampered(rng, subject)
            found = compare(other, f"model {number}, tampered {i} ({way})", checker, file)
            rows["tampered", way] = _added(rows.get(("tampered", way)), found)
    return rows


def _alone() -> None:
    """Processes are the parallelism here."""
    lambdak.set_num_threads(1)
    threadpool_limits(1)


def _added(row: Row | None, other: Row) -> Row:
    if row is None:
        return other
    row += other
    return row


# ---- all of them -------------------------------------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> dict[tuple[str, str], Row]:
    checker = None if arguments.without_checker else str(arguments.checker)
    per_model = -(-arguments.tampered // arguments.models)
    each = partial(work, arguments.seed, per_model=per_model, checker=checker)
    total: dict[tuple[str, str], Row] = {}
    began = time.monotonic()
    with ProcessPoolExecutor(arguments.jobs, initializer=_alone) as pool:
        for done, rows in enumerate(pool.map(each, range(arguments.models), chunksize=2), 1):
            for key, row in rows.items():
                for words in row.disagreements:
                    print(f"DISAGREEMENT {words}", flush=True)
                total[key] = _added(total.get(key), row)
            if done % max(1, arguments.models // 10) == 0:
                print(f"{time.monotonic() - began:6.0f} s  {done:,} models", file=sys.stderr, flush=True)
    return total


def show(total: dict[tuple[str, str], Row]) -> int:
    """Two tables, and the number of disagreements."""
    honest = ("models", "proven", "refuted", "true, within rounding", "checker undecided")
    changed = ("models", "broken", "caught", "proven", "refuted", "true, within rounding", "checker undecided")
    for what, names, first in (("honest", honest, "kind of model"), ("tampered", changed, "tampered with")):
        rows = {kind: row for (own, kind), row in sorted(total.items()) if own == what}
        print(f"\n| {first} | {' | '.join(names)} | disagreements |\n|---|{'---|' * (len(names) + 1)}")
        whole = Row()
        for row in rows.values():
            whole = _added(whole, row)
        for kind, row in (*rows.items(), ("all", whole)):
            print(f"| {kind} | {' | '.join(f'{row.counts[name]:,}' for name in names)} | {len(row.disagreements)} |")
    return sum(len(row.disagreements) for row in total.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument(
        "--tampered", type=int, default=10_000, help="in all; each model is tampered with equally often"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--checker", type=Path, default=CHECKER, help="the independent checker")
    parser.add_argument("--without-checker", action="store_true")
    arguments = parser.parse_args()
    if not arguments.without_checker and not arguments.checker.is_file():
        parser.error(f"no file {arguments.checker}: give it with --checker, or omit it with --without-checker")
    lambdak.show_config()
    sys.exit(1 if show(run(arguments)) else 0)


if __name__ == "__main__":
    main()
