"""Decide with a model: optimise, invert and explain decisions, each with a proven bound."""

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
from lambdak.optimize.protected.assessing import fairness
from lambdak.optimize.protected.assessment import Fairness
from lambdak.optimize.solution import Moment

__all__ = [
    "Change",
    "ColumnMargin",
    "Decision",
    "Expression",
    "Fairness",
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
    "fairness",
    "inverse",
    "margin",
    "minimize",
    "predicted",
    "reasons",
    "to_cvxpy",
]
