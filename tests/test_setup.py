"""What the commands of the README install, what a wheel must hold, and what is said when the browser is missing."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BROWSER_TEST = "def test_page(browser):\n    assert browser\n"
LIBRARY_TEST = "import pytest\npytest.importorskip('no_such_library')\n"


def script(name):
    """A script of .ci as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


install, contents, release = script("install"), script("contents"), script("release")


def installed_by(target):
    """Names of the requirements that a make target would install in a new clone."""
    if shutil.which("make") is None:
        pytest.skip("no make on this machine")
    printed = subprocess.run(
        ["make", "-n", target, "VENV=build/no-such-venv"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    lists = re.findall(r"\s(@\w+)", " ".join(line for line in printed.splitlines() if "install.py" in line))
    return {re.match(r"[\w-]+", requirement)[0] for requirement in install.expanded(lists)}


def test_demo_installs_no_pytorch_and_no_test_or_lint_tools():
    found = installed_by("demo")
    assert {"scikit-build-core", "numpy", "matplotlib"} <= found
    assert not found & {"torch", "zuko", "pytest", "pytest-xdist", "hypothesis", "ruff", "mypy", "build", "pandas"}


@pytest.mark.parametrize(
    ("target", "tool"), [("test", "pytest"), ("quick", "pytest-xdist"), ("lint", "ruff"), ("docs", "sphinx-gallery")]
)
def test_a_target_installs_its_tools(target, tool):
    assert tool in installed_by(target)


def test_the_tests_pin_pytorch():
    (pytorch,) = (requirement for requirement in install.requirements()["test"] if requirement.startswith("torch"))
    assert re.fullmatch(r"torch==[\d.]+", pytorch)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl (16.9 MB)\n", "numpy 2.4.6 (16.9 MB)"),
        ("  Using cached a/b/rich-15.0.0-py3-none-any.whl (310 kB)\n", "rich 15.0.0 (310 kB)"),
        ("Processing ./lambdak-0.1.0-cp312-abi3-linux_x86_64.whl\n", "lambdak 0.1.0"),
        ("Processing /wheels/torch-2.13.0-cp311-cp311-linux_x86_64.whl (from zuko)\n", "torch 2.13.0"),
        ("Installing collected packages: numpy, scipy\n", "unpacking 2 packages"),
        ("Installing collected packages: lambdak\n", "unpacking lambdak"),
        ("  [3/17] Building CXX object CMakeFiles/kernel_avx2.dir/src/kernel.cpp.o\n", "[3/17] kernel_avx2/kernel.cpp"),
        ("  Downloading numpy-2.4.6-cp311-cp311-linux_x86_64.whl.metadata (6 kB)\n", None),
        ("WARNING: Location 'somewhere' is ignored: it is neither a file nor a directory.\n", None),
    ],
)
def test_installing_says_one_short_line_per_step(line, shown):
    assert install.news(line) == shown


def complete_wheel():
    names = [name for name in contents.sources() if not name.startswith(contents.NATIVE)]
    return [*names, "lambdak/eigen/_kernel.abi3.so", "lambdak-0.1.0.dist-info/licenses/LICENSE"]


def complete_archive():
    return [f"lambdak-0.1.0/{name}" for name in [*contents.ARCHIVE, *(f"src/{name}" for name in contents.sources())]]


def test_complete_wheel_and_archive_pass():
    assert contents.complaints_wheel(complete_wheel()) == []
    assert contents.complaints_archive(complete_archive()) == []


@pytest.mark.parametrize("name", ["lambdak/py.typed", "lambdak/__init__.py", "lambdak/eigen/_kernel.abi3.so"])
def test_wheel_without_a_file_is_refused(name):
    names = [other for other in complete_wheel() if other != name]
    (complaint,) = contents.complaints_wheel(names)
    assert Path(name).stem.split(".")[0].strip("_") in complaint


def test_wheel_with_cpp_sources_and_archive_with_a_kernel_are_refused():
    assert contents.complaints_wheel([*complete_wheel(), "lambdak/eigen/native/kernel.cpp"])
    assert contents.complaints_archive([*complete_archive(), "lambdak-0.1.0/src/lambdak/eigen/_kernel.abi3.so"])


def test_archive_without_the_kernels_sources_is_refused():
    names = [name for name in complete_archive() if "/native/" not in name]
    assert len(contents.complaints_archive(names)) == len(complete_archive()) - len(names) > 0


def run_without_browser(folder, **variables):
    """Two tests that need a browser and a file that needs a library, on a machine that has neither."""
    for name in ("test_first.py", "test_second.py"):
        (folder / name).write_text(BROWSER_TEST)
    (folder / "test_third.py").write_text(LIBRARY_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", "-c", "pyproject.toml"]
    unset = {key: value for key, value in os.environ.items() if key != "LAMBDAK_REQUIRE_BROWSER"}
    return subprocess.run(
        [*command, "--rootdir", str(folder), str(folder)],
        cwd=ROOT, env=unset | {"LAMBDAK_BROWSER": ""} | variables, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_without_a_browser_the_last_line_says_what_was_skipped_and_how_to_install_it(tmp_path):
    pytest.importorskip("playwright")
    done = run_without_browser(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    closing, last = done.stdout.splitlines()[-2:]
    assert re.search(r"1 skipped, 2 skipped without a browser|2 skipped without a browser, 1 skipped", closing)
    assert done.stdout.count("test_first.py") == 1
    assert re.search(r"skipped 2 tests that need a browser \(\S*test_first.py, \S*test_second.py\).*install", last)


@pytest.mark.slow
def test_where_the_browser_is_required_its_absence_is_a_failure(tmp_path):
    done = run_without_browser(tmp_path, LAMBDAK_REQUIRE_BROWSER="1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "needs a browser" in done.stdout


def leftovers(settings: dict, root: Path) -> list[str]:
    """What settings of tools name and nothing in a repository matches any more."""
    tool = settings["tool"]
    sources = "\n".join(path.read_text() for path in (root / "src").rglob("*.py"))
    found = []
    for module in (name.removesuffix(".*") for each in tool["mypy"]["overrides"] for name in each["module"]):
        place = root / "src" / module.replace(".", "/")
        if module.startswith("lambdak"):
            if not (place.is_dir() or place.with_suffix(".py").is_file()):
                found.append(module)
        elif not re.search(rf"^\s*(?:import|from) {re.escape(module)}\b", sources, re.MULTILINE):
            found.append(module)
    patterns = tool["ruff"]["lint"]["per-file-ignores"]
    found += [pattern for pattern in patterns if next(root.glob(pattern), None) is None]
    pytest_settings = tool["pytest"]["ini_options"]
    paths = [*tool["ruff"]["src"], *pytest_settings["testpaths"], *pytest_settings["pythonpath"]]
    found += [path for path in (*paths, *tool["mypy"]["files"]) if not (root / path).exists()]
    listed = re.findall(r"\{project\}/(\S+)", tool["cibuildwheel"]["test-command"])
    return found + [path for path in listed if not (root / path).exists()]


def test_settings_name_what_exists():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert not leftovers(settings, ROOT), "pyproject.toml has settings for what is no longer there: delete them"


def test_leftovers_of_settings_are_found():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    settings["tool"]["mypy"]["overrides"] += [{"module": ["lambdak.gone", "sklearn.*"]}, {"module": ["tensorflow.*"]}]
    settings["tool"]["ruff"]["lint"]["per-file-ignores"]["gone/*.py"] = ["D"]
    settings["tool"]["ruff"]["src"].append("gone")
    assert leftovers(settings, ROOT) == ["lambdak.gone", "tensorflow", "gone/*.py", "gone"]


CHANGES, CITATION = "# Changes\n\n## 0.2.0, 2026-11-18\n\ntext\n\n## 0.1.0, 2026-01-01\n", 'version: "0.2.0"\n'


@pytest.mark.parametrize(
    ("wanted", "changes", "citation", "tags", "status", "said"),
    [
        ("0.2.0", CHANGES, CITATION, ["v0.1.0"], "", []),
        ("0.2.0", CHANGES, CITATION, ["v0.2.0"], "", ["v0.2.0 has a tag"]),
        ("0.2.0", CHANGES, CITATION, [], " M README.md", ["the tree has changes"]),
        ("0.2.0", CHANGES, "version: 0.1.0\n", [], "", ["CITATION.cff must name version 0.2.0"]),
        ("0.1.0", CHANGES, 'version: "0.1.0"', [], "", ['CHANGELOG.md must begin with "## 0.1.0, YYYY-MM-DD"']),
        (
            "0.2",
            CHANGES,
            CITATION,
            [],
            "",
            ["version must be like", "CHANGELOG.md must begin", "CITATION.cff must name"],
        ),
    ],
)
def test_a_version_is_released_only_if_everything_names_it(wanted, changes, citation, tags, status, said):
    found = release.complaints(wanted, changes, citation, tags, status)
    assert len(found) == len(said)
    assert all(words in text for words, text in zip(said, found, strict=True))
