"""From raw scores to what users see: links, probabilities and labels, as the losses compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lambdak.export.formula import Formula, is_double
from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.inputs import is_unicode
from lambdak.losses import Predicts
from lambdak.losses.links import EXPONENT_LIMIT, LOG

Result = tuple[str, Value, Any, Sequence[int]]  # name, value, type, and its shape beside the rows


def results(graph: Graph, formula: Formula, raw: Value) -> list[Result]:
    """What is predicted, and raw scores (rows, outputs) last, in the shapes that the model itself gives them."""
    model, outputs = formula.model, formula.n_outputs
    shape = [] if model.outputs.single else [outputs]
    scores = raw.reshape(-1, *shape)
    own: list[Result]
    match model.loss.predicts:
        case Predicts.NUMBERS:
            own = [("prediction", _mean(graph, formula, scores), graph.dtype, shape)]
        case Predicts.QUANTILES:
            quantiles = graph.join(_rising(graph, raw, outputs), axis=1).reshape(-1, *shape)
            own = [("quantiles", graph("Identity", quantiles), graph.dtype, shape)]
        case Predicts.CLASSES | Predicts.ORDERED_CLASSES:
            own = _classes(graph, formula, raw)
    return [*own, ("raw", scores, graph.dtype, shape)]


def _mean(graph: Graph, formula: Formula, scores: Value) -> Value:
    if formula.model.loss.link is not LOG:
        return graph("Identity", scores)
    return graph("Exp", graph("Min", scores, EXPONENT_LIMIT))


def _classes(graph: Graph, formula: Formula, raw: Value) -> list[Result]:
    classes = len(formula.labels)
    if formula.model.loss.predicts is Predicts.ORDERED_CLASSES:
        shares, code = _ordered(graph, raw, classes)
    else:
        shares = _binary(graph, raw) if classes == 2 else graph("Softmax", raw, axis=1)
        code = graph("ArgMax", shares, axis=1, keepdims=0)
    labels, kind = _labels(graph, formula)
    return [("label", labels.take(code), kind, []), ("probabilities", shares, graph.dtype, [classes])]


def _binary(graph: Graph, raw: Value) -> Value:
    return logistic(graph, graph.join([-raw, raw], axis=1))


def logistic(graph: Graph, x: Value) -> Value:
    """1 / (1 + e⁻ˣ), to the last digits also where it is small: some runtimes cut off the operator Sigmoid there."""
    small = graph("Exp", -graph("Abs", x))
    return graph.where(x < 0.0, small, 1.0) / (small + 1.0)


def _ordered(graph: Graph, raw: Value, classes: int) -> tuple[Value, Value]:
    """P(y = j) = F(c_j) F(−c_{j−1}) (1 − e^{c_{j−1} − c_j}), and the first class with c_j ≥ 0."""
    cuts = classes - 1
    each = _rising(graph, raw, cuts)
    below, above = ([logistic(graph, sign) for sign in signs] for signs in (each, [-cut for cut in each]))
    inner = [below[j] * above[j - 1] * _one_minus_exp(graph, each[j] - each[j - 1]) for j in range(1, cuts)]
    reached = graph("GreaterOrEqual", raw, 0.0).cast(graph.dtype)
    always = below[0] * 0.0 + 1.0
    code = graph("ArgMax", graph.join([reached, always], axis=1), axis=1, keepdims=0)
    return graph.join([below[0], *inner, above[-1]], axis=1), code


def _rising(graph: Graph, raw: Value, count: int) -> list[Value]:
    """Raw scores (rows, 1) of each output; neighbours that rounding has put out of order become equal."""
    each = graph.nodes("Split", count, raw, graph.whole([1] * count), axis=1) if count > 1 else [raw]
    for j in range(1, count):
        each[j] = graph("Max", each[j - 1], each[j])
    return each


def _one_minus_exp(graph: Graph, gap: Value) -> Value:
    """1 − e⁻ᵍ = 2 t / (1 + t) for t = tanh(g / 2), without cancellation."""
    t = graph("Tanh", gap * 0.5)
    return t * 2.0 / (t + 1.0)


def _labels(graph: Graph, formula: Formula) -> tuple[Value, Any]:
    labels = formula.labels
    if all(isinstance(label, bool) for label in labels):
        return graph.flags(labels), np.bool_
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels):
        return graph.whole(labels), np.int64
    for label in labels:
        if isinstance(label, int) and not is_double(label):
            raise ValueError(
                f"the class {label} fits neither int64 nor a double: convert the classes to strings before the fit"
            )
        if isinstance(label, str) and not is_unicode(label):
            raise ValueError(f"the class {label!r} is a text that UTF-8 cannot spell: rename it before the fit")
    if all(isinstance(label, int | float) for label in labels):
        return graph.doubles(labels), np.float64
    return graph.texts([str(label) for label in labels]), object
