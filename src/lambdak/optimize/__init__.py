"""Decide with a model: optimise, invert and explain decisions, each with a proven bound.

Modules: ``pencils`` as models of the columns z0, z1, …; ``axes`` the free columns, ``scores`` raw scores over them,
``linear`` constraints, ``relaxation`` bounds on boxes, ``solution`` how a search went; ``minimum/``: ``expression``
and ``formulas`` what users write, ``build`` to a ``problem`` of ``goals``, ``lines`` below links, ``pinning``
monotone columns, ``branch`` and bound, ``incumbent`` the best point, ``majorants`` convex functions that lead it
downhill, ``convex_concave`` the procedure of these alone, ``minimizing`` the function, ``result``, ``plots``;
``convex/``: ``solver``, ``search`` levels and whole numbers, ``lifted`` the problem over points and bounds from its
dual, ``interior``, ``newton`` the interior-point method, ``feasible``, ``cvxpy``; ``changes/``: ``rows`` to decide
about, ``chosen`` the prediction that is meant, ``decisions`` what is to be reached, ``targets`` as users say it,
``surroundings`` axes around a row, ``prices`` of moves, ``price_bounds``, ``moves`` found without proof, ``nearest``
the search, ``requests`` what may change, ``crossings`` one column alone; of declined rows ``approvals`` what counts
as one, ``contributions`` of columns, ``sweeps`` bounds while a column moves, ``alternatives`` what would be enough,
``joint_moves`` of several columns, ``short_numbers``, ``reason_texts``; ``inverting``, ``counterfactuals``,
``margins``, ``reasons`` the functions, ``recourse``, ``distances``, ``declines`` their results.
"""

from lambdak.optimize.changes.counterfactuals import counterfactual
from lambdak.optimize.changes.declines import Decision, Reason, Reasons
from lambdak.optimize.changes.distances import ColumnMargin, JointMargin, Margins
from lambdak.optimize.changes.inverting import Inverse, inverse
from lambdak.optimize.changes.margins import margin
from lambdak.optimize.changes.reasons import reasons
from lambdak.optimize.changes.recourse import Change, Recourse
from lambdak.optimize.convex.cvxpy import to_cvxpy
from lambdak.optimize.minimum.expression import Expression, Limit, column, predicted
from lambdak.optimize.minimum.minimizing import minimize
from lambdak.optimize.minimum.result import Optimum
from lambdak.optimize.solution import Moment

__all__ = [
    "Change",
    "ColumnMargin",
    "Decision",
    "Expression",
    "Inverse",
    "JointMargin",
    "Limit",
    "Margins",
    "Moment",
    "Optimum",
    "Reason",
    "Reasons",
    "Recourse",
    "column",
    "counterfactual",
    "inverse",
    "margin",
    "minimize",
    "predicted",
    "reasons",
    "to_cvxpy",
]
