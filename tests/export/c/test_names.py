"""Names and texts of any kind come out as C that compiles and says the same."""

from __future__ import annotations

import ctypes
import re
import subprocess

import pytest
from export_cases import HOSTILE
from exported_c import STRICT, compiler

from lambdak.export.c.names import comment, identifier, identifiers, literal

TEXTS = [
    *HOSTILE,
    "\ud800",
    "tail\\",
    "??=??(",
    "/",
    "*",
    "/*/",
    "//",
    "\u202eabc",
    "\x85",
    "ÿ1",
    "linux",
    "EOF",
    "M_PI",
]


def test_identifiers_are_plain_and_all_different():
    found = identifiers([*TEXTS, *TEXTS])
    assert len(set(found)) == 2 * len(TEXTS)
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) and len(name) < 63 for name in found)


@pytest.mark.parametrize(
    "taken", ["int", "class", "linux", "NULL", "M_PI", "EOF", "INT64_MAX", "math_errhandling", "MATH_ERRNO", "char16_t"]
)
def test_words_that_mean_something_are_changed(taken):
    assert identifier(taken) == f"{taken}_"


def test_names_that_are_fine_stay_as_they_are():
    names = ["income", "MedInc", "Age_2", "EXPOSURE", "X", "x1"]
    assert list(map(identifier, names)) == names


def test_literals_and_comments_survive_a_strict_compiler(tmp_path):
    source, library = tmp_path / "texts.c", tmp_path / "texts.so"
    listed = ",\n".join(f"  {literal(text)} /* {comment(text)} */" for text in TEXTS)
    source.write_text(f"extern const char *const texts[];\nconst char *const texts[] = {{\n{listed}}};\n", "utf-8")
    subprocess.run([compiler(), *STRICT, "-fPIC", "-shared", "-o", library, source], check=True)
    found = (ctypes.c_char_p * len(TEXTS)).in_dll(ctypes.CDLL(str(library)), "texts")
    assert list(found) == [text.encode("utf-8", "surrogatepass") for text in TEXTS]
