"""The gallery: every script runs, shows something, and together they show all that the library offers."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from gallery_cases import CONSTRAINTS, EXPORTS, LISTED, LOSSES, NEEDED, PROGRAMS

import lambdak
from lambdak.estimators.base import SpectralEstimator
from lambdak.estimators.methods import ModelMethods
from lambdak.export.targets import TARGETS
from lambdak.losses import REGISTRY
from lambdak.shapes.registry import SHAPES

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples"
SCRIPTS = {script.stem: script for script in sorted(GALLERY.glob("*/plot_*.py"))}
BASE = {"lambdak", "matplotlib", "numpy", "pandas", "sklearn"}  # what every script may take for granted
LONGEST = 100  # lines of a script: one idea each


def imported(script: Path) -> set[str]:
    """The packages that a script imports, but for those of Python and of the base."""
    nodes = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name for node in nodes for name in ([node.module] if isinstance(node, ast.ImportFrom) else
             [alias.name for alias in node.names])}  # fmt: skip
    return {name.partition(".")[0] for name in names} - BASE - set(sys.stdlib_module_names)


def import_or_skip(package: str) -> None:
    """Import what a script needs: what other libraries warn of while they are imported is not its concern."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(package, reason=f"{package} is not installed")


@pytest.fixture
def stage(tmp_path, monkeypatch, threads):
    """A folder to run in, with a canvas nobody sees and one thread; afterwards all is as it was."""
    before, backend = {name: module.get_num_threads() for name, module in _with_threads()}, plt.get_backend()
    plt.close("all")
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("LAMBDAK_GALLERY_REPORTS", str(tmp_path / "reports"))
    (tmp_path / "reports").mkdir()
    threads(1)
    yield tmp_path
    plt.close("all")
    plt.switch_backend(backend)
    for name, module in _with_threads():
        module.set_num_threads(before.get(name, module.get_num_threads()))


def _with_threads() -> list[tuple[str, object]]:
    return [("torch", sys.modules["torch"])] if "torch" in sys.modules else []


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs_and_shows_something(name, stage, capsys):
    for package in sorted(imported(SCRIPTS[name]) | set(NEEDED.get(name, ()))):
        import_or_skip(package)
    if name in PROGRAMS and not shutil.which(PROGRAMS[name]):
        pytest.skip(f"{PROGRAMS[name]} is not installed")
    names = runpy.run_path(str(SCRIPTS[name]), run_name="__main__")
    assert capsys.readouterr().out.strip() or shows_values(SCRIPTS[name]), "nothing is printed"
    assert plt.get_fignums(), "nothing is drawn"
    for number in plt.get_fignums():
        assert_readable(plt.figure(number))
    assert {file.name for file in (stage / "reports").iterdir()} == set(framed(SCRIPTS[name]))
    shown = {type(model.model_.loss) for model in fitted(names.values())}
    assert {loss for loss, script in LOSSES.items() if script == name} <= shown
    promised = {kind for model in fitted(names.values()) for kind in constraints_of(model)}
    assert {kind for kind, script in CONSTRAINTS.items() if script == name} <= promised


def framed(script: Path) -> list[str]:
    """The HTML files that the page of a script shows in frames."""
    return re.findall(
        r'# +<iframe class="lambdak-report" src="\.\./\.\./reports/([\w-]+\.html)" title="[^"]+"', script.read_text()
    )


def shows_values(script: Path) -> bool:
    """Whether a block ends with a value, which a page and a notebook show."""
    ends = [re.split(r"\n# %%", block)[0].rstrip().splitlines()[-1] for block in script.read_text().split("# %%\n")]
    return any(re.match(r"\w+(\.\w+)*[\[(].*[\])]$", line) and not line.startswith("plt.") for line in ends)


def assert_readable(figure) -> None:
    """Every chart says what its axes are, in a size that a page has room for."""
    width, height = figure.get_size_inches()
    assert width <= 14
    assert height <= 9
    charts = [ax for ax in figure.axes if ax.has_data() and ax.axison]
    assert charts
    for ax in charts:
        labelled = any(t.get_text() for t in (ax.xaxis.label, ax.yaxis.label)) or ax.get_title() or ax.get_title("left")
        assert labelled, "a chart without any label"


def fitted(values) -> Iterator[SpectralEstimator]:
    """The fitted models among the names that a script leaves behind, and in its dicts, lists and meta-estimators."""
    for value in values:
        if isinstance(value, SpectralEstimator):
            if hasattr(value, "model_"):
                yield value
        elif isinstance(value, dict | list | tuple):
            yield from fitted(value.values() if isinstance(value, dict) else value)


def constraints_of(model) -> Iterator[str]:
    """What was requested of a model, by the names of the table of constraints."""
    promises = model.model_.promises
    yield from {own.kind for own in promises.shapes}
    yield from ["joint influence"] * bool(promises.groups) + ["alpha"] * bool(model.alpha)


def test_there_are_at_least_thirty_scripts_and_every_section_has_a_header():
    assert len(SCRIPTS) >= 30
    assert len(SCRIPTS) == len(list(GALLERY.glob("*/plot_*.py"))), "two scripts have the same name"
    for folder in {GALLERY} | {script.parent for script in SCRIPTS.values()}:
        title, line = (folder / "GALLERY_HEADER.rst").read_text().splitlines()[:2]
        assert len(title) == len(line)


def test_several_pages_show_a_live_report_of_their_own():
    names = [name for script in SCRIPTS.values() for name in framed(script)]
    assert len(names) >= 4
    assert len(names) == len(set(names)), "two scripts write the same file"


def test_every_estimator_and_loss_has_a_script():
    classes = {name for name in lambdak.__all__ if name.startswith("Spectral")}
    used = {name for script in SCRIPTS.values() for name in classes if re.search(rf"\b{name}\(", script.read_text())}
    assert used == classes
    assert set(LOSSES) == set(REGISTRY)
    assert set(LOSSES.values()) <= set(SCRIPTS)


def test_every_constraint_has_a_script():
    kinds = {shape.kind for shape in SHAPES.values()} | {"joint influence", "alpha"}
    assert set(CONSTRAINTS) == kinds
    assert set(CONSTRAINTS.values()) <= set(SCRIPTS)


def test_every_method_of_a_model_has_a_script():
    whole = "".join(script.read_text() for script in SCRIPTS.values())
    methods = [name for name, _ in inspect.getmembers(ModelMethods, inspect.isfunction) if not name.startswith("_")]
    assert [name for name in methods if f".{name}(" not in whole] == []


def test_every_export_has_a_script():
    assert set(EXPORTS) == set(TARGETS)
    for target, (name, ending) in EXPORTS.items():
        assert ending in (*TARGETS[target].endings, "to_sql(")
        assert ending in SCRIPTS[name].read_text()


@pytest.mark.parametrize(("topic", "name", "words"), [(topic, *each) for topic, each in LISTED.items()])
def test_what_the_gallery_promises_is_in_it(topic, name, words):
    assert words in SCRIPTS[name].read_text()


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_is_a_page(name):
    source = SCRIPTS[name].read_text()
    words = ast.get_docstring(ast.parse(source)) or ""
    title, line, empty, *rest = words.splitlines()
    assert len(title) == len(line)
    assert set(line) == {"="}
    assert not empty
    assert rest[0].startswith("*"), "the first sentence is the question it answers"
    assert "# **Caveat.**" in source
    assert "# **Read on:**" in source
    assert len(source.splitlines()) <= LONGEST
    assert "effort=" in source or "fit(" not in source or name == "plot_pytorch", "a script must be short"
    for page in re.findall(r":doc:`/([^`]+)`", source):
        assert (ROOT / "docs" / f"{page}.md").exists(), f"{name} links to {page}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_needs_is_said_in_its_first_lines(name):
    words = (ast.get_docstring(ast.parse(SCRIPTS[name].read_text())) or "").lower()
    needed = imported(SCRIPTS[name]) - {"distributed"} | set(NEEDED.get(name, ())) | {PROGRAMS.get(name, "")} - {""}
    aliases = {"cryptography": "lambdak[sign]", "skops": "lambdak[pipeline]", "datasketches": "lambdak[dask]"}
    assert [package for package in needed if aliases.get(package, package).lower() not in words] == []
    assert bool(needed) <= ("need" in words)


def test_scripts_import_nothing_that_does_not_exist():
    for script in SCRIPTS.values():
        for node in ast.walk(ast.parse(script.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("lambdak") and "dask" not in node.module:
                if "torch" in node.module:
                    import_or_skip("torch")
                module = importlib.import_module(node.module)
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
