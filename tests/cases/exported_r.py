"""Exports to R, run by the machine's Rscript."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from export_cases import Answers

from lambdak.export.r import to_r

READ = """
source("model.R")
hex <- function(text) {
  if (text == "") return(raw(0))
  strtoi(substring(text, seq(1, nchar(text), 2), seq(2, nchar(text), 2)), 16L)
}
text <- function(digits) { own <- rawToChar(as.raw(hex(digits))); Encoding(own) <- "UTF-8"; own }
double <- function(digits) readBin(as.raw(hex(digits)), "double", 1L, endian = "little")
"""
SCORE = """
source("rows.R")
print_all <- function(x) for (i in seq_len(nrow(x))) cat(sprintf("%a", x[i, ]), "\\n")
own <- model$raw(data{offset})
print_all(own)
print_all(as.matrix(model$predict(data{offset})))
{explain}
"""


def rscript():
    """The path of Rscript; the test is skipped where it is missing."""
    return shutil.which("Rscript") or pytest.skip("R is not installed")


def run(folder, program):
    """What a program beside the model prints."""
    (folder / "main.R").write_text(program, "ascii")
    done = subprocess.run([rscript(), "--vanilla", "main.R"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def encoded(cell):
    """A cell as an expression of R."""
    if cell is None or cell != cell:
        return "NA"
    if isinstance(cell, str):
        return f'text("{cell.encode().hex()}")'
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).upper()
    return f'double("{np.float64(cell).tobytes().hex()}")'


def column_of(cells):
    """Cells as an expression of R: a vector where all are text, or all numbers, and otherwise a list."""
    texts = {isinstance(cell, str) for cell in cells if cell is not None and cell == cell}
    return f"{'list' if len(texts) > 1 else 'c'}({', '.join(map(encoded, cells))})"


def data_of(X):
    """A data frame as an expression of R."""
    columns = ",\n".join(column_of(X.iloc[:, i].tolist()) for i in range(X.shape[1]))
    names = ", ".join(encoded(str(name)) for name in X.columns)
    return f'structure(list({columns}), names = c({names}), row.names = seq_len({len(X)}), class = "data.frame")'


def opened(model, folder, explain=False):
    """A function from rows to what the functions in R say of them."""
    to_r(model, folder / "model.R", explain=explain)

    def score(X, offset=None):
        given = "" if offset is None else f"offset <- c({', '.join(map(encoded, np.asarray(offset)))})\n"
        (folder / "rows.R").write_text(f"{given}data <- {data_of(X)}\n", "ascii")
        program = READ + SCORE.format(
            offset=", offset" if given else "", explain="print_all(model$explain(data))" * explain
        )
        numbers = [
            [float.fromhex(word) if "0x" in word else float(word) for word in line.split()]
            for line in run(folder, program).splitlines()
        ]
        parts = 3 if explain else 2
        return Answers(*(np.array(numbers[i * len(X) : (i + 1) * len(X)]) for i in range(parts)))

    return score
