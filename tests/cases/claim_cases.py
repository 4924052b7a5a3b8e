"""How to find a claim in a certificate, and read it."""

from __future__ import annotations

import json

import pytest


def claim(certificate, kind, subject=None):
    (found,) = [each for each in certificate.claims if each.kind == kind and subject in (None, each.subject)]
    return found


def strict(text):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))


def check(verification, kind, subject=None):
    (found,) = [each for each in verification.checks if each.kind == kind and subject in (None, each.subject)]
    return found
