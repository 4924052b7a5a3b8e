"""How many functions does a call pass through? Fit, predict, certify, export and report, beside scikit-learn.

    python benchmarks/hops.py           # one table
    python benchmarks/hops.py predict   # and the longest chain of this path, from the method down

A chain is what stands on the stack at one moment: functions of the library, each once, without comprehensions and
lambdas. The longest one is the spine that a reader follows; `called` are all functions of a call. Every call is made
twice and the second one counts, so that imports and caches do not. It calls only what is public, so that the version
before can be counted with the same script: PYTHONPATH=<before>/src python benchmarks/hops.py
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import sklearn
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

import lambdak

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
PACKAGES = {"lambdak": Path(lambdak.__file__).parent, "scikit-learn": Path(sklearn.__file__).parent}


class Hops:
    """The longest chain of functions below a folder that stood on the stack, and all that were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = f"{folder}/"
        self.chain: list[CodeType] = []
        self.called: set[CodeType] = set()
        self.stacks: dict[int, list[CodeType]] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Follow one call or return."""
        code = frame.f_code
        if event not in ("call", "return") or not self.counts(code):
            return
        stack = self.stacks.setdefault(threading.get_ident(), [])
        if event == "return":
            if stack:
                stack.pop()
            return
        stack.append(code)
        self.called.add(code)
        distinct = list(dict.fromkeys(stack))
        if len(distinct) > len(self.chain):
            self.chain = distinct

    def counts(self, code: CodeType) -> bool:
        """Whether it is a function of the folder that has a name."""
        return code.co_filename.startswith(self.folder) and "<" not in code.co_name


def hops(call: Callable[[], Any], package: str) -> Hops:
    """What the second of two calls passes through."""
    call()
    found = Hops(PACKAGES[package])
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def files(codes: Any) -> int:
    """In how many files functions are."""
    return len({code.co_filename for code in codes})


def paths(folder: Path) -> dict[str, tuple[str, Callable[[], Any]]]:
    """The calls that are counted, with the package whose functions count."""
    model = lambdak.SpectralRegressor(effort="fast", max_iter=2, random_state=0, n_jobs=1)
    peer = HistGradientBoostingRegressor(max_iter=2, random_state=0)
    return {
        "fit": ("lambdak", lambda: model.fit(X, Y)),
        "predict": ("lambdak", lambda: model.predict(X)),
        "certify": ("lambdak", lambda: model.certify()),
        "export": ("lambdak", lambda: model.export(folder / "model.c")),
        "report": ("lambdak", lambda: model.report(folder / "report.html", X, Y)),
        "HistGradientBoosting fit": ("scikit-learn", lambda: peer.fit(X, Y)),
        "HistGradientBoosting predict": ("scikit-learn", lambda: peer.predict(X)),
    }


def main() -> None:
    """Print the table, and the chains that are asked for."""
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'path':30}{'longest chain':>14}{'files':>7}{'called':>9}{'files':>7}")
        for name, (package, call) in paths(Path(folder)).items():
            found = hops(call, package)
            counts = (len(found.chain), files(found.chain), len(found.called), files(found.called))
            print(f"{name:30}{counts[0]:>14}{counts[1]:>7}{counts[2]:>9}{counts[3]:>7}")
            for code in found.chain if name in sys.argv[1:] else ():
                print(f"    {code.co_filename.removeprefix(found.folder)}: {code.co_qualname}")


if __name__ == "__main__":
    main()
