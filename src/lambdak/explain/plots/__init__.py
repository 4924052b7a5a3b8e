"""Explanations to matplotlib Axes; nothing is computed here."""

from lambdak.explain.plots.canvas import (
    BLUE,
    DARK,
    FALLS,
    GREY,
    RED,
    RISES,
    SKY,
    distinct_names,
    png,
    save,
    short_name,
    side_by_side,
)
from lambdak.explain.plots.curves import draw_survival
from lambdak.explain.plots.model import draw_effect, draw_history, draw_interactions, draw_pair, draw_strengths
from lambdak.explain.plots.rows import draw_fan, draw_waterfall, draw_what_if

__all__ = [
    "BLUE",
    "DARK",
    "FALLS",
    "GREY",
    "RED",
    "RISES",
    "SKY",
    "distinct_names",
    "draw_effect",
    "draw_fan",
    "draw_history",
    "draw_interactions",
    "draw_pair",
    "draw_strengths",
    "draw_survival",
    "draw_waterfall",
    "draw_what_if",
    "png",
    "save",
    "short_name",
    "side_by_side",
]
