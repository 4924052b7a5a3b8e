"""Explanations as data, and their plots."""

from lambdak.explain.global_explanation import ColumnEffect, GlobalExplanation, explain_global
from lambdak.explain.interactions import Interaction
from lambdak.explain.local_explanation import LocalExplanation, explain_local
from lambdak.explain.what_if import WhatIf

__all__ = [
    "ColumnEffect",
    "GlobalExplanation",
    "Interaction",
    "LocalExplanation",
    "WhatIf",
    "explain_global",
    "explain_local",
]

MOST_BARS = 15  # of one chart; the others are not shown
