"""The row "a bound of the optimiser" of ARCHITECTURE: one class, and sums with it are minimised.

Tests ``build``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from fitted_models import fitted
from optimize_cases import typical_row

from lambdak.optimize import predicted
from lambdak.optimize.frontier import Clock
from lambdak.optimize.minimum.bounded import Bounded
from lambdak.optimize.minimum.build import build
from lambdak.optimize.minimum.minimizing import solve
from lambdak.optimize.relaxation import linear

ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class ToyHill:
    """height − steep (x_axis − centre)²: it is concave, so that it is nowhere below the line between two vertices."""

    axis: int
    centre: float
    steep: float
    scores = ()

    def values(self, x):
        return -self.steep * (x[:, self.axis] - self.centre) ** 2

    def errors(self, x):
        return ROUNDING * np.abs(self.values(x))

    def relaxed(self, relaxed):
        boxes = relaxed.boxes
        nothing = linear(boxes, 0.0, np.zeros(boxes.low.shape[1]))
        own = -self.steep * (boxes.coordinates[self.axis] - self.centre) ** 2
        place = boxes.part(self.axis)
        parts = [part + own if i == place else part for i, part in enumerate(nothing.parts)]
        loose = nothing.loose.copy()
        loose[:, self.axis] = self.steep * (boxes.high[:, self.axis] - boxes.low[:, self.axis]) ** 2 / 4
        found = replace(nothing, parts=tuple(parts), loose=loose)
        return found.shifted(-ROUNDING * found.size())


@pytest.mark.parametrize("steep", [0.05, 5.0])
def test_a_new_bound_is_minimised_with_a_model_to_a_proven_optimum(steep):
    model, free = fitted("free"), ["income", "age"]
    plain = build(predicted(model), [], free, {}, typical_row(model), [], False)
    centre = 0.5 * (plain.axes[0].low + plain.axes[0].high)
    hill = ToyHill(0, centre, steep / (plain.axes[0].high - centre) ** 2)
    problem = replace(plain, objective=replace(plain.objective, terms=(*plain.objective.terms, hill)))
    found = solve(problem, Clock(lambda value, bound: np.abs(value - bound) <= 1e-4), 0)
    sides = [np.linspace(axis.low, axis.high, 60) for axis in problem.axes]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    least = problem.values(grid).min()
    assert found.bound <= least
    assert found.value <= least + 1e-4
    assert found.value - found.bound <= 1e-4
    assert abs(found.value - solve(plain, Clock(lambda value, bound: np.abs(value - bound) <= 1e-4), 0).value) > 1e-2


def test_the_row_names_the_contract_that_the_toy_fills_in():
    text = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text()
    (row,) = re.findall(r"^\| a bound of the optimiser .*$", text, re.MULTILINE)
    assert "`Bounded` of `optimize/minimum/bounded.py`" in row
    contract = {name for name in vars(Bounded) if not name.startswith("_")}
    assert contract == {"scores", "values", "errors", "relaxed"} <= set(dir(ToyHill))
