"""The tree is the data flow: a module imports only from modules above it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lambdak

SOURCE = Path(lambdak.__file__).parent
TESTS = Path(__file__).parent

ORDER = [
    "_types",
    "_checks",
    "atomic",
    "eigen",
    "pencil",
    "table",
    "shapes",
    "losses",
    "model",
    "training",
    "certify",
    "explain",
    "optimize",
    "governance",
    "store",
    "export",
    "report",
    "estimators",
    "dask",
    "autogluon",
    "mlflow",
    "torch",
    "jax",
    "paper",
    "cli",
]


PAPER_ORDER = ["profiles", "protocols", "data", "workers", "parts", "synthetic", "real", "output"]


# What proves, explains, saves or shows a model never needs what trains it.
READERS = ["certify", "explain", "optimize", "governance", "store", "report", "export"]

# The files that a third-party library belongs to; NumPy, SciPy and scikit-learn are everyone's.
OWNERS = {
    "matplotlib": [
        "explain/plots/",
        "governance/plots.py",
        "governance/performance/plots.py",
        "governance/tables/plots.py",
        "paper/output/figures/",
        "table/shown.py",
    ],
    "IPython": ["training/live_curve.py"],
    "fairlearn": ["governance/fairness/groups.py"],
    "mlflow": ["mlflow/"],
    "torch": ["torch/", "paper/real/baselines.py"],
    "jax": ["jax/"],
    "skpro": ["estimators/skpro.py"],
    "autogluon": ["autogluon.py"],
    "cvxpy": ["optimize/convex/cvxpy.py"],
    "onnx": ["export/onnx/graph.py"],
    "zuko": ["torch/flow.py"],
    "safetensors": ["store/_tensors.py", "training/checkpoint_file.py"],
    "narwhals": ["table/read.py", "table/frames.py", "table/dates.py", "cli/"],
    "rich": [
        "certify/certificate.py",
        "explain/progress.py",
        "training/members.py",
        "training/large/fit.py",
        "dask/progress.py",
        "paper/data/files.py",
        "cli/",
    ],
    "openpyxl": ["governance/tables/excel.py"],
    "typer": ["cli/"],
    "threadpoolctl": ["eigen/blas.py", "paper/real/runs.py", "cli/demo.py"],
    "pyarrow": ["paper/", "cli/tables.py", "table/large/"],
    "docx": ["report/word.py"],
    "cryptography": ["store/_keys.py", "store/_signature.py"],
    "joblib": ["eigen/runtime.py", "paper/workers.py"],
    "skops": ["estimators/files.py"],
    "distributed": ["dask/", "paper/workers.py"],
}


def imports(path):
    """Modules that a file imports anywhere in it, also where only a type checker looks, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules():
    """(stage, file) of every module; a package is one stage."""
    for path in SOURCE.rglob("*.py"):
        stage = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if stage not in ("__init__", "__main__"):
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
        for target in imports(path):
            if target.startswith("lambdak.paper."):
                allowed = PAPER_ORDER[: PAPER_ORDER.index(part) + 1] if part != "__init__" else []
                assert target.split(".")[2] in allowed, f"{path} imports {target}, which is not above it"


def test_what_reads_a_model_does_not_import_what_trains_it():
    for stage, path in modules():
        if stage in READERS:
            assert not [each for each in imports(path) if each.startswith("lambdak.training")], path


def test_third_party_libraries_stay_with_their_owners():
    for _, path in modules():
        name = path.relative_to(SOURCE).as_posix()
        for library in {target.split(".")[0] for target in imports(path)} & set(OWNERS):
            assert name.startswith(tuple(OWNERS[library])), f"{name} imports {library}"


def test_the_root_holds_packages_and_next_to_nothing_else():
    language = ("__pycache__", "__init__.py", "__main__.py", "py.typed")
    entries = {path.name for path in SOURCE.iterdir() if path.name not in language}
    assert entries == {name if (SOURCE / name).is_dir() else f"{name}.py" for name in ORDER}
    assert len(entries) <= 25


def loaded_by(code):
    """Names of all modules that a fresh interpreter has loaded after some code."""
    program = f"{code}\nimport sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.split())


def rooms(names):
    """The packages of lambdak among names of modules."""
    return {name.split(".")[1] for name in names if name.startswith("lambdak.")}


def test_importing_the_package_loads_nothing_but_itself():
    loaded = loaded_by("import lambdak; lambdak.__version__")
    assert not rooms(loaded)
    assert not {"numpy", "scipy", "sklearn"} & loaded


@pytest.mark.slow
def test_an_estimator_loads_what_predicts_but_nothing_that_trains_or_reads_models():
    loaded = loaded_by("from lambdak import SpectralRegressor")
    assert "lambdak.estimators.regressors" in loaded
    assert "lambdak.training.fit" not in loaded
    assert not rooms(loaded) & {
        "certify",
        "store",
        "explain",
        "export",
        "optimize",
        "report",
        "dask",
        "autogluon",
        "torch",
        "jax",
        "paper",
        "cli",
    }
    assert len([name for name in loaded if name.startswith("lambdak")]) <= 114
    assert not {"matplotlib", "torch", "jax", "cvxpy", "cryptography", "pyarrow.dataset"} & loaded


def test_packages_need_no_import_of_their_own():
    loaded = loaded_by("import lambdak; lambdak.optimize.minimize")
    assert "lambdak.optimize.minimum" in loaded


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'lambdak' has no attribute 'SpectralForest'"):
        lambdak.SpectralForest  # noqa: B018


@pytest.mark.slow
def test_python_dash_m_runs_the_command_line():
    done = subprocess.run([sys.executable, "-m", "lambdak", "--version"], capture_output=True, text=True)
    assert done.stdout == f"lambdak {lambdak.__version__}\n"


def test_public_names_exist_are_sorted_and_are_strings():
    names = lambdak.__all__
    assert names == sorted(names)
    assert all(hasattr(lambdak, name) for name in names)
    assert set(names) <= set(dir(lambdak))


def names_in(package):
    """Names in double backticks in the docstring of a package."""
    return set(re.findall(r"``(\w+)/?``", ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""))


def test_every_module_is_named_in_the_docstring_of_a_package_around_it():
    for stage, path in modules():
        packages = [parent for parent in path.parents if parent.is_relative_to(SOURCE / stage) and parent != SOURCE]
        if path.name != "__init__.py" and path.parent != SOURCE:
            named = set().union(*(names_in(package) for package in packages))
            assert path.stem in named, f"{path.relative_to(SOURCE)} is named in no docstring of its packages"


def names_of_tests():
    """(room, module) for names of test files, and for names in their docstrings: ``module`` or ``room/module``."""
    for path in TESTS.rglob("test_*.py"):
        room = path.relative_to(TESTS).parts[0]
        parts = path.stem.removeprefix("test_").split("_")
        yield from ((room, "_".join(parts[:i])) for i in range(1, len(parts) + 1))
        for name in re.findall(r"``([\w/]+)``", ast.get_docstring(ast.parse(path.read_text())) or ""):
            yield (name.split("/")[0] if "/" in name else room, name.split("/")[-1].strip("_"))


def test_every_module_with_behaviour_has_a_test_file_of_its_name_or_is_named_in_one():
    named = set(names_of_tests())
    for stage, path in modules():
        behaves = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.parse(path.read_text()).body)
        if behaves and path.name != "__init__.py" and path.parent != SOURCE:
            assert (stage, path.stem.strip("_")) in named, f"no test names {path.relative_to(SOURCE)}"


def documented():
    """(place, docstring) of every module, class and function that has one."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                yield f"{path.relative_to(SOURCE)}: {getattr(node, 'name', 'module')}", ast.get_docstring(node)


def test_docstrings_say_alone_what_they_are_about():
    """On hover nobody sees what came before, so no docstring opens with a word that points back to it."""
    back = re.compile(r"(The same|Those|These|Its|Their|Theirs|Both|Some of them|That of|Them|Likewise|Ditto)\b")
    assert not [f"{place}: {text.splitlines()[0]}" for place, text in documented() if back.match(text)]
