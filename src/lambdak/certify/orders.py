"""Attacks on what must hold in every single row: outputs in order, and outputs that are numbers."""

from __future__ import annotations

import numpy as np

from lambdak.certify.attack import Attack, Margins
from lambdak.certify.certificate import Claim
from lambdak.certify.search import Points, Search
from lambdak.pencil.spectrum import Float64Array


class Quantiles(Attack):
    """Quantiles of a row that must not cross."""

    def begin(self, count: int) -> Points:
        """Random rows."""
        return (self.search.rows(count),)

    def judge(self, points: Points) -> Margins:
        """From each quantile to the next."""
        return Margins(np.diff(self.search.predict(points[0]), axis=1), self.rounding(points))


class CutPoints(Quantiles):
    """Cut-points of a row that must be in order, before probabilities are made of them."""

    def judge(self, points: Points) -> Margins:
        """From each cut-point to the next."""
        return Margins(np.diff(self.search.raw(points[0]), axis=1), self.rounding(points))


class Numbers(Quantiles):
    """Predictions that must be numbers, whatever else is claimed of a model."""

    def __init__(self, search: Search) -> None:
        words = "every prediction is a number"
        super().__init__(search, Claim("numbers", "predictions", words, True, False, None, None, ""))

    def judge(self, points: Points) -> Margins:
        """No margin, but whether there is none."""
        return Margins(np.where(np.isnan(self.search.predict(points[0])), np.nan, 0.0), 0.0, np.empty(0))

    def near(self, points: Points) -> Float64Array:
        """Towards the largest raw scores."""
        return -np.asarray(np.abs(self.search.raw(points[0])).max(axis=1))
