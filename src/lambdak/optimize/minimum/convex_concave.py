"""The convex–concave procedure from several points, and a bound from a short branch and bound around the best one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lambdak.optimize.minimum.branch import Search
from lambdak.optimize.minimum.incumbent import Incumbent, polish
from lambdak.optimize.minimum.majorants import descend, straight_score
from lambdak.optimize.minimum.problem import Problem
from lambdak.optimize.solution import Clock, Solution, Status

METHOD = "convex-concave"
_STARTS = 4
_SWEEPS = 4
_MOST_BOXES = 2048  # for the bound


def convex_concave(problem: Problem, clock: Clock, rng: np.random.Generator) -> Solution:
    """The best point that the procedure finds, which none of its steps improves, and a proven bound."""
    score = straight_score(problem)
    if score is None:
        raise ValueError(
            f"method={METHOD!r} minimises one raw score over straight columns within linear constraints: a Pencil, or "
            "a regressor with n_knots=0, without whole numbers or levels; leave method out for all others"
        )
    best = Incumbent(problem)
    try:
        best.begin(rng)
        starts = problem.starts(_STARTS, rng)[:_STARTS]
        for start in starts if best.x is None else [best.x, *starts[1:]]:
            best.offer(*descend(problem, score, start, clock))
            clock.note(best.value, -np.inf, 0)
        if best.x is not None:  # interior points end just inside of a corner
            best.offer(*polish(problem, best.x, best.value, _SWEEPS))
    except KeyboardInterrupt:
        return Solution(best.x, best.value, -np.inf, Status.INTERRUPTED, METHOD, tuple(clock.trace))
    found = Search(problem, clock, best, rng, most=_MOST_BOXES, went_down=best.value).run()
    return replace(found, method=METHOD)
