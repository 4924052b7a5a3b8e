"""Exports to Java, compiled and run by the machine's JDK."""

from __future__ import annotations

import base64
import shutil
import subprocess

import numpy as np
import pytest
from export_cases import Answers

from lambdak.export.formula import Formula
from lambdak.export.java import to_java

SCORE = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

public class Score {
  static Object cell(String line) throws Exception {
    String rest = line.substring(1);
    switch (line.charAt(0)) {
      case 't': return new String(Base64.getDecoder().decode(rest), StandardCharsets.UTF_16LE);
      case 'd': return Double.parseDouble(rest);
      case 'l': return Long.parseLong(rest);
      case 'b': return rest.equals("True");
      default: return null;
    }
  }

  static void print(StringBuilder out, double[] numbers) {
    for (double x : numbers) out.append(Double.doubleToRawLongBits(x)).append(' ');
    out.append('\\n');
  }

  public static void main(String[] args) throws Exception {
    List<String> lines = Files.readAllLines(Paths.get("rows.txt"), StandardCharsets.US_ASCII);
    StringBuilder out = new StringBuilder();
    int columns = Model.COLUMNS.size();
    for (int at = 0; at + columns < lines.size(); at += columns + 1) {
      Object[] cells = new Object[columns];
      Map<String, Object> row = new HashMap<>();
      for (int i = 0; i < columns; i++) row.put(Model.COLUMNS.get(i), cells[i] = cell(lines.get(at + 1 + i)));
      String offset = lines.get(at);
      print(out, @raw@);
      print(out, @predict@);
      @explain@
    }
    System.out.print(out);
  }
}
"""


def javac():
    """The path of the compiler; the test is skipped where it is missing."""
    return shutil.which("javac") or pytest.skip("no JDK is installed")


def run(folder, program, name="Score"):
    """What a program beside the model prints; compiled for Java 8, as far as this compiler can check that."""
    (folder / f"{name}.java").write_text(program, "utf-8")
    words = [javac(), "--release", "8", "-Xlint:all,-options", "-Werror", "-encoding", "ascii", f"{name}.java"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:3000] + done.stderr[:3000]
    done = subprocess.run(["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", name], cwd=folder, capture_output=True,
                          text=True, encoding="utf-8")  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout


def encoded(cell):
    """A cell as a line of the program's input."""
    if cell is None or cell != cell:
        return "n"
    if isinstance(cell, str):
        return "t" + base64.b64encode(cell.encode("utf-16-le", "surrogatepass")).decode()
    if isinstance(cell, bool | np.bool_):
        return f"b{bool(cell)}"
    return f"l{int(cell)}" if isinstance(cell, int | np.integer) else f"d{float(cell)!r}"


def opened(model, folder, explain=False):
    """A function from rows to what the compiled class says of them."""
    to_java(model, folder / "Model.java", explain=explain)
    takes = Formula.of(model).takes_offset

    def score(X, offset=None):
        given = [""] * len(X) if offset is None else [repr(float(own)) for own in offset]
        rows = zip(*(X.iloc[:, i].tolist() for i in range(X.shape[1])), strict=True)
        lines = [line for one, row in zip(given, rows, strict=True) for line in (one, *map(encoded, row))]
        (folder / "rows.txt").write_text("\n".join(lines) + "\n", "ascii")
        plain, added = "{}(cells)", "offset.isEmpty() ? {0}(row) : {0}(cells, Double.parseDouble(offset))"
        call = added if takes else plain
        text = SCORE.replace("@raw@", call.format("Model.raw")).replace("@predict@", call.format("Model.predict"))
        text = text.replace("@explain@", "print(out, Model.explain(row, -1));" if explain else "")
        printed = [np.array(line.split(), np.int64).view(np.float64) for line in run(folder, text).splitlines()]
        parts = 3 if explain else 2
        return Answers(*(np.array(printed[i::parts]) for i in range(parts)))

    return score
