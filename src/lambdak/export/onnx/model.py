"""The whole file: inputs, rows, results and what it says about itself, checked before it is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from lambdak._checks import check_dtype, check_int
from lambdak.atomic import write_bytes
from lambdak.export.formula import Formula
from lambdak.export.onnx.document import properties
from lambdak.export.onnx.graph import Graph, onnx_library
from lambdak.export.onnx.inputs import MATRIX, ROWS, free_name, input_names, is_unicode, read_inputs
from lambdak.export.onnx.levels import ML_DOMAIN
from lambdak.export.onnx.results import Result, results
from lambdak.export.onnx.rows import RowScores
from lambdak.model.rows import check_offset
from lambdak.table.cell_rules import NumberRule

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
