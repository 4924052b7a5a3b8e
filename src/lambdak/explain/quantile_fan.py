"""Quantiles of many rows as data to draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lambdak._types import FloatArray


@dataclass(frozen=True)
class Fan:
    """Quantiles of test rows, in the order of their medians, and the targets of these rows."""

    target: str
    levels: tuple[float, ...]
    quantiles: FloatArray  # (rows, quantile levels)
    y: FloatArray

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which of the test rows lie between the lowest and the highest quantile."""
        return np.asarray((self.quantiles[:, 0] <= self.y) & (self.y <= self.quantiles[:, -1]))
