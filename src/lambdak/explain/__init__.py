"""Explanations as data, and their plots.

Modules: ``wording`` what predictions are called and how numbers are written; ``rows`` the numbers; ``what_if``;
``local_explanation``, ``row_words`` in words, also for readers who do not know the table; ``column_effect`` of columns
and the fan of quantiles, ``promised`` of a column in words, ``global_explanation``, ``interactions``, ``pair_surface``
two columns together, for plots and reports; ``learning_curves``; ``progress`` of what takes long; ``plots/``:
``canvas`` what they share, ``model``, ``rows``, ``curves`` over time.
"""

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
