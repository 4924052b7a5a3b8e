"""Explanations as data, and their plots."""

MOST_BARS = 15  # of one chart; the others are left out
