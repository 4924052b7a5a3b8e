"""Pictures take most of the time of a dossier: all tests but those of the pictures do without."""

from __future__ import annotations

import pytest
from dossier_cases import tiny_png

from lambdak.explain import plots


@pytest.fixture(autouse=True)
def _without_pictures(request, monkeypatch):
    if "real_pictures" not in request.fixturenames:
        monkeypatch.setattr(plots, "png", tiny_png)


@pytest.fixture
def real_pictures():
    """For tests that need them."""
