"""Explanations as data, and their plots.

Modules: ``wording`` what predictions are called and how numbers are written; ``rows`` the numbers; ``what_if``;
``local_explanation``, ``local_words``, ``row_words`` for readers who do not know the table, ``row_labels`` of its
index; ``column_effect``, ``global_explanation``, ``interactions``, ``pair_surface`` two columns together, for plots
and reports; ``quantile_fan``, ``learning_curves``; ``plots/``: ``canvas`` what they share, ``effects``, ``rows``,
``pairs``, ``history``; ``portfolio/`` a model on data: ``outcome`` what is observed of an output, ``scored`` rows
with exposure, ``measures`` and ``bootstrap`` their intervals, ``lorenz``, ``roc``, ``bands``, ``periods``,
``columns``, ``segments`` actual against expected, ``performance``; ``rival`` the other side, ``rate_change``,
``comparison``; ``stability`` the PSI, ``swaps`` what moves the mean, ``drift``; ``plots/``.
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
