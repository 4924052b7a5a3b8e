"""Do final outputs keep what certificates say? Pairs of rows and what-if intervals, tried by the million.

    python benchmarks/outputs.py --tries 10000000

Final outputs are what users call: ``predict``, ``predict_proba``, ``predict_quantiles``, ``decision_function`` and
labels. Models of all losses are tried as they were fitted, after save and load, after JSON and after ``partial_fit``;
on every instruction set of this machine, with one thread and with two. Rows are random and adversarial: at knots and
the floats beside them, far outside, missing, of unseen levels.

A violation is what exceeds what the certificate allows: two computed raw scores that must be in order may be out of
order by twice the rounding that it states, through the link; bounds on influence, on responses and intervals allow
nothing more than their numbers. The exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import asdict
from functools import cache, partial

import numpy as np

import lambdak
from lambdak.eigen.runtime import get_isa, native
from lambdak.shapes.registry import SHAPES
from output_models import MODELS, STATES, in_states
from output_tries import TRY, Tally
from shape_tries import try_shape_class

BLOCK = 1 << 15  # pairs at a time
TRY = TRY | {name: partial(try_shape_class, name=name) for name in SHAPES}


def run(kinds: list[str], tries: int, seed: int) -> dict[str, Tally]:
    """All kinds, in this process: on its instruction set and with its threads."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    found = {}
    for kind in kinds:
        tally, began = Tally(), time.monotonic()
        share = -(-tries // (len(MODELS[kind]) * len(STATES)))
        for number, fit in enumerate(MODELS[kind].values()):
            for state, model in in_states(fit):
                rng = np.random.default_rng([seed, number, STATES.index(state)])
                before = Tally(tally.tries)
                while tally.tries - before.tries < share:
                    TRY[kind](rng, model, tally, min(BLOCK, share - (tally.tries - before.tries)))
        found[kind] = tally
        print(
            f"{get_isa()}, {lambdak.get_num_threads()} threads: {kind} {time.monotonic() - began:.0f} s",
            file=sys.stderr,
        )
    return found


@cache
def settings_of_processes() -> list[tuple[str, int]]:
    """Instruction set and threads of each child."""
    kernel = native()
    isas = ["none"] if kernel is None else list(kernel.available_isas())
    return [(isa, threads) for isa in isas for threads in (1, 2)]


def child(isa: str, threads: int, arguments: argparse.Namespace, number: int) -> dict[str, Tally]:
    """The same in a process of its own."""
    choices = {"LAMBDAK_ISA": isa, "LAMBDAK_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    share = -(-arguments.tries // len(settings_of_processes()))
    command = [sys.executable, __file__, "--inside", "--tries", str(share), "--seed", str(arguments.seed + number)]
    done = subprocess.run(
        [*command, "--only", *arguments.only], env={**os.environ, **choices}, stdout=subprocess.PIPE, check=True
    )
    return {kind: Tally(**parts) for kind, parts in json.loads(done.stdout).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=10_000_000, help="of each kind of promise")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=list(TRY), default=list(TRY))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(
            json.dumps(
                {kind: asdict(tally) for kind, tally in run(arguments.only, arguments.tries, arguments.seed).items()}
            )
        )
        return
    lambdak.show_config()
    total = {kind: Tally() for kind in arguments.only}
    for number, (isa, threads) in enumerate(settings_of_processes()):
        for kind, tally in child(isa, threads, arguments, number).items():
            own = total[kind]
            total[kind] = Tally(own.tries + tally.tries, own.violations + tally.violations, max(own.worst, tally.worst))
    print("\n| promise | tries | violations | most of what is allowed that was used |\n|---|---|---|---|")
    for kind, tally in total.items():
        print(f"| {kind} | {tally.tries:,} | {tally.violations:,} | {tally.worst:.3g} |")
    sys.exit(any(tally.violations for tally in total.values()))


if __name__ == "__main__":
    main()
