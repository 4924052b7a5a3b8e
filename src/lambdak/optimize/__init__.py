"""Decide with a model: optimise, invert and explain decisions, each with a proven bound.

Modules: ``axes`` the free columns, ``scores`` raw scores over them, of models and of pencils, ``linear`` constraints,
``relaxation`` bounds on boxes, ``frontier`` how a search goes.

``minimum/``: ``expression`` what users write, ``build`` to a ``problem`` of functions that are ``bounded`` on boxes,
``pinning`` of columns to where a score can be lowest, ``branch`` and bound, ``descent`` to the best point,
``minimizing`` the function, ``result``.

``convex/``: ``solver`` for levels and whole numbers, ``lifted`` the problem over points and bounds from its dual,
``interior`` the interior-point method, ``cvxpy``.

``changes/``: ``rows`` to decide about, what may move and what that costs, ``goals`` what is to be reached, ``targets``
as users say it, ``moves`` found without proof, ``nearest`` the search, ``counterfactuals``, ``inverting``, ``margins``
and ``reasons`` the functions, ``recourse``, ``distances``, ``declines`` their results; of declined rows ``sweeps``
bounds while a column moves, ``alternatives`` what would be enough.
"""

from lambdak.optimize.changes.counterfactuals import counterfactual
from lambdak.optimize.changes.declines import Decision, Reason, Reasons
from lambdak.optimize.changes.distances import ColumnMargin, JointMargin, Margins
from lambdak.optimize.changes.inverting import Inverse, inverse
from lambdak.optimize.changes.margins import margin
from lambdak.optimize.changes.reasons import reasons
from lambdak.optimize.changes.recourse import Change, Recourse
from lambdak.optimize.convex.cvxpy import to_cvxpy
from lambdak.optimize.frontier import Moment
from lambdak.optimize.minimum.expression import Expression, Limit, column, predicted
from lambdak.optimize.minimum.minimizing import minimize
from lambdak.optimize.minimum.result import Optimum

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
