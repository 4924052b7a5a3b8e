"""Decide with a model: optimise, invert and explain decisions, each with a proven bound."""

from lambdak.optimize.counterfactuals import counterfactual
from lambdak.optimize.cvxpy import to_cvxpy
from lambdak.optimize.distances import ColumnMargin, JointMargin, Margins
from lambdak.optimize.expression import Expression, Limit, column, predicted
from lambdak.optimize.inverting import Inverse, inverse
from lambdak.optimize.margins import margin
from lambdak.optimize.minimizing import minimize
from lambdak.optimize.recourse import Change, Recourse
from lambdak.optimize.result import Optimum
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
