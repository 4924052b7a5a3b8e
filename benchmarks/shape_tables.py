"""Tables for shapes.py: real ones, and one for each shape in which it is exactly true; with what is true and false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from lambdak import shapes as s
from tables import Problem, categories, load

CLAIM_ROWS = 20_000  # of counts of claims, where there are few events
TEST_ROWS = 4000
LEVELS = ("e", "d", "c", "b", "a")
YEARS = {"Less Than High School": 10, "High School": 12, "Junior College": 14, "Bachelor": 16, "Graduate": 18}
MIXES = ("cement", "slag", "ash", "water", "plasticizer", "coarse", "fine", "age")


@dataclass(frozen=True)
class Question:
    """Constraints, and whether they are true of a table."""

    true: bool
    constraints: tuple[s.Shape, ...]

    @property
    def label(self) -> str:
        """The constraints in print."""
        return ", ".join(map(repr, self.constraints))


@dataclass(frozen=True)
class Case:
    """A table, how it is made or read, and what is asked of it."""

    name: str
    problem: Callable[[Path], Problem]
    questions: tuple[Question, ...]
    rows: int | None = None  # of training; None takes what the command says


def yes(*constraints: s.Shape) -> Question:
    return Question(True, constraints)


def no(*constraints: s.Shape) -> Question:
    return Question(False, constraints)


# ---- real tables -----------------------------------------------------------------------------------------------------


def concrete(folder: Path) -> Problem:
    problem = load("concrete", folder)
    return replace(problem, X=problem.X.set_axis(list(MIXES), axis=1).astype(float))


def plain(folder: Path, name: str) -> Problem:
    problem = load(name, folder)
    return replace(problem, X=categories(problem.X))


def wages(folder: Path) -> Problem:
    """Years at school and years since, in place of a degree and an age."""
    problem = load("gss_wages", folder)
    X = problem.X
    education = X["educcat"].map(YEARS).astype(float)
    own = {"education": education, "experience": (X["age"] - education - 6).clip(lower=0)}
    return replace(problem, X=categories(X.drop(columns=["educcat", "age", "occ10"]).assign(**own)))


def auction(folder: Path) -> Problem:
    """Whether a bid wins; what is known before the auction, without the columns that have a level for every row."""
    frame = pd.read_parquet(folder / "auction_win_train.parquet")
    y = frame.pop("win").to_numpy(int)
    X = frame.drop(columns=["market_price", "click", "IP", "domain", "slotid"]).assign(bid=frame["bid"].astype(float))
    return Problem("auction", "classification", categories(X), y)


REAL = (
    Case("concrete", concrete, (
        yes(s.Concave("age")), yes(s.Valley("water")), yes(s.Rising("cement")),
        no(s.Convex("age")), no(s.Peak("water")), no(s.Falling("cement")),
    )),
    Case("fremtpl2", partial(plain, name="fremtpl2"), (
        yes(s.Valley("DrivAge")), yes(s.Rising("BonusMalus")), no(s.Peak("DrivAge")), no(s.Falling("BonusMalus")),
    ), CLAIM_ROWS),
    Case("bike", partial(plain, name="bike"), (yes(s.Peak("temp")), no(s.Valley("temp")))),
    Case("wages", wages, (
        yes(s.Complements("education", "experience")), no(s.Substitutes("education", "experience")),
    )),
    Case("california", partial(plain, name="california"), (
        yes(s.Concave("median_income"), s.Rising("median_income")), no(s.Falling("median_income")),
    )),
    Case("auction", auction, (
        yes(s.Rising("bid"), s.OutputRange(0.01, 0.99)), yes(s.Rising("bid")), no(s.Falling("bid")),
    )),
)  # fmt: skip


# ---- synthetic tables ------------------------------------------------------------------------------------------------


def steep(x: pd.DataFrame) -> pd.Series:
    return np.tanh(3 * x["a"])


def bowl(x: pd.DataFrame) -> pd.Series:
    return 2 * x["a"] ** 2 + np.maximum(x["a"] - 0.3, 0)


def cleft(x: pd.DataFrame) -> pd.Series:
    """Down to 0 and up again, neither convex nor concave."""
    return 1.5 * np.sqrt(np.abs(x["a"]))


def graded(x: pd.DataFrame) -> pd.Series:
    return x["grade"].map(dict(zip(LEVELS, (0.0, 0.1, 0.6, 0.7, 1.4), strict=True))).astype(float)


def dominated(x: pd.DataFrame) -> pd.Series:
    return 1.5 * x["a"] + 0.3 * x["a"] ** 3 + np.sin(1.2 * x["b"])


def apart(x: pd.DataFrame) -> pd.Series:
    return np.tanh(2 * (x["a"] - x["b"])) + 0.3 * x["a"]


def product(x: pd.DataFrame) -> pd.Series:
    return (1 + x["a"]) * (1 + x["b"])


def bounded(x: pd.DataFrame) -> pd.Series:
    return 1 / (1 + np.exp(-4 * x["a"] - 4 * x["b"]))


SHAPED = {  # shape → what the table is, what is true of it, what is false, and whether y ends at 0 and 1
    "Rising": (steep, yes(s.Rising("a")), no(s.Falling("a"))),
    "Falling": (lambda x: -steep(x), yes(s.Falling("a")), no(s.Rising("a"))),
    "Rising levels": (graded, yes(s.Rising("grade", order=LEVELS)), no(s.Falling("grade", order=LEVELS))),
    "Convex": (bowl, yes(s.Convex("a")), no(s.Concave("a"))),
    "Concave": (lambda x: -bowl(x), yes(s.Concave("a")), no(s.Convex("a"))),
    "Valley": (cleft, yes(s.Valley("a")), yes(s.Valley("a", at=0.0)), no(s.Peak("a"))),
    "Peak": (lambda x: -cleft(x), yes(s.Peak("a")), yes(s.Peak("a", at=0.0)), no(s.Valley("a"))),
    "MaxSlope": (steep, yes(s.MaxSlope("a", 3.0)), no(s.MaxSlope("a", 0.5))),
    "MaxInfluence": (steep, yes(s.MaxInfluence("a", 2.0)), no(s.MaxInfluence("a", 0.5))),
    "Dominates": (dominated, yes(s.Dominates("a", "b")), no(s.Dominates("b", "a"))),
    "RisingAlong": (apart, yes(s.RisingAlong({"a": 1, "b": -1})), no(s.RisingAlong({"a": -1, "b": 1}))),
    "Complements": (product, yes(s.Complements("a", "b")), no(s.Substitutes("a", "b"))),
    "Substitutes": (lambda x: -product(x), yes(s.Substitutes("a", "b")), no(s.Complements("a", "b"))),
    "OutputRange": (bounded, yes(s.OutputRange(0.0, 1.0)), no(s.OutputRange(0.0, 0.6))),
    "Anchored": (steep, yes(s.Anchored("a", 0.0))),
    "Interactions": (
        product,
        yes(s.Interactions([["a", "b"], ["c"], ["d"], ["grade"]])),
        no(s.Interactions("no_interactions")),
    ),
}


def synthetic(folder: Path, kind: str, rows: int) -> Problem:
    """What the shape is about, a wave in another column, and half as much noise as signal."""
    rng, total = np.random.default_rng(31), 4 * rows + TEST_ROWS
    X = pd.DataFrame(rng.uniform(-1, 1, (total, 4)), columns=list("abcd")).assign(grade=rng.choice(LEVELS, total))
    signal = SHAPED[kind][0](X).to_numpy(float)
    if kind == "OutputRange":
        y = np.clip(signal + rng.normal(0, 0.15, total), 0.0, 1.0)
    else:
        signal = signal + 0.5 * np.sin(3 * X["c"].to_numpy())
        y = signal + rng.normal(0, 0.5 * signal.std(), total)
    return Problem(kind, "regression", categories(X), y)


def synthetic_cases() -> list[Case]:
    """Return every shape, with few rows and with more."""
    return [
        Case(kind, partial(synthetic, kind=kind, rows=rows), tuple(questions), rows)
        for kind, (_, *questions) in SHAPED.items()
        for rows in (200, 1000)
    ]


CASES = (*REAL, *synthetic_cases())
