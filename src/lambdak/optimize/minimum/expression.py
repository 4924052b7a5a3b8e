"""What is optimised or limited, as users write it: sums of columns, of predictions, and of predictions times a column.

>>> profit = (column("price") - 40) * 3 - 2 * column("cost")
>>> profit.linear, profit.constant
({'price': 3.0, 'cost': -2.0}, -120.0)

Constraints may also be texts: "2*tv + radio <= 100", "10 <= dose <= 20", "risk <= 0.05".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, cast, final

import numpy as np
from scipy.optimize import LinearConstraint

from lambdak.losses import Link
from lambdak.model import Model
from lambdak.model.output_choice import output_of
from lambdak.model.readout import Readout, readouts
from lambdak.model.rows import row_offset
from lambdak.optimize.scores import usable_model
from lambdak.table.read import one_row

_PRODUCT = "a product may have one column and one prediction"
_QUOTED = re.compile(r"`([^`]+)`")
_RELATIONS = {ast.LtE: "<=", ast.GtE: ">=", ast.Eq: "==", ast.Lt: "<=", ast.Gt: ">="}
_EXAMPLE = "such as '2*tv + radio <= 100', with names that are no words in backticks"


@final
@dataclass(frozen=True, eq=False)
class Predicted:
    """One prediction of a model: the inverse link of a raw score."""

    model: Model
    output: int
    offset: float

    @property
    def readouts(self) -> tuple[Readout, ...]:
        """The raw scores that the prediction needs, its own first."""
        every = readouts(self.model)
        of_output = every[self.output]
        return (
            (of_output, *(other for other in every if other is not of_output)) if of_output.link.joint else (of_output,)
        )

    @property
    def link(self) -> Link:
        """From its raw score to the prediction."""
        return self.model.loss.output_link


@final
@dataclass(frozen=True, eq=False, repr=False)
class Product:
    """The prediction times offset + slope · column; without a column times ``offset``."""

    predicted: Predicted
    offset: float
    column: str | None = None
    slope: float = 0.0

    def __repr__(self) -> str:
        slope = "" if self.column is None else f" + {self.slope:g}*{self.column}"
        return f"({self.offset:g}{slope})*predicted({self.predicted.model.output_names[self.predicted.output]})"

    def scaled(self, factor: float) -> Product:
        """The product times a number."""
        return Product(self.predicted, factor * self.offset, self.column, factor * self.slope)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """constant + Σ coefficient · column + Σ products; made by :func:`column` and :func:`predicted`, and arithmetic."""

    linear: Mapping[str, float] = field(default_factory=dict)
    constant: float = 0.0
    products: tuple[Product, ...] = ()

    __array_ufunc__ = None  # so that a number of NumPy leaves arithmetic and comparisons to an expression

    def __repr__(self) -> str:
        terms = [f"{a:g}*{name}" for name, a in self.linear.items()]
        constant = [f"{self.constant:g}"] if self.constant or not (terms or self.products) else []
        return " + ".join([*terms, *map(repr, self.products), *constant])

    def __add__(self, other: Any) -> Expression:
        term = as_expression(other)
        names = dict.fromkeys([*self.linear, *term.linear])
        linear = {name: self.linear.get(name, 0.0) + term.linear.get(name, 0.0) for name in names}
        return Expression(linear, self.constant + term.constant, (*self.products, *term.products))

    def __mul__(self, other: Any) -> Expression:
        term = as_expression(other)
        if not term.linear and not term.products:
            return self._scaled(term.constant)
        if not self.linear and not self.products:
            return term._scaled(self.constant)
        return _times(self, term) if self.products else _times(term, self)

    def __truediv__(self, other: Any) -> Expression:
        if not isinstance(other, Real) or not other:
            raise TypeError(f"an expression can be divided by a number other than 0; got {other!r}")
        return self._scaled(1.0 / float(other))

    def __neg__(self) -> Expression:
        return self._scaled(-1.0)

    def __sub__(self, other: Any) -> Expression:
        return self + -as_expression(other)

    def __rsub__(self, other: Any) -> Expression:
        return as_expression(other) + -self

    __radd__, __rmul__ = __add__, __mul__

    def __le__(self, other: Any) -> Limit:
        return Limit(self - other, "<=", f"{self!r} <= {other!r}")

    def __ge__(self, other: Any) -> Limit:
        return Limit(as_expression(other) - self, "<=", f"{self!r} >= {other!r}")

    __lt__, __gt__ = __le__, __ge__  # the same, as in texts

    def _scaled(self, factor: float) -> Expression:
        linear = {name: factor * slope for name, slope in self.linear.items()}
        return Expression(linear, factor * self.constant, tuple(product.scaled(factor) for product in self.products))

    @property
    def columns(self) -> set[str]:
        """The columns that it names itself; those of its models come on top."""
        return {*self.linear, *(product.column for product in self.products if product.column is not None)}


@final
@dataclass(frozen=True, eq=False, repr=False)
class Limit:
    """expression ≤ 0, or (``==``) expression = 0; ``text`` is what the user wrote."""

    expression: Expression
    relation: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:  # Python reads a <= b <= c as (a <= b) and (b <= c), and would drop the first
        raise TypeError(f"{self.text} is a constraint, neither true nor false: write a <= b <= c as two constraints")


def column(name: str) -> Expression:
    """The number in a column, to build what is optimised: ``column("price") * predicted(demand)``."""
    return Expression({name: 1.0})


def predicted(model: Any, output: Any = None, offset: float | None = None, exposure: float | None = None) -> Expression:
    """What a model predicts, to build what is optimised or limited: ``predicted(risk) <= 0.05``.

    Parameters
    ----------
    model : fitted estimator, Model, Pencil, or a module with ``to_pencil``
        Of a pencil the prediction is f(z), and its columns are z0, z1, …
    output : class label, quantile level, position of one of them, or None
        Which prediction: of two classes the probability of the second one, unless it says otherwise; of quantiles the
        middle one. Of a :class:`lambdak.torch.SpectralLayer` which of its neurons.
    offset : float
        Added to the raw score.
    exposure : float
        The same, as a number of which the logarithm is added, where the link is log.
    """
    fitted, output = usable_model(model, output)
    position, complement = output_of(fitted, output)
    added = row_offset(fitted.loss, offset, exposure)
    plain = Expression({}, 0.0, (Product(Predicted(fitted, position, 0.0 if added is None else float(added)), 1.0),))
    return 1.0 - plain if complement else plain


def as_expression(value: Any) -> Expression:
    """A number, an expression, or a fitted model as an expression."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Real | np.number):
        return Expression({}, float(cast("float", value)))
    return predicted(value)


def _times(many: Expression, single: Expression) -> Expression:
    """Predictions times one column."""
    if single.products or many.linear or len(single.linear) != 1 or any(product.column for product in many.products):
        raise TypeError(f"{_PRODUCT}; multiply out what is more than that")
    ((name, slope),) = single.linear.items()
    products = tuple(
        Product(product.predicted, product.offset * single.constant, name, product.offset * slope)
        for product in many.products
    )
    return Expression({name: many.constant * slope}, many.constant * single.constant, products)


def evaluate(expression: Expression, row: Mapping[str, Any]) -> float:
    """An expression at a row, from what the models predict."""
    total = expression.constant + sum(a * float(row[name]) for name, a in expression.linear.items())
    for product in expression.products:
        model = product.predicted.model
        names = model.encoder.feature_names
        raw = (
            np.asarray(model.raw(one_row([row[name] for name in names], names))).reshape(1, -1)
            + product.predicted.offset
        )
        prediction = model.loss.output_link.predictions(raw)[0, product.predicted.output]
        factor = product.offset + (0.0 if product.column is None else product.slope * float(row[product.column]))
        total += factor * float(prediction)
    return float(total)


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
            original = quoted.get(name, name)
            return as_expression(models[original]) if original in models else column(original)
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
        expression = Expression({name: float(a) for name, a in zip(free, row, strict=True) if a})
        text = f"row {i} of the LinearConstraint"
        limits += [Limit(expression - high, "<=", text)] if high < np.inf else []
        limits += [Limit(low - expression, "<=", text)] if low > -np.inf else []
    return limits
