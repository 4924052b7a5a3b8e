"""Reports that are open in a browser, and dossiers without pictures, which take most of their time."""

from __future__ import annotations

import numpy as np
import pytest
from dossier_cases import tiny_png
from report_cases import CERTIFICATE, Visit, X, Y, fitted

from lambdak.explain import plots
from lambdak.report import write_report


@pytest.fixture(autouse=True)
def _without_pictures(request, monkeypatch):
    if "real_pictures" not in request.fixturenames:
        monkeypatch.setattr(plots, "png", tiny_png)


@pytest.fixture
def real_pictures():
    """For tests that need them."""


@pytest.fixture(scope="module")
def pages(browser, tmp_path_factory):
    """A function that opens the report of a model, or finds it opened: the same page serves several tests."""
    visits = {}

    def open_page(name, model, *data, **window):
        if name not in visits:
            path = tmp_path_factory.mktemp("report") / "report.html"
            write_report(model.model_, path, *data, certificate=CERTIFICATE)
            visits[name] = Visit.of(browser.new_page(**window), path)
        return visits[name]

    return open_page


@pytest.fixture
def visit(pages):
    """As ``pages``, for a kind of model; nothing may have gone wrong when the test ends."""
    opened = []

    def open_kind(kind, *other, **window):
        target = {"binary": np.where(Y > 4, "good", "<bad>"), "regressor": Y, "quantiles": Y}.get(kind)
        name = f"{kind} {window}"
        data = other or (fitted(kind), X, target)
        opened.append(pages(name, *data, **window))
        return opened[-1]

    yield open_kind
    assert [problem for found in opened for problem in found.problems] == []
