r"""The file of R: templates with the constants of this model, as hexadecimal digits, which R reads to the last bit."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lambdak.atomic import write_texts
from lambdak.export.flat import FlatModel, check_levels, filled
from lambdak.export.formula import Formula
from lambdak.losses import Predicts
from lambdak.losses.links import EXPONENT_LIMIT
from lambdak.pencil import REPEATED_TOL
from lambdak.table.rows import LARGEST_NUMBER
from lambdak.table.visible import visible

_DIGITS = 4_000  # of a line: R takes longer ones, but editors do not
_TAKEN = """
    if else repeat while function for next break TRUE FALSE NULL Inf NaN NA
    NA_integer_ NA_real_ NA_character_ NA_complex_
"""


def to_r(model: Any, path: str | os.PathLike[str], *, explain: bool = False, name: str | None = None) -> None:
    """Write a model as one file of base R, whose functions take a data frame.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, its frozen model, or a file that ``save`` wrote.
    path : path
        The file, such as ``price.R``.
    explain : bool
        Whether ``explain`` is there too: the signed influence of every column, as in ``explain_local(X).influence``.
    name : str, optional
        That of the list of functions; None takes that of the file.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lambdak import SpectralRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> to_r(SpectralRegressor(effort="fast", max_iter=2).fit(X, y), "diabetes.R")  # doctest: +SKIP
    """
    target = Path(path)
    if target.suffix.lower() != ".r":
        raise ValueError(f"path must end in .R; got {os.fspath(path)!r}")
    own = re.sub(r"[^A-Za-z0-9_.]+", "_", target.stem) if name is None else name
    if not isinstance(own, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.]*", own) or own in _TAKEN.split():
        raise ValueError(f"name must be a plain name of R: letters, digits, dots and underscores; got {own!r}")
    write_texts({target: _source(FlatModel(Formula.of(model)), own, target.name, explain)})


def _source(flat: FlatModel, name: str, file: str, explain: bool) -> str:
    """Return the text of the file."""
    formula, model = flat.formula, flat.formula.model
    _check(formula)
    texts, numbers, offset = flat.text_levels, flat.number_levels, formula.takes_offset
    parts = {
        "title": comment(f"{model.estimator}, loss {model.loss.name}."),
        "version": version("lambdak"),
        "file": comment(file),
        "name": name,
        "offset_note": ", offset" if offset else "",
        "meaning": comment(", ".join(formula.result_names)),
        "more_functions": _more_functions(formula, name, explain),
        "columns": "\n".join(f"#   {comment(repr(column.name))}" for column in formula.columns),
        "guarantees": "".join(f"\n# Proven: {comment(words)}." for words in formula.guarantees),
        "dim": model.dim,
        "size": flat.blocks[0].shape[-1],
        "members": len(model.weights),
        "design": flat.blocks[0].shape[1],
        "outputs": formula.n_outputs,
        "scale": _hex(model.scale),
        "lowest": _hex(model.loss.output_link.low),
        "highest": _hex(model.loss.output_link.high),
        "largest_offset": repr(LARGEST_NUMBER),
        "exponent_limit": repr(EXPONENT_LIMIT),
        "repeated": repr(REPEATED_TOL),
        "joint": str(model.loss.link.joint).upper(),
        "families": len(flat.families),
        "stored": model.stored_dtype.itemsize,
        "column_names": _texts(column.name for column in formula.columns),
        "result_names": _texts(formula.result_names),
        "labels": _labels(formula),
        "guarantee_texts": _texts(formula.guarantees),
        "weights": _digits(model.weights),
        "start": _digits(model.start),
        "constants": _digits(flat.constants),
        "reads": _digits(flat.reads),
        "blocks": ",\n    ".join(_digits(np.asarray(coef)) for coef in flat.blocks),
        "whole": _digits(flat.whole),
        "numbers": _digits(flat.numbers),
        "knots": _digits(flat.knots),
        "text_levels": _texts(text for _, text, _ in texts),
        "text_owners": _digits(np.array([i for i, _, _ in texts], np.int32)),
        "text_ids": _digits(np.array([id_ for _, _, id_ in texts], np.int32)),
        "number_levels": _digits(np.array([number for _, number, _ in numbers], np.float64)),
        "number_owners": _digits(np.array([i for i, _, _ in numbers], np.int32)),
        "number_ids": _digits(np.array([id_ for _, _, id_ in numbers], np.int32)),
        "link": "".join(map(_template, [*flat.links, *(["explain"] if explain else [])])),
        "functions": _functions(formula, explain),
    }
    return filled(_template("model"), parts)


def _check(formula: Formula) -> None:
    """Refuse texts that R cannot hold, and numbers that it would round."""
    check_levels(formula.columns)
    named = [(f"column {column.name!r}", column.name) for column in formula.columns]
    named += [
        (f"a level of column {column.name!r}", level)
        for column in formula.columns
        for level in column.known_levels
        if isinstance(level, str)
    ]
    named += [(f"the class {label!r}", str(label)) for label in formula.labels]
    for what, text in named:
        if "\0" in text or any(0xD800 <= ord(sign) < 0xE000 for sign in text):
            raise ValueError(f"{what} has a sign that text in R cannot hold; got {text!r}: rename it before the fit")


def _template(name: str) -> str:
    return files("lambdak.export.r").joinpath(f"{name}.R").read_text(encoding="utf-8")


def _more_functions(formula: Formula, name: str, explain: bool) -> str:
    """Return the lines of the head about functions that not every model has."""
    offset = ", offset" if formula.takes_offset else ""
    lines = [f"#   {name}$classify(data{offset})   the label that is predicted\n"] * bool(formula.labels)
    lines += [f"#   {name}$explain(data, output)   the signed influence of every column on a raw score\n"] * explain
    return "".join(lines)


def _functions(formula: Formula, explain: bool) -> str:
    """Return the list of functions."""
    given, passed = ("data, offset = 0", "data, offset") if formula.takes_offset else ("data", "data")
    listed = [
        f"predict = function({given}) named(inverse_link(raw_of({passed})), RESULTS)",
        f"raw = function({given}) raw_of({passed})",
    ]
    if formula.labels:
        ordered = formula.model.loss.predicts is Predicts.ORDERED_CLASSES
        large = "cbind(raw_of({0}) >= 0, 1)" if ordered else "inverse_link(raw_of({0}))"
        chosen = f'max.col({large.format(passed)}, "first")'
        listed.append(f"classify = function({given}) LABELS[{chosen}]")
    if explain:
        listed.append("explain = influences")
    listed += ["columns = COLUMNS", "results = RESULTS", "labels = LABELS", "guarantees = GUARANTEES"]
    return "  list(\n    " + ",\n    ".join(listed) + "\n  )"


def _labels(formula: Formula) -> str:
    """Return the labels as R has them: numbers, booleans or texts."""
    labels = formula.labels
    if labels and all(isinstance(label, bool) for label in labels):
        return "c(FALSE, TRUE)"
    if labels and all(isinstance(label, int | float) for label in labels):
        return f"doubles({_digits(np.array(labels, np.float64))})"
    return f"texts({_texts(map(str, labels))})"


def _hex(number: float) -> str:
    """Return one double in hexadecimal digits."""
    return struct.pack("<d", number).hex()


def _digits(values: NDArray[Any] | bytes) -> str:
    """Return little-endian numbers in hexadecimal digits, as texts of R."""
    if isinstance(values, bytes):
        digits = values.hex()
    else:
        digits = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes().hex()
    parts = [f'"{digits[i : i + _DIGITS]}"' for i in range(0, len(digits), _DIGITS)]
    return f"c({', '.join(parts)})" if len(parts) != 1 else parts[0]


def _texts(texts: Iterable[str]) -> str:
    """Return texts in UTF-8, each after the number of its bytes."""
    encoded = (text.encode() for text in texts)
    return _digits(b"".join(len(own).to_bytes(4, "little") + own for own in encoded))


def comment(text: str) -> str:
    r"""Text on one line of ASCII, without the @ that marks the parts of a template.

    >>> print(comment("é\nstop() @scale@"))
    \xe9\nstop() \x40scale\x40
    """
    return visible(text).encode("ascii", "backslashreplace").decode("ascii").replace("@", r"\x40")
