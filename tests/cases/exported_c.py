"""Exports to C: compiled with the machine's compiler, and called through ctypes."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess

import numpy as np
import pytest
from export_cases import Answers

from lambdak.export.c import to_c
from lambdak.export.formula import Formula

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
NAME = "model"
STRUCTS = {True: ctypes.c_char_p, False: ctypes.c_double}


def compiler(*names):
    """The first of these compilers that is installed; the test is skipped where there is none."""
    found = next(filter(None, map(shutil.which, names or (os.environ.get("CC", "cc"), "gcc", "clang"))), None)
    return found or pytest.skip(f"no C compiler: none of {', '.join(names) or 'cc, gcc, clang'} is installed")


def built(model, folder, explain=False, flags=("-O1",), command=None):
    """The library of a model."""
    to_c(model, folder / f"{NAME}.c", explain=explain)
    library = folder / f"{NAME}.so"
    words = [command or compiler(), *STRICT, *flags, "-fPIC", "-shared", "-o", library, folder / f"{NAME}.c", "-lm"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return library


class Mixed(ctypes.Structure):
    """A cell that is text or a number."""

    _fields_ = (("text", ctypes.c_char_p), ("number", ctypes.c_double))


class Library:
    """A compiled model."""

    def __init__(self, path, model, explain=False):
        self.formula, self.explains = Formula.of(model), explain
        self.library = ctypes.CDLL(str(path))
        self.offset = not self.formula.model.loss.no_offset
        self.kinds = [self._kind(column) for column in self.formula.columns]
        fields = [(f"f{i}", kind) for i, kind in enumerate(self.kinds)]
        self.row_type = type("Row", (ctypes.Structure,), {"_fields_": fields})
        for name in ("level", "number_level"):
            function = getattr(self.library, f"{NAME}_{name}")
            function.restype = ctypes.c_double
        self.library.model_number_level.argtypes = [ctypes.c_int, ctypes.c_double]

    @staticmethod
    def _kind(column):
        if column.is_number:
            return ctypes.c_double
        levels = column.rule
        return Mixed if levels.take_numbers and levels.take_text else STRUCTS[levels.take_text]

    def row(self, cells):
        return self.row_type(*(self._cell(kind, cell) for kind, cell in zip(self.kinds, cells, strict=True)))

    def _cell(self, kind, cell):
        missing = cell is None or cell != cell
        if kind is ctypes.c_double:
            return math.nan if missing else float(cell)
        text = cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else None
        if kind is ctypes.c_char_p:
            return text
        return Mixed(text, math.nan if missing or text is not None else float(cell))

    def call(self, name, cells, size, offset=None, *between, code=0):
        """The numbers that a function writes, and influences if it writes these."""
        out = [(ctypes.c_double * n)() for n in ([size] if isinstance(size, int) else size)]
        given = [ctypes.c_double(0.0 if offset is None else offset)] if self.offset else []
        found = getattr(self.library, f"{NAME}_{name}")(ctypes.byref(self.row(cells)), *given, *between, *out)
        assert found == code
        return [np.array(each) for each in out]

    def __call__(self, X, offset=None):
        rows = list(zip(*(X.iloc[:, i].tolist() for i in range(X.shape[1])), strict=True))
        offsets = [None] * len(rows) if offset is None else np.asarray(offset).tolist()
        results, columns = len(self.formula.result_names), X.shape[1]
        parts = zip(rows, offsets, strict=True)
        found = [self.call("raw", row, self.formula.n_outputs, o) + self._results(row, o, results, columns)
                 for row, o in parts]  # fmt: skip
        stacked = [np.array(each) for each in zip(*found, strict=True)]
        return Answers(*stacked)

    def _results(self, row, offset, results, columns):
        if self.explains:
            return self.call("explain", row, [results, columns], offset, -1)
        return self.call("predict", row, results, offset)


def opened(model, folder, explain=False):
    """A function from rows to what the compiled model says of them."""
    return Library(built(model, folder, explain), model, explain)
