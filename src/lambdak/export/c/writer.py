r"""The C file and its header: templates, written for a model named ``model``, with the tables of this one."""

from __future__ import annotations

import math
import os
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from lambdak.atomic import write_texts
from lambdak.export.c.names import RowStructure, check_levels, comment, identifier, literal
from lambdak.export.c.tables import MatrixLanes, tables
from lambdak.export.formula import Formula
from lambdak.losses import Predicts
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, LOG
from lambdak.pencil import REPEATED_TOL
from lambdak.table.rows import LARGEST_NUMBER


def to_c(model: Any, path: str | os.PathLike[str], *, explain: bool = False, name: str | None = None) -> None:
    """Write a model as one C99 file and, beside it, its header; neither needs anything but the C library.

    Parameters
    ----------
    model : estimator, Model or path
        A fitted estimator, its frozen model, or a file that ``save`` wrote.
    path : path
        The C file, such as ``price.c``; the header is ``price.h``. Older ones are replaced once the new are complete.
    explain : bool
        Whether ``<name>_explain`` is there too: the signed influence of every column, as in
        ``explain_local(X).influence``, beside the prediction.
    name : str, optional
        What all names in the header begin with; None takes that of the file.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lambdak import SpectralRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> to_c(SpectralRegressor(effort="fast", max_iter=2).fit(X, y), "diabetes.c")  # doctest: +SKIP
    """
    target = Path(path)
    if target.suffix != ".c":
        raise ValueError(f"path must end in .c; got {os.fspath(path)!r}: the header is written beside it")
    if set(target.name) & set('"\\?') or not target.name.isprintable():
        raise ValueError(
            f"path must be a name that C can include; got {target.name!r}: omit quotes, backslashes, question marks "
            "and what cannot be printed"
        )
    prefix = identifier(target.stem.lower()) if name is None else name
    if not isinstance(prefix, str) or prefix != identifier(prefix):
        raise ValueError(f"name must be a plain C identifier; got {prefix!r}: try {identifier(str(prefix))!r}")
    file = _File(Formula.of(model), prefix, target.with_suffix(".h").name, explain)
    write_texts({target.with_suffix(".h"): file.header(), target: file.source()})


def _number(end: float) -> str:
    """An end of the range of predictions in C."""
    return repr(end) if math.isfinite(end) else "INFINITY" if end > 0 else "-INFINITY"


class _File:
    """The two files of one model."""

    def __init__(self, formula: Formula, name: str, header: str, explain: bool) -> None:
        check_levels(formula.columns)
        self.formula, self.name, self.explain = formula, name, explain
        self.layout = MatrixLanes.of(formula)
        self.row = RowStructure(name, formula.columns)
        self.ordered = formula.model.loss.predicts is Predicts.ORDERED_CLASSES
        offset = formula.takes_offset
        self.parts = {
            "title": comment(f"{formula.model.estimator}, loss {formula.model.loss.name}"),
            "version": version("lambdak"),
            "source": header[:-1] + "c",
            "header": header,
            "offset": "double offset, " if offset else "",
            "given": "offset" if offset else "0",
            "passed": "offset, " if offset else "",
        }

    def header(self) -> str:
        """Text of the header, ``model.h``."""
        formula = self.formula
        fields = "\n".join(self.row.fields())
        return self._filled(
            "model.h",
            columns=str(len(self.formula.columns)),
            outputs=str(formula.n_outputs),
            results=str(len(formula.result_names)),
            meaning=comment(", ".join(formula.result_names)),
            stack=self._stack(),
            guarantees="".join(f"   - {comment(words)} (proven)\n" for words in formula.guarantees),
            positions=",\n".join(self.row.positions()),
            cell=self._filled("cell.h") if "_cell " in fields else "",
            fields=fields,
            labels=self._filled("classes.h", classes=str(len(formula.labels))) if formula.labels else "",
            offset_note=" The offset is added to the raw score: 0 if there is none." if self.parts["offset"] else "",
            explain=self._filled("explain.h") if self.explain else "",
            explain_cells=self._filled("explain_cells.h") if self.explain else "",
        )

    def source(self) -> str:
        """The C file."""
        classes = bool(self.formula.labels)
        parts = [
            self._filled("model.c", constants=self._constants(), tables=self._tables(),
                         stored="float" if self.formula.model.stored_dtype.itemsize == 4 else "double"),
            *map(self._filled, ["eigen.c", "cells.c", "scores.c", *self._links()]),
            *([self._filled("explain.c")] if self.explain else []),
            self._filled("api.c", reading="\n".join(self.row.reading())),
            *([self._filled("api_explain.c")] if self.explain else []),
            *([self._filled("api_classes.c")] if classes else []),
        ]  # fmt: skip
        return "\n".join(parts)

    def _filled(self, template: str, **parts: str) -> str:
        """A template with this model's name and parts; what is filled in is not looked at again."""
        text = files("lambdak.export.c").joinpath(template).read_text(encoding="utf-8")
        text = re.sub(r"\bmodel_", f"{self.name}_", re.sub(r"\bMODEL_", f"{self.name.upper()}_", text))
        known = self.parts | parts
        return re.sub(r"@([a-z_]+)@", lambda found: known[found[1]], text)

    def _constants(self) -> str:
        layout, model = self.layout, self.formula.model
        numbers: dict[str, object] = {
            "DIM": model.dim,
            "SIZE": layout.size,
            "COLUMNS": len(self.formula.columns),
            "OUTPUTS": self.formula.n_outputs,
            "RESULTS": len(self.formula.result_names),
            "MEMBERS": layout.members,
            "BLOCKS": layout.blocks,
            "LANES": layout.lanes,
            "GROUPS": layout.groups,
            "WIDTH": layout.width,
            "LAYERS": layout.layers,
            "MOST_READS": max(map(len, layout.reads())),
            "SCALE": repr(float(model.scale)),
            "LARGEST_OFFSET": repr(LARGEST_NUMBER),
        }
        link = model.loss.output_link
        numbers |= {} if self.ordered or link.joint else {"LOWEST": _number(link.low), "HIGHEST": _number(link.high)}
        if model.loss.link in (LOG, CLOGLOG):
            numbers["EXPONENT_LIMIT"] = repr(EXPONENT_LIMIT)
        if self.explain:
            numbers |= {"REPEATED": repr(REPEATED_TOL), "JOINT": int(model.loss.link.joint)}
        return "\n".join(f"#define {name} {value}" for name, value in numbers.items())

    def _tables(self) -> str:
        name, formula = self.name, self.formula
        listed = {
            f"{name}_column_names[COLUMNS]": [column.name for column in formula.columns],
            f"{name}_result_names[RESULTS]": list(formula.result_names),
            **({f"{name}_labels[RESULTS]": list(map(str, formula.labels))} if formula.labels else {}),
        }
        names = (
            f"const char *const {array} = {{{', '.join(map(literal, texts))}}};" for array, texts in listed.items()
        )
        return "\n".join([*names, "", tables(formula, self.layout)])

    def _links(self) -> list[str]:
        """The templates of the inverse link, and of the class that is predicted."""
        loss = self.formula.model.loss
        if self.ordered:
            return ["links/logistic.c", "links/ordered_classes.c", "links/median_class.c"]
        if loss.predicts is not Predicts.CLASSES:
            return ["links/limited.c", f"links/{loss.link.name}.c"]
        two = ["links/limited.c", "links/logistic.c", "links/two_classes.c"]
        if loss.link is CLOGLOG:
            two = ["links/limited.c", "links/event.c"]
        inverse = ["links/softmax.c"] if loss.link.joint else two
        return [*inverse, "links/most_probable.c"]

    def _stack(self) -> str:
        layout, dim = self.layout, self.formula.model.dim
        numbers = 4 * layout.size * layout.lanes + 8 * dim * layout.lanes + 5 * len(self.formula.columns) + 4 * dim
        numbers += 2 * dim * dim + layout.size * (2 * layout.lanes + 1) if self.explain else 0
        return f"{-(-numbers * 8 // 1000) + 1} kB"
