"""Constraints as users write them: "2*tv + radio <= 100", "10 <= dose <= 20", "risk <= 0.05"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint

from lambdak.optimize.minimum.expression import Expression, Limit, as_expression, column

_QUOTED = re.compile(r"`([^`]+)`")
_RELATIONS = {ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "==", ast.Lt: "<=", ast.Gt: ">="}
_EXAMPLE = "such as '2*tv + radio <= 100', with names that are no words in backticks"


def read_constraints(constraints: Any, free: Sequence[str], models: Mapping[str, Any]) -> list[Limit]:
    """Limits from texts, comparisons of expressions, and SciPy's LinearConstraint on the free columns, or several."""
    several = [] if constraints is None else constraints
    if isinstance(several, str | Limit | LinearConstraint):
        several = [several]
    if not isinstance(several, Iterable):
        raise TypeError(f"constraints must be a text, {_EXAMPLE}, or a list of them; got {several!r}")
    return [limit for each in several for limit in _limits(each, free, models)]


def _limits(constraint: Any, free: Sequence[str], models: Mapping[str, Any]) -> list[Limit]:
    if isinstance(constraint, str):
        return parse(constraint, models)
    if isinstance(constraint, Limit):
        return [constraint]
    if isinstance(constraint, LinearConstraint):
        return _from_arrays(constraint, free)
    raise TypeError(f"a constraint must be a text, {_EXAMPLE}; got {constraint!r}")


def parse(text: str, models: Mapping[str, Any]) -> list[Limit]:
    """The limits of one text; a name is a model of ``models``, or else a column."""
    quoted: dict[str, str] = {}

    def unquoted(match: re.Match[str]) -> str:
        name = f"quoted_{len(quoted)}_"
        quoted[name] = match.group(1)
        return name

    try:
        tree = ast.parse(_QUOTED.sub(unquoted, text), mode="eval").body
    except (SyntaxError, ValueError):
        raise ValueError(f"constraint {text!r} is no comparison, {_EXAMPLE}") from None
    if not isinstance(tree, ast.Compare):
        raise ValueError(f"constraint {text!r} compares nothing: write it {_EXAMPLE}")
    sides = [_evaluate(side, quoted, models, text) for side in (tree.left, *tree.comparators)]
    relations = [_RELATIONS.get(type(op)) for op in tree.ops]
    if None in relations:
        raise ValueError(f"constraint {text!r} must compare by <=, >= or ==")
    pairs = zip(sides[:-1], map(str, relations), sides[1:], strict=True)
    return [_limit(left, relation, right, text) for left, relation, right in pairs]


def _limit(left: Expression, relation: str, right: Expression, text: str) -> Limit:
    difference = right - left if relation == ">=" else left - right
    return Limit(difference, "==" if relation == "==" else "<=", text)


def _evaluate(node: ast.expr, quoted: Mapping[str, str], models: Mapping[str, Any], text: str) -> Expression:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Expression({}, float(number))
        case ast.Name(id=name):
            own = quoted.get(name, name)
            return as_expression(models[own]) if own in models else column(own)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, quoted, models, text)
        case ast.BinOp(left=first, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=second):
            a, b = (_evaluate(each, quoted, models, text) for each in (first, second))
            return _combined(a, op, b, text)
        case _:
            raise ValueError(f"constraint {text!r} may hold numbers, names, + - * / and brackets only")


def _combined(a: Expression, op: ast.operator, b: Expression, text: str) -> Expression:
    if isinstance(op, ast.Div):
        if b.linear or b.products or not b.constant:
            raise ValueError(f"constraint {text!r} may divide by a number other than 0 only")
        return a / b.constant
    try:
        return a + b if isinstance(op, ast.Add) else a - b if isinstance(op, ast.Sub) else a * b
    except TypeError as error:
        raise ValueError(f"constraint {text!r}: {error}") from None


def _from_arrays(constraint: LinearConstraint, free: Sequence[str]) -> list[Limit]:
    matrix = np.atleast_2d(np.asarray(constraint.A, float))
    if matrix.shape[1] != len(free):
        raise ValueError(f"LinearConstraint must have {len(free)} columns, as {list(free)}; got {matrix.shape[1]}")
    ends = (np.broadcast_to(np.asarray(end, float), len(matrix)) for end in (constraint.lb, constraint.ub))
    limits = []
    for i, (row, low, high) in enumerate(zip(matrix, *ends, strict=True)):
        own = Expression({name: float(a) for name, a in zip(free, row, strict=True) if a})
        text = f"row {i} of the LinearConstraint"
        limits += [Limit(own - high, "<=", text)] if high < np.inf else []
        limits += [Limit(low - own, "<=", text)] if low > -np.inf else []
    return limits
