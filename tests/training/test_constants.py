"""Constants of training: each says why it is what it is, and which benchmark chose it where one did.

About ``effort``, ``whitening`` and all other modules of ``training`` and ``eigen``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from lambdak.training.effort import Recipe

ROOT = Path(__file__).parents[2]
ROOMS = ("training", "eigen")
WORDS = 2  # of a reason, at least


def is_number(node: ast.expr | None) -> bool:
    """Whether an expression is made of numbers only: a literal, a product of some, a tuple or a call with them."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(is_number, parts))
        case ast.Call(args=arguments, keywords=keywords):
            parts = [*arguments, *(keyword.value for keyword in keywords)]
            return bool(parts) and all(map(is_number, parts))
        case _:
            return False


def constants(text: str) -> Iterator[tuple[str, str]]:
    """Names of the numeric constants of a module, and the comments on their lines or right above."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
            continue
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        if not any(name.isupper() for name in names):
            continue  # a variable of the module
        above, comments = node.lineno - 2, [lines[node.end_lineno - 1].partition("#")[2]]
        while above >= 0 and lines[above].startswith("#"):
            comments.insert(0, lines[above].lstrip("# "))
            above -= 1
        yield ", ".join(sorted(names)), " ".join(comments).strip()


def modules() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / "src" / "lambdak" / room).rglob("*.py"))]


def test_every_numeric_constant_says_why():
    silent = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules()
        for name, reason in constants(path.read_text())
        if len(re.findall(r"\w{2,}", reason)) < WORDS
    ]
    assert not silent, f"say in a comment what bounds these numbers, or which benchmark chose them: {silent}"


def test_a_constant_without_a_comment_is_found_and_one_with_a_reason_above_is_not():
    text = "_A = 3\n# Rows of a table, so that a fit ends.\n_B = 1 << 4\n_C = [0.5, 2]  # tried in turn\n_d = 0\n"
    assert dict(constants(text)) == {
        "_A": "",
        "_B": "Rows of a table, so that a fit ends.",
        "_C": "tried in turn",
    }


def test_benchmarks_and_pages_that_a_reason_names_exist():
    for path in modules():
        for named in re.findall(r"(?:benchmarks|docs)/[\w/]+\.(?:py|md)", path.read_text()):
            assert (ROOT / named).is_file(), f"{path.relative_to(ROOT)} names {named}, which does not exist"


def test_what_the_study_of_the_recipe_varies_exists_and_names_the_study():
    text = (ROOT / "benchmarks" / "recipe.py").read_text()
    varied = re.findall(r'\("[\w -]+", (\w+), "(\w+)", \(', text)
    fields = set(re.findall(r'"(\w+)": \([\d.]', text))
    assert "members" in fields
    assert fields <= set(Recipe.__dataclass_fields__)
    assert ("effort", "_RATE") in varied
    for module, name in varied:
        reasons = dict(constants((ROOT / "src" / "lambdak" / "training" / f"{module}.py").read_text()))
        assert "benchmarks/recipe.py" in reasons[name], f"{module}.{name} does not name the study that chose it"
    assert "benchmarks/recipe.py" in (ROOT / "src" / "lambdak" / "training" / "effort.py").read_text().split('"""')[1]


def test_the_stages_that_the_study_of_time_measures_exist():
    text = (ROOT / "benchmarks" / "fit_time.py").read_text()
    stages = re.findall(r'"[\w -]+": \("(\w+)\.py", "(\w+)"\)', text)
    assert ("finish", "finished") in stages
    for module, name in stages:
        source = (ROOT / "src" / "lambdak" / "training" / f"{module}.py").read_text()
        assert f"\ndef {name}(" in source, f"benchmarks/fit_time.py names {name} of {module}.py, which is not there"
