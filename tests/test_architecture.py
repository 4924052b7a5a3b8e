"""The tree is the data flow: a module imports only from modules above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import lambdak

SOURCE = Path(lambdak.__file__).parent

ORDER = [
    "_checks",
    "atomic",
    "eigen",
    "pencil",
    "table",
    "losses",
    "training",
    "model",
    "certify",
    "explain",
    "store",
    "report",
    "estimators",
    "torch",
    "paper",
    "cli",
]


PAPER_ORDER = ["profiles", "data", "parts", "synthetic", "real", "output"]


def imports(path, typing=False):
    """Modules that a file imports when it runs, anywhere in it, as dotted names; with ``typing``, all it names."""
    tree = ast.parse(path.read_text())
    typing_only = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    ignored = set() if typing else {part for node in typing_only for part in ast.walk(node)}
    for node in ast.walk(tree):
        if node in ignored:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules():
    """(stage, file) of every module; a package is one stage."""
    for path in SOURCE.rglob("*.py"):
        stage = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if stage != "__init__":
            yield stage, path


def test_every_module_has_a_place_in_the_order():
    assert {stage for stage, _ in modules()} <= set(ORDER)


def test_modules_import_only_from_modules_above_them():
    for stage, path in modules():
        for target in imports(path):
            if target.startswith("lambdak."):
                module = target.split(".")[1]
                inside = module == stage and path.parent != SOURCE
                assert inside or module in ORDER[: ORDER.index(stage)], (
                    f"{path.name} imports {module}, which is not above it"
                )


def test_the_parts_of_paper_import_only_from_parts_above_them():
    root = SOURCE / "paper"
    for path in root.rglob("*.py"):
        part = path.relative_to(root).parts[0].removesuffix(".py")
        for target in imports(path, typing=True):
            if target.startswith("lambdak.paper."):
                allowed = PAPER_ORDER[: PAPER_ORDER.index(part) + 1] if part != "__init__" else []
                assert target.split(".")[2] in allowed, f"{path} imports {target}, which is not above it"


def test_only_plots_and_the_papers_figures_import_matplotlib_and_only_its_baselines_and_the_torch_package_torch():
    for stage, path in modules():
        roots = {target.split(".")[0] for target in imports(path)}
        assert "torch" not in roots or stage == "torch" or path.parts[-2:] == ("real", "baselines.py"), path.name
        drawing = path.stem == "plots" or path.parent == SOURCE / "paper" / "output" / "figures"
        assert "matplotlib" not in roots or drawing, path.name


def test_importing_the_package_loads_neither_matplotlib_nor_torch():
    code = "import sys, lambdak; print({'matplotlib', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_public_names_exist_are_sorted_and_are_strings():
    names = lambdak.__all__
    assert names == sorted(names)
    assert all(hasattr(lambdak, name) for name in names)
