"""What the model is for: only its owner can say."""

from __future__ import annotations

from lambdak.report.document import Section, Table, said
from lambdak.report.findings import Findings

STATEMENTS = {
    "purpose": "Purpose",
    "intended_use": "Intended use: decisions, users, products",
    "out_of_scope": "What it must not be used for",
    "risk_tier": "Risk tier, and why",
    "owner": "Owner",
    "developer": "Developer",
    "reviewer": "Independent reviewer",
    "alternatives": "Other models that were considered",
    "assumptions": "Assumptions",
    "ethical_considerations": "Protected groups, and what was done about them",
}


def dossier(found: Findings) -> Section:
    """Statements of the owner."""
    rows = tuple((title, said(getattr(found.words, name))) for name, title in STATEMENTS.items())
    table = Table("Statements of the owner", ("", "Statement"), rows, left=(0, 1))
    return Section("purpose", "Purpose", (table,))
