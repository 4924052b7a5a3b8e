r"""The Java class: templates with the constants of this model, as base64 in strings that a class file can hold."""

from __future__ import annotations

import base64
import math
import os
import re
from collections.abc import Iterable, Sequence
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

_BYTES = 45_000  # of a string: 60,000 signs in base64, where a class file holds 65,535 (JVM specification, 4.4.7)
_STRINGS = 2_000  # of one array: each takes some 7 bytes of an initialiser, which holds 65,535 (4.7.3)
# Words of Java, and names that the class uses itself; Block0, Block1, ... are matrices.
_TAKEN = """
    abstract assert boolean break byte case catch char class const continue default do double else enum extends
    final finally float for goto if implements import instanceof int interface long native new package private
    protected public return short static strictfp super switch synchronized this throw throws transient try void
    volatile while true false null _ var record yield sealed permits Object String Double Integer Long Number
    Boolean Character CharSequence Math List Map HashMap Arrays ArrayList Collections Base64 ByteBuffer
    ByteOrder BigDecimal BigInteger IllegalArgumentException Data Eigen Column Entries Override java
"""


def to_java(model: Any, path: str | os.PathLike[str], *, explain: bool = False, package: str | None = None) -> None:
    """Write a model as one Java class without dependencies, for Java 8 or later.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, its frozen model, or a file that ``save`` wrote.
    path : path
        The file, such as ``Price.java``; the class has its name.
    explain : bool
        Whether ``explain`` is there too: the signed influence of every column, as in ``explain_local(X).influence``.
    package : str, optional
        The package that the class belongs to, such as ``com.bank.scores``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lambdak import SpectralRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> to_java(SpectralRegressor(effort="fast", max_iter=2).fit(X, y), "Diabetes.java")  # doctest: +SKIP
    """
    target = Path(path)
    name = target.stem
    if target.suffix != ".java" or not _is_name(name) or re.fullmatch(r"Block\d+(_\d+)?", name):
        raise ValueError(
            f"path must be the name of a class with .java, such as 'Price.java'; got {os.fspath(path)!r}: letters, "
            "digits and underscores, no digit first, and no word of Java or of the class itself"
        )
    if package is not None and not (isinstance(package, str) and all(map(_is_name, package.split(".")))):
        raise ValueError(f"package must be names joined by dots, such as 'com.bank.scores'; got {package!r}")
    write_texts({target: _source(FlatModel(Formula.of(model)), name, explain, package)})


def _is_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) is not None and text not in _TAKEN.split()


def _source(flat: FlatModel, name: str, explain: bool, package: str | None) -> str:
    """Return the text of the class."""
    formula, model = flat.formula, flat.formula.model
    check_levels(formula.columns)
    data, blocks = _small(flat), [f"Block{i}" for i in range(len(flat.blocks))]
    single = model.stored_dtype.itemsize == 4
    large = {own: _strings(coef) for own, coef in zip(blocks, flat.blocks, strict=True)}
    parts = {
        "name": name,
        "package": f"package {package};\n\n" if package else "",
        "title": comment(f"{model.estimator}, loss {model.loss.name}."),
        "version": version("lambdak"),
        "columns": "\n".join(f" *   {comment(repr(column.name))}" for column in formula.columns),
        "guarantees": "".join(f" * <p>Proven: {comment(words)}.\n *\n" for words in formula.guarantees),
        "dim": model.dim,
        "members": len(model.weights),
        "design": flat.blocks[0].shape[1],
        "outputs": formula.n_outputs,
        "scale": repr(float(model.scale)),
        "largest_offset": repr(LARGEST_NUMBER),
        "exponent_limit": repr(EXPONENT_LIMIT),
        "lowest": _end(model.loss.output_link.low),
        "highest": _end(model.loss.output_link.high),
        "repeated": repr(REPEATED_TOL),
        "joint": str(model.loss.link.joint).lower(),
        "stored": "float" if single else "double",
        "blocks": ", ".join(f"{'floats' if single else 'doubles'}({own}.all())" for own in blocks),
        "data": "\n".join(f"    static final String[] {own} = {_array(strings)};" for own, strings in data.items()),
        "more_data": "".join(_holder(own, strings) for own, strings in large.items()),
        "link": "".join(_template(f"links/{link}") for link in flat.links),
        "eigen": _template("eigen"),
        "explain": _template("explain") if explain else "",
        "offset_api": _template("api_offset") if formula.takes_offset else "",
        "class_api": _template(_label(formula)) if formula.labels else "",
        "explain_api": _template("api_explain") if explain else "",
    }
    return filled(_template("Model"), parts)


def _template(name: str) -> str:
    return files("lambdak.export.java").joinpath(f"{name}.java").read_text(encoding="utf-8")


def _end(end: float) -> str:
    """Return an end of the range of predictions in Java."""
    return repr(end) if math.isfinite(end) else f"Double.{'POSITIVE' if end > 0 else 'NEGATIVE'}_INFINITY"


def _label(formula: Formula) -> str:
    ordered = formula.model.loss.predicts is Predicts.ORDERED_CLASSES
    return "api_median_class" if ordered else "api_most_probable"


def _small(flat: FlatModel) -> dict[str, list[str]]:
    """Return all constants but the matrices, by name."""
    formula, model = flat.formula, flat.formula.model
    texts, numbers = flat.text_levels, flat.number_levels
    return {
        "COLUMNS": _texts(column.name for column in formula.columns),
        "RESULTS": _texts(formula.result_names),
        "LABELS": _texts(map(str, formula.labels)),
        "GUARANTEES": _texts(formula.guarantees),
        "WEIGHTS": _strings(model.weights),
        "START": _strings(model.start),
        "CONSTANTS": _strings(flat.constants),
        "READS": _strings(flat.reads),
        "WHOLE": _strings(flat.whole),
        "NUMBERS": _strings(flat.numbers),
        "KNOTS": _strings(flat.knots),
        "TEXT_OWNERS": _strings(np.array([i for i, _, _ in texts], np.int32)),
        "TEXT_IDS": _strings(np.array([id_ for _, _, id_ in texts], np.int32)),
        "TEXT_LEVELS": _texts(text for _, text, _ in texts),
        "NUMBER_OWNERS": _strings(np.array([i for i, _, _ in numbers], np.int32)),
        "NUMBER_IDS": _strings(np.array([id_ for _, _, id_ in numbers], np.int32)),
        "NUMBER_LEVELS": _strings(np.array([number for _, number, _ in numbers], np.float64)),
    }


def _strings(values: NDArray[Any] | bytes) -> list[str]:
    """Return little-endian numbers in base64, in strings of a length that a class file can hold."""
    if isinstance(values, bytes):
        raw = values
    else:
        raw = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    return [base64.b64encode(raw[i : i + _BYTES]).decode("ascii") for i in range(0, len(raw), _BYTES)]


def _texts(texts: Iterable[str]) -> list[str]:
    """Return texts in UTF-16, each after the number of its bytes."""
    encoded = (text.encode("utf-16-le", "surrogatepass") for text in texts)
    return _strings(b"".join(len(own).to_bytes(4, "little") + own for own in encoded))


def _array(strings: Sequence[str]) -> str:
    return "{" + ", ".join(f'"{own}"' for own in strings) + "}"


def _holder(name: str, strings: Sequence[str]) -> str:
    """Return classes that hold the strings of one block of matrices: one for each initialiser that the JVM takes."""
    parts = [strings[i : i + _STRINGS] for i in range(0, len(strings), _STRINGS)]
    held = "".join(
        f"  private static final class {name}_{i} {{\n    static final String[] PART = {_array(part)};\n  }}\n\n"
        for i, part in enumerate(parts)
    )
    streams = ", ".join(f"Arrays.stream({name}_{i}.PART)" for i in range(len(parts)))
    return (
        f"\n{held}  private static final class {name} {{\n    static String[] all() {{\n      return "
        f"java.util.stream.Stream.of({streams}).flatMap(part -> part).toArray(String[]::new);\n    }}\n  }}\n"
    )


def comment(text: str) -> str:
    r"""Text that neither ends a comment, nor is read as HTML, a tag or an escape of Java.

    >>> print(comment("a */ b \\u002a <b> @x"))
    a &#42;/ b &#92;u002a &lt;b&gt; &#64;x
    """
    shown = visible(text).encode("ascii", "xmlcharrefreplace").decode("ascii")
    shown = re.sub(r"&(?!#\d+;)", "&amp;", shown)
    for sign in "*\\<>@{}":
        shown = shown.replace(sign, {"<": "&lt;", ">": "&gt;"}.get(sign, f"&#{ord(sign)};"))
    return shown
