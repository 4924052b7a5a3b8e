"""Explanations as data, and their plots."""

from lambdak.explain.column_effect import ColumnEffect
from lambdak.explain.global_explanation import GlobalExplanation, explain_global
from lambdak.explain.interactions import Interaction
from lambdak.explain.local_explanation import LocalExplanation, explain_local
from lambdak.explain.pair_surface import PairSurface, pair_surface
from lambdak.explain.what_if import WhatIf

__all__ = [
    "ColumnEffect",
    "GlobalExplanation",
    "Interaction",
    "LocalExplanation",
    "PairSurface",
    "WhatIf",
    "explain_global",
    "explain_local",
    "pair_surface",
]

MOST_BARS = 15  # of one chart; the others are counted
