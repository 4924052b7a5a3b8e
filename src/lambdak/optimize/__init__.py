"""Decide with a model: optimise, invert and explain decisions, each with a proven bound."""

from lambdak.optimize.changes.counterfactuals import counterfactual
from lambdak.optimize.changes.distances import ColumnMargin, JointMargin, Margins
from lambdak.optimize.changes.inverting import Inverse, inverse
from lambdak.optimize.changes.margins import margin
from lambdak.optimize.changes.recourse import Change, Recourse
from lambdak.optimize.convex.cvxpy import to_cvxpy
from lambdak.optimize.minimum.expression import Expression, Limit, column, predicted
from lambdak.optimize.minimum.minimizing import minimize
from lambdak.optimize.minimum.result import Optimum
from lambdak.optimize.solution import Moment

__all__ = [
    "Change",
    "ColumnMargin",
    "Expression",
    "Inverse",
    "JointMargin",
    "Limit",
    "Margins",
    "Moment",
    "Optimum",
    "Recourse",
    "column",
    "counterfactual",
    "inverse",
    "margin",
    "minimize",
    "predicted",
    "to_cvxpy",
]
