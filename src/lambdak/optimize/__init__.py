"""Decide with a model: optimise, invert and explain decisions, each with a proven bound."""

from lambdak.optimize.cvxpy import to_cvxpy
from lambdak.optimize.expression import Expression, Limit, column, predicted
from lambdak.optimize.minimizing import minimize
from lambdak.optimize.result import Optimum
from lambdak.optimize.solution import Moment

__all__ = ["Expression", "Limit", "Moment", "Optimum", "column", "minimize", "predicted", "to_cvxpy"]
