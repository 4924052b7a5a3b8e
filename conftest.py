"""Names that every doctest may use, and the browser that some tests need."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

# NumPy's BLAS sums in the order of its processor, and the digits of a fit depend on it. Pages and tests have those of
# an order that every x86 processor with AVX2 can take; it must be set before NumPy is loaded.
os.environ |= {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "512"}

# Where there is no GPU, Triton interprets its kernels; it asks when a kernel is defined.
os.environ["TRITON_INTERPRET"] = "1"

import numpy as np

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = "skipped without a browser"
_WANTING = "no browser"
# Modules that import another library at their head, which collecting doctests would do.
_OPTIONAL = {
    "jax": "jax", "triton": "torch/device", "autogluon": "autogluon.py", "skpro": "estimators/skpro.py",
    "mlflow": "mlflow",
}  # fmt: skip
collect_ignore = [f"src/lambdak/{path}" for library, path in _OPTIONAL.items() if not importlib.util.find_spec(library)]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace):
    doctest_namespace["np"] = np


def browser_path(bundled: str) -> str:
    """LAMBDAK_BROWSER if it is set (empty: no browser), else the machine's Chromium, else Playwright's own."""
    installed = next(filter(None, map(shutil.which, BROWSERS)), bundled)
    return os.environ.get("LAMBDAK_BROWSER", installed)


# Playwright keeps an event loop running while it is open, which other tests' loops would trip over: one per module.
@pytest.fixture(scope="module")
def browser():
    """A running Chromium; the tests that use it are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason=f"{_WANTING}: playwright is not installed")
    with playwright.sync_playwright() as engine:
        path = browser_path(engine.chromium.executable_path)
        if not Path(path).is_file():
            pytest.skip(_WANTING)
        yield engine.chromium.launch(executable_path=path, args=FLAGS)


def install_command() -> str:
    """How to install a browser on this machine."""
    return "sudo apt-get install -y chromium" if shutil.which("apt-get") else ".venv/bin/playwright install chromium"


def skipped_line(skipped: Iterable[pytest.TestReport]) -> str:
    """Which tests had no browser, and what to do about it, in one line."""
    nodes = [report.nodeid for report in skipped]
    files = ", ".join(sorted({node.partition("::")[0] for node in nodes}))
    return f"skipped {len(nodes)} tests that need a browser ({files}); to run them: {install_command()}"


def _had_no_browser(report: pytest.TestReport) -> bool:
    """Whether a test was skipped by the fixture `browser`, and not for another reason of its own."""
    return (
        report.skipped and report.when == "setup" and "browser" in report.keywords and _WANTING in str(report.longrepr)
    )


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark the tests that use the fixture `browser`; opening pages takes seconds, so they are slow ones too."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            item.add_marker("slow")


def pytest_collection_finish():
    """Modules and tests stay until the end: the garbage collector need not look through millions of objects again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """With LAMBDAK_REQUIRE_BROWSER=1 a test that was skipped for want of a browser has failed."""
    report = yield
    if _had_no_browser(report) and os.environ.get("LAMBDAK_REQUIRE_BROWSER") == "1":
        report.outcome, report.longrepr = "failed", f"{item.nodeid} needs a browser: {install_command()}"
    return report


def pytest_report_teststatus(report):
    """Count the tests without a browser by themselves, so that one line tells of them all and not one line each."""
    return (NO_BROWSER, "s", "SKIPPED") if _had_no_browser(report) else None


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around all others: after pytest's closing line
def pytest_sessionfinish(session):
    """End with the line about the browser, if it was missing."""
    result = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and (skipped := reporter.stats.get(NO_BROWSER)):
        reporter.write_line(skipped_line(skipped), yellow=True)
    return result
