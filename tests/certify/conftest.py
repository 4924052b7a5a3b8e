"""Certificates that claim too much, so that a search has something to find."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fitted_models import CAP

from lambdak.certify import counterexamples
from lambdak.certify.proofs import certify


@pytest.fixture
def believe(monkeypatch):
    """A function that lets the search believe in all claims, with these values of some kinds of them."""

    def believe(**values):
        def forced(model, within=None):
            certificate = certify(model, within)
            claims = [replace(each, proven=True, value=values.get(each.kind, each.value))
                      for each in certificate.claims]  # fmt: skip
            return replace(certificate, claims=tuple(claims))

        monkeypatch.setattr(counterexamples, "certify", forced)

    return believe


@pytest.fixture
def believed(believe):
    """All claims are believed, and bounds are the caps."""
    believe(influence=CAP)
