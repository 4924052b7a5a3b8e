"""A model as one ONNX file: the results of its graph, what the file says, and the whole.

What a file says about its model: columns, levels, classes, guarantees and the version that wrote it.

From raw scores to what users see: links, probabilities and labels, as the losses compute them.

The whole file: inputs, rows, results and what it says about itself, checked before it is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak._checks import check_dtype, check_int
from lambdak._types import Float64Array
from lambdak.atomic import write_bytes
from lambdak.certify import certify
from lambdak.export.formula import Formula, is_double
from lambdak.export.onnx.graph import Graph, Value, onnx_library
from lambdak.export.onnx.inputs import MATRIX, ML_DOMAIN, ROWS, free_name, input_names, is_unicode, read_inputs
from lambdak.export.onnx.rows import RowScores
from lambdak.losses import Predicts
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, LOG
from lambdak.model.rows import check_offset
from lambdak.table.cell_rules import NumberRule
from lambdak.table.column_contract import Column


def properties(formula: Formula, names: Sequence[str], missing: str | None) -> dict[str, str]:
    """Metadata as text: the values are JSON."""
    model = formula.model
    certificate = certify(model).to_dict()
    about: dict[str, Any] = {
        "lambdak_version": version("lambdak"),
        "estimator": model.estimator,
        "loss": model.loss.name,
        "link": model.loss.link.name,
        "columns": [_column(column, name, missing) for column, name in zip(formula.columns, names, strict=True)],
        "outputs": list(formula.result_names),
        "classes": [label if isinstance(label, bool | int | float) else str(label) for label in formula.labels],
        "certificate": certificate,
    }
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}


def _column(column: Column, name: str, missing: str | None) -> dict[str, Any]:
    rule = column.rule
    known = {"name": column.name, "input": name, "kind": rule.code}
    if isinstance(rule, NumberRule):
        return known | {"low": rule.low, "high": rule.high, "missing": "NaN"}
    return known | {
        "levels": [level for level, _ in (*rule.numbers, *rule.texts)],
        "missing": missing if rule.take_text else "NaN",
    }


Result = tuple[str, Value, Any, Sequence[int]]  # name, value, type, and its shape beside the rows


def results(graph: Graph, formula: Formula, raw: Value) -> list[Result]:
    """What is predicted, and raw scores (rows, outputs) last, in the shapes that the model itself gives them."""
    model, outputs = formula.model, formula.n_outputs
    shape = [] if model.outputs.single else [outputs]
    scores = raw.reshape(-1, *shape)
    own: list[Result]
    match model.loss.predicts:
        case Predicts.NUMBERS:
            own = [("prediction", _limited(graph, formula, _mean(graph, formula, scores)), graph.dtype, shape)]
        case Predicts.QUANTILES:
            quantiles = graph.join(_rising(graph, raw, outputs), axis=1).reshape(-1, *shape)
            own = [("quantiles", _limited(graph, formula, graph("Identity", quantiles)), graph.dtype, shape)]
        case Predicts.CLASSES | Predicts.ORDERED_CLASSES:
            own = _classes(graph, formula, raw)
    return [*own, ("raw", scores, graph.dtype, shape)]


def _limited(graph: Graph, formula: Formula, predictions: Value) -> Value:
    """Predictions in their range; of two classes both probabilities have one."""
    link = formula.model.loss.output_link
    if link.is_free:
        return predictions
    both = [link.other, link] if formula.labels else [link]
    low, high = (np.array([getattr(own, name) for own in both]) for name in ("low", "high"))
    single = graph.dtype != np.float64  # whose nearest number may lie outside
    inside = (_inside(low, graph.dtype, np.inf), _inside(high, graph.dtype, -np.inf)) if single else (low, high)
    return graph("Min", graph("Max", predictions, graph.number(inside[0])), graph.number(inside[1]))


def _inside(ends: Float64Array, dtype: np.dtype[np.floating], way: float) -> NDArray[np.floating]:
    """The numbers of this precision next to some ends, no further than these."""
    near = ends.astype(dtype)
    return np.asarray(np.where(near * np.sign(way) < ends * np.sign(way), np.nextafter(near, dtype.type(way)), near))


def _mean(graph: Graph, formula: Formula, scores: Value) -> Value:
    if formula.model.loss.link is not LOG:
        return graph("Identity", scores)
    return graph("Exp", graph("Min", scores, EXPONENT_LIMIT))


def _classes(graph: Graph, formula: Formula, raw: Value) -> list[Result]:
    classes = len(formula.labels)
    if formula.model.loss.predicts is Predicts.ORDERED_CLASSES:
        shares, code = _ordered(graph, raw, classes)
    else:
        shares = (
            _limited(graph, formula, _binary(graph, formula, raw)) if classes == 2 else graph("Softmax", raw, axis=1)
        )
        code = graph("ArgMax", shares, axis=1, keepdims=0)
    labels, kind = _labels(graph, formula)
    return [("label", labels.take(code), kind, []), ("probabilities", shares, graph.dtype, [classes])]


def _binary(graph: Graph, formula: Formula, raw: Value) -> Value:
    if formula.model.loss.link is CLOGLOG:
        hazard = graph("Exp", graph("Min", raw, EXPONENT_LIMIT))
        return graph.join([graph("Exp", -hazard), _one_minus_exp(graph, hazard)], axis=1)
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


_OPSETS = (18, 24)  # the first that has all operators, and one after the last that was tried
_IR = 10  # the format of the file: onnxruntime reads it from 1.18 on
_ML_OPSET = 3
_LARGEST = (1 << 31) - 1  # bytes of a file in protobuf's format


def to_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    dtype: str = "float64",
    explain: bool = False,
    inputs: str = "columns",
    offset: bool = False,
    missing: str | None = "",
    opset: int = 19,
) -> None:
    """Write a model as one ONNX file.

    Parameters
    ----------
    model
        A fitted estimator, its frozen model, or the path of a saved one.
    path
        Of the file: it is there as a whole or not at all.
    dtype : {"float64", "float32"}
        What is computed in, and the type of the numbers that go in and come out.
    explain : bool
        Whether there is another output, ``slopes``: the signed influence of each column, as
        ``explain_local(X).influence`` has it, (rows, columns), or (rows, outputs, columns) of several outputs.
    inputs : {"columns", "matrix"}
        One input (rows, 1) for each column, by its name: numbers, with NaN for a missing one, or text. Or one matrix
        (rows, columns), "X", if all columns hold numbers.
    offset : bool
        Whether there is another input, ``offset`` (rows, 1), which is added to raw scores, where ``predict`` takes one.
    missing : str or None
        The text of a missing cell; None if text is never missing.
    opset : int
        The version of the operators, 18 to 23. Before 19, text is looked up by ai.onnx.ml's LabelEncoder, and so is
        that of categories with more than 32 levels; all else is from the default domain.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from lambdak import SpectralRegressor
    >>> from lambdak.export import to_onnx
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SpectralRegressor(max_iter=1, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(model, f"{folder}/model.onnx", inputs="matrix")
    """
    for name, value, known in (("dtype", dtype, ("float64", "float32")), ("inputs", inputs, ("columns", "matrix"))):
        if value not in known:
            raise ValueError(f"{name} must be one of {list(known)}; got {value!r}")
    if missing is not None and not (isinstance(missing, str) and is_unicode(missing)):
        raise ValueError(f"missing must be a text that UTF-8 can spell, or None; got {missing!r}")
    if not isinstance(offset, bool):
        raise TypeError(f"offset must be True or False, whether the file has such an input; got {offset!r}")
    onnx = onnx_library()
    formula = Formula.of(model)
    if offset:
        check_offset(formula.model.loss)
    check_int(opset, "opset", *_OPSETS)
    _check_range(formula, check_dtype(dtype))
    names = [MATRIX] * len(formula.columns) if inputs == "matrix" else input_names(formula)
    graph = Graph(check_dtype(dtype), names)
    given = read_inputs(graph, formula, names, inputs == "matrix", missing, opset, offset)
    raw, *slopes = RowScores(graph, formula, explain).of(given.numbers, given.codes)
    found = results(graph, formula, raw if given.offset is None else raw + given.offset)
    if slopes:
        shape = [len(formula.columns)] if formula.model.outputs.single else [formula.n_outputs, len(formula.columns)]
        found.append(("slopes", slopes[0].reshape(-1, *shape), graph.dtype, shape))
    whole = graph.finished("lambdak", given.infos, _outputs(graph, found, [info.name for info in given.infos]))
    file = _file(onnx, graph, whole, properties(formula, names, missing), opset)
    write_bytes(path, file.SerializeToString())


def _check_range(formula: Formula, dtype: np.dtype[np.floating]) -> None:
    """Refuse what the type cannot hold: numbers beyond its range, or a column whose numbers all become one."""
    model = formula.model
    with np.errstate(over="ignore", under="ignore"):
        held = np.append(model.start, model.scale).astype(dtype)
        if not np.isfinite(held).all():
            raise ValueError(f"{dtype} does not hold raw scores of this size: export with dtype='float64'")
        for column in formula.columns:
            rule = column.rule
            ends = np.array([rule.low, rule.high]) if isinstance(rule, NumberRule) else np.arange(2.0)
            small = ends.astype(dtype)
            if not np.isfinite(small).all() or (ends[0] < ends[1] and small[0] == small[1]):
                raise ValueError(
                    f"{dtype} does not hold the numbers of column {column.name!r}, {ends[0]:g} to {ends[1]:g}: export "
                    "with dtype='float64', or change the units before the fit"
                )


def _outputs(graph: Graph, found: Sequence[Result], taken: Sequence[str]) -> list[Any]:
    infos = []
    for name, value, dtype, shape in found:
        own = free_name(name, taken)
        graph.named(value, own)
        kind = graph.onnx.TensorProto.STRING if dtype is object else graph.type_of(dtype)
        infos.append(graph.onnx.helper.make_tensor_value_info(own, kind, [ROWS, *shape]))
    return infos


def _file(onnx: Any, graph: Graph, whole: Any, about: dict[str, str], opset: int) -> Any:
    versions = {"": opset, ML_DOMAIN: _ML_OPSET}
    imports = [onnx.helper.make_opsetid(domain, versions[domain]) for domain in sorted(graph.domains)]
    file = onnx.helper.make_model(whole, opset_imports=imports, ir_version=_IR, producer_name="lambdak",
                                  producer_version=about["lambdak_version"])  # fmt: skip
    onnx.helper.set_model_props(file, about)
    if file.ByteSize() > _LARGEST:
        raise ValueError(
            f"the file would have {file.ByteSize():,} bytes, and ONNX ends at {_LARGEST:,}: fit with a smaller "
            "max_categories, or export with dtype='float32'"
        )
    onnx.checker.check_model(file, full_check=True)
    return file
