"""Both ways to certify, load and the independent checker: do they agree with one another, and with what is true.

    python benchmarks/proofs.py --models 2000 --tampered 10000
    python benchmarks/proofs.py --models 2000 --tampered 10000 --into proofs.jsonl --slice 200    # until all are done

Random models of all kinds, honest and tampered with, two thirds of them with random combinations of all shapes that do
not contradict each other; what is true of them is decided with fractions, by code of its own (shape_truths.py,
rational.py). With ``--into`` counts are kept in a file, and the same command continues where the last one ended. The
exit code is 1 if any two disagree about a promise:

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
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "cases"))

from rational import Key
from shape_truths import key_of, truths
from threadpoolctl import threadpool_limits

import lambdak
from lambdak.certify import certify
from lambdak.certify.certificate import Claim
from lambdak.model import Model
from lambdak.store import ModelFileError
from random_models import KINDS, Subject, random_subject
from tampering import tampered

CHECKER = Path(lambdak.__file__).parent / "certify" / "lambdak_check.py"
NOISE = "computing a raw score can err by"  # what a certificate says if rounding matters
_CAPPED = ("influence", "joint influence", "slope")  # claims whose value must not exceed a number
_ORDERS = ("quantiles", "cut-points", "survival")  # claims about the order of all outputs
_CAP_ROUNDING = 1e-11  # relative: what bounds on norms may add
_WORST = ("refuted", "not proven", "proven")  # verdicts of the checker


@dataclass
class Row:
    """Counts of one line of the table."""

    counts: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def __iadd__(self, other: Row) -> Row:
        self.counts += other.counts
        self.disagreements += other.disagreements
        return self


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
    found: dict[Key, str] = {}
    for each in (each for each in claims if each["requested"]):
        key = each["kind"], each["subject"]
        found[key] = min(found.get(key, "proven"), each["verdict"], key=_WORST.index)
    return code, found


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
    if claim.kind not in _CAPPED or cap is None or claim.value is None:
        return False
    return claim.value - cap <= 2.1 * (claim.margin or 0.0) + _CAP_ROUNDING * claim.value


@dataclass(frozen=True)
class Verdicts:
    """What everybody says about one model."""

    true: dict[Key, bool | None]  # by definition
    fast: dict[Key, Claim]  # of several claims about the same, one that is not proven
    exact: dict[Key, Claim]
    checker: dict[Key, str]
    code: int | None  # of the checker; None without it
    loaded: bool

    @classmethod
    def of(cls, subject: Subject, checker: str | None, file: Path) -> Verdicts:
        """Ask all of them."""
        file.write_bytes(subject.file())
        fast, exact = (_by_key(certify(subject.model, exact=own).claims) for own in (False, True))
        code, found = (None, {}) if checker is None else checked(checker, file)
        return cls(truths(subject.model), fast, exact, found, code, loads(file))

    @property
    def accepted(self) -> list[str]:
        """Who says that everything is kept."""
        said = (
            ("certify", all(claim.proven for claim in self.fast.values())),
            ("exact", all(claim.proven for claim in self.exact.values())),
            ("load", self.loaded),
            ("checker", self.code == 0),
        )
        return [who for who, ok in said if ok]


def _by_key(claims: Iterable[Claim]) -> dict[Key, Claim]:
    found: dict[Key, Claim] = {}
    for claim in claims:
        key = claim.kind, "all" if claim.kind in _ORDERS else claim.subject
        if claim.requested and (key not in found or not claim.proven):
            found[key] = claim
    return found


def caps_of(model: Model) -> dict[Key, float]:
    """The number that the value of a claim must not exceed."""
    found: dict[Key, float] = {}
    for shape in model.promises.shapes:
        cap = getattr(shape, "cap", getattr(shape, "limit", None))
        if cap is not None:
            key = key_of(model, shape)
            found[key] = min(cap, found.get(key, cap))
    return found


def compare(subject: Subject, name: str, checker: str | None, file: Path) -> tuple[Row, dict[str, Row]]:
    """All verdicts about one model, and those about each of its shapes."""
    if unplaced(subject.model):
        return refused(subject, name, checker, file), {}
    said, caps = Verdicts.of(subject, checker, file), caps_of(subject.model)
    near = {key: within_rounding(claim, caps.get(key)) for key, claim in said.fast.items()}
    row = Row(Counter(models=1))
    wrong: dict[Key, list[str]] = {key: [] for key in {*said.fast, *said.true}}
    for key, claim in said.fast.items():
        found = disagreements(claim, near[key], said.true.get(key), said.checker.get(key), said.code)
        if key in said.exact and said.exact[key].proven != claim.proven:
            found.append(f"certify says {claim.proven}, exact {said.exact[key].proven}: {said.exact[key].how}")
        wrong[key] += found
    if set(said.fast) != set(said.true):
        wrong["promises", "all"] = [f"certificate {sorted(said.fast)}, model {sorted(said.true)}"]
    if said.code in (0, 1) and set(said.checker) != set(said.true):
        wrong["promises", "checker"] = [f"checker {sorted(said.checker)}, model {sorted(said.true)}"]
    whole = on_the_whole(subject, said, any(close_to_cap(claim, caps.get(key)) for key, claim in said.fast.items()))
    where = f"{name}: {subject.kind}, dim {subject.model.dim}, {type(subject.model.loss).__name__}"
    row.disagreements += [f"{where}: {key}: {words}" for key, found in wrong.items() for words in found]
    row.disagreements += [f"{where}: {words}" for words in whole]
    count_(row, subject, said, near)
    return row, dict(per_shape(subject, said, wrong))


def unplaced(model: Model) -> bool:
    """Whether a shape does not fit its columns, such as an anchor without a knot: no estimator makes such a model."""
    try:
        for shape in model.promises.shapes:
            shape.placed(model.encoder.columns)
    except ValueError:
        return True
    return False


def refused(subject: Subject, name: str, checker: str | None, file: Path) -> Row:
    """What load and the checker, which certify is not asked to replace, say of a model that no estimator makes."""
    file.write_bytes(subject.file())
    code, _ = (None, {}) if checker is None else checked(checker, file)
    row, late = Row(Counter(models=1, broken=1, refuted=1)), loads(file) or code == 0
    row.counts["caught"] += not late
    row.disagreements += [
        f"{name}: a shape does not fit its columns, but load or the checker ({code}) accept it"
    ] * late
    return row


def count_(row: Row, subject: Subject, said: Verdicts, near: dict[Key, bool]) -> None:
    """Add the counts of one model."""
    broken, holds = False in said.true.values() or disordered(subject), "certify" in said.accepted
    excused = any(near[key] and not claim.proven for key, claim in said.fast.items())
    row.counts += Counter(broken=broken, proven=holds, refuted=not holds)
    row.counts["caught"] += broken and not (said.loaded or said.code == 0)
    row.counts["true, within rounding"] += not broken and not holds and excused
    row.counts["too close to say"] += sum(answer is None for answer in said.true.values())
    row.counts["checker undecided"] += sum(
        said.checker.get(key) == "not proven" and claim.proven for key, claim in said.fast.items()
    )


def per_shape(subject: Subject, said: Verdicts, wrong: dict[Key, list[str]]) -> Iterator[tuple[str, Row]]:
    """Counts of each class of shapes."""
    names = {type(shape).__name__ for shape in subject.model.promises.shapes}
    for name in sorted(names):
        keys = {key_of(subject.model, own) for own in subject.model.promises.shapes if type(own).__name__ == name}
        own = Row(Counter(models=1))
        for key in keys & set(said.fast):
            own.counts["promises"] += 1
            own.counts["true"] += said.true.get(key) is True
            own.counts["broken"] += said.true.get(key) is False
            own.counts["proven"] += said.fast[key].proven
            own.counts["checker proves"] += said.checker.get(key) == "proven"
            own.counts["checker refutes"] += said.checker.get(key) == "refuted"
            own.disagreements += wrong[key]
        yield name, own


def on_the_whole(subject: Subject, said: Verdicts, excused: bool) -> list[str]:
    """What is wrong about the verdicts on a model as a whole."""
    holds, broken = "certify" in said.accepted, [key for key, ok in said.true.items() if ok is False]
    if disordered(subject):  # which ``certify`` is not asked about: it takes a model as it is
        late = said.loaded or said.code == 0
        return [f"its classes are out of order, but load says {said.loaded}, and the checker {said.code}"] * late
    found = []
    if said.code == 0 and not said.loaded and not excused:
        found.append("the checker says that all is proven, but load refuses it")
    if said.code == 2 and said.loaded:
        found.append("the checker cannot read what load accepts")
    if broken and said.accepted:
        found.append(f"it breaks {broken}, but {', '.join(said.accepted)} accept it")
    if said.loaded != holds:
        found.append(f"load says {said.loaded}, certify {holds}")
    return found


def disordered(subject: Subject) -> bool:
    """Whether the labels of the classes do not increase."""
    classes = subject.model.classes
    return classes is not None and not bool((classes[:-1] < classes[1:]).all())


def close_to_cap(claim: Claim, cap: float | None) -> bool:
    """Whether a cap is met by less than bounds on norms in float64 may add, rounding of scores apart."""
    if claim.proven or claim.kind not in _CAPPED or cap is None or claim.value is None:
        return False
    return claim.value - cap <= _CAP_ROUNDING * claim.value


def disagreements(claim: Claim, near: bool, true: bool | None, verdict: str | None, code: int | None) -> list[str]:
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


def loads(file: Path) -> bool:
    try:
        lambdak.load(file)
    except ModelFileError:
        return False
    return True


Rows = dict[tuple[str, str], Row]  # table and line → counts


def work(number: int, seed: int, per_model: int, checker: str | None, kinds: tuple[str, ...] = KINDS) -> Rows:
    """One honest model, and some that it was tampered with to be."""
    warnings.simplefilter("ignore")
    rng, kind = np.random.default_rng([seed, number]), kinds[number % len(kinds)]
    rows: Rows = {}
    try:
        subject = random_subject(rng, kind)
    except Exception as error:
        return {("honest", kind): crashed(f"model {number}: {kind}", error)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        tried = [("honest", subject.kind.removesuffix(", random"), f"model {number}", subject)]
        for i in range(per_model):
            way, other = tampered(rng, subject)
            tried.append(("tampered", way, f"model {number}, tampered {i} ({way})", other))
        for table, line, name, own in tried:
            try:
                row, shapes = compare(own, name, checker, file)
            except Exception as error:
                row, shapes = crashed(f"{name}: {own.kind}", error), {}
            add_(rows, {(table, line): row} | {(f"{table}, by shape", shape): part for shape, part in shapes.items()})
    return rows


def crashed(name: str, error: Exception) -> Row:
    """A model that could not be fitted or decided, as a disagreement."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Row(Counter(models=1), [f"{name}: {type(error).__name__} in {where.name}, line {where.lineno}: {error}"])


def disagreements_of(rows: Rows) -> list[str]:
    """All disagreements, each once."""
    return [words for (table, _), row in rows.items() if "by shape" not in table for words in row.disagreements]


def add_(rows: Rows, others: Rows) -> None:
    """Add counts to counts."""
    for key, row in others.items():
        rows[key] = _added(rows.get(key), row)


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


def run(arguments: argparse.Namespace, first: int) -> Rows:
    """All models from the first one on, or those of a slice."""
    checker = None if arguments.without_checker else str(arguments.checker)
    per_model = -(-arguments.tampered // arguments.models)
    last = min(arguments.models, first + (arguments.slice or arguments.models))
    each = partial(work, seed=arguments.seed, per_model=per_model, checker=checker, kinds=tuple(arguments.kinds))
    total: Rows = {}
    began = time.monotonic()
    with ProcessPoolExecutor(arguments.jobs, initializer=_alone) as pool:
        for done, rows in enumerate(pool.map(each, range(first, last), chunksize=2), first + 1):
            for words in (
                words for (table, _), row in rows.items() for words in row.disagreements if "by shape" not in table
            ):
                print(f"DISAGREEMENT {words}", flush=True)
            add_(total, rows)
            if done % max(1, arguments.models // 10) == 0:
                print(f"{time.monotonic() - began:6.0f} s  {done:,} models", file=sys.stderr, flush=True)
    return total


def kept(into: Path | None, arguments: argparse.Namespace) -> tuple[int, Rows]:
    """How many models were done before, and their counts."""
    total: Rows = {}
    lines = [json.loads(line) for line in into.read_text().splitlines()] if into and into.exists() else []
    own = [line for line in lines if line["seed"] == arguments.seed]
    for line in own:
        add_(total, {(table, name): Row(Counter(counts), words) for table, name, counts, words in line["rows"]})
    return max((line["last"] for line in own), default=0), total


def keep(into: Path, arguments: argparse.Namespace, first: int, rows: Rows) -> None:
    """Append the counts of a slice."""
    last = min(arguments.models, first + (arguments.slice or arguments.models))
    listed = [(table, name, row.counts, row.disagreements) for (table, name), row in rows.items()]
    with into.open("a") as file:
        file.write(json.dumps({"seed": arguments.seed, "first": first, "last": last, "rows": listed}) + "\n")


_CHANGED = ("models", "broken", "caught", "proven", "refuted", "true, within rounding", "checker undecided")
_SHAPES = ("models", "promises", "true", "broken", "proven", "checker proves", "checker refutes")
TABLES = {  # table → its first column, and its counts
    "honest": ("kind of model", ("models", "proven", "refuted", "true, within rounding", "checker undecided")),
    "honest, by shape": ("shape, honest", _SHAPES),
    "tampered": ("tampered with", _CHANGED),
    "tampered, by shape": ("shape, tampered with", _SHAPES),
}


def show(total: Rows) -> int:
    """Four tables, and the number of disagreements."""
    for what, (first, names) in TABLES.items():
        rows = {kind: row for (own, kind), row in sorted(total.items()) if own == what}
        print(f"\n| {first} | {' | '.join(names)} | disagreements |\n|---|{'---|' * (len(names) + 1)}")
        whole = Row()
        for row in rows.values():
            whole = _added(whole, row)
        for kind, row in (*rows.items(), *([] if "by shape" in what else [("all", whole)])):
            print(f"| {kind} | {' | '.join(f'{row.counts[name]:,}' for name in names)} | {len(row.disagreements)} |")
    return len(disagreements_of(total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument(
        "--tampered", type=int, default=10_000, help="in all; each model is tampered with equally often"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, metavar="KIND", help="of random_models.py")
    parser.add_argument("--into", type=Path, help="a file of counts: models that it has are not tried again")
    parser.add_argument("--slice", type=int, help="how many models this run tries at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--checker", type=Path, default=CHECKER, help="the independent checker")
    parser.add_argument("--without-checker", action="store_true")
    arguments = parser.parse_args()
    if not arguments.without_checker and not arguments.checker.is_file():
        parser.error(f"no file {arguments.checker}: give it with --checker, or omit it with --without-checker")
    lambdak.show_config()
    first, total = kept(arguments.into, arguments)
    rows = run(arguments, first) if first < arguments.models else {}
    add_(total, rows)
    if arguments.into and rows:
        keep(arguments.into, arguments, first, rows)
    sys.exit(1 if show(total) else 0)


if __name__ == "__main__":
    main()
