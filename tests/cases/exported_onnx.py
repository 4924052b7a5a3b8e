"""A model through its ONNX file and onnxruntime: the inputs it is given, and what it answers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
from export_cases import Answers, takes_offset

from lambdak.export.onnx import to_onnx
from lambdak.table.cells import is_missing

MISSING = "(missing)"


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feed(running, X, names, offset=None, missing=MISSING):
    """The inputs of some rows: (rows, 1) each, in the order of the columns; the offset is the input after them."""
    given = running.get_inputs()
    cells = {own.name: _cells(X[name], own.type, missing) for own, name in zip(given, names, strict=False)}
    if len(given) > len(names):
        cells[given[-1].name] = np.zeros((len(X), 1)) if offset is None else np.asarray(offset)[:, None]
    return cells


def _cells(column, kind, missing):
    if kind == "tensor(string)":
        texts = [missing if is_missing(cell) else cell if isinstance(cell, str) else repr(cell + 0) for cell in column]
        return np.array(texts, object)[:, None]
    dtype = np.float64 if kind == "tensor(double)" else np.float32
    return np.array([np.nan if is_missing(cell) else cell for cell in column], dtype)[:, None]


def opened(model, folder, explain):
    """The model's file, read by onnxruntime."""
    path, names = str(folder / "model.onnx"), [column.name for column in model.encoder.columns]
    model, renamed = told_apart(model)
    to_onnx(model, path, explain=explain, offset=takes_offset(model), missing=MISSING)
    running = session(path)

    def scored(X, offset):
        kept = [own.name for own in running.get_outputs()]
        X = X.assign(**{name: X[name].map(lambda cell, own=own: own.get(cell, cell) if isinstance(cell, str) else cell)
                        for name, own in renamed.items()})  # fmt: skip
        found = dict(zip(kept, running.run(None, feed(running, X, names, offset)), strict=True))
        raw = found[next(name for name in kept if name.rstrip("_") == "raw")]
        results = next(found[name] for name in kept if name.rstrip("_") in ("prediction", "quantiles", "probabilities"))
        slopes = found[kept[-1]] if explain else None
        return Answers(raw.reshape(len(X), -1), results.reshape(len(X), -1), chosen(model, raw, slopes))

    return scored


def told_apart(model):
    """The same with other text where it looks like a number among the levels, and that text by column."""
    renamed, columns = {}, []
    for column in model.encoder.columns:
        levels = getattr(column, "levels", ())
        numbers = {repr(level + 0) for level in levels if isinstance(level, int | float)}
        own = {level: f"text {level}" for level in levels if level in numbers}
        if own:
            renamed[column.name] = own
            column = replace(column, levels=tuple(own.get(level, level) for level in levels))
        columns.append(column)
    return model.replace(encoder=replace(model.encoder, columns=tuple(columns))), renamed


def chosen(model, raw, slopes):
    """Of slopes (rows, outputs, columns) those that ``explain_local`` shows."""
    if slopes is None or slopes.ndim == 2:
        return slopes
    outputs = slopes.shape[1]
    which = raw.argmax(axis=1) if model.loss.link.joint else np.full(len(raw), outputs // 2)
    return slopes[np.arange(len(raw)), which]


def properties(path):
    """Metadata of a file."""
    return {own.key: json.loads(own.value) if own.value[:1] in "[{" else own.value
            for own in onnx.load(path).metadata_props}  # fmt: skip
