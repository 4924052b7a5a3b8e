"""Curves as functions of time, one for each row, as scikit-survival has them: callable, with values at some times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lambdak._types import Float64Array


@final
@dataclass(frozen=True, eq=False)
class TimeFunction:
    """The curve of one row.

    Attributes
    ----------
    x, y : arrays of shape (times,)
        Times, and the values there.
    of : callable
        The value at any times: between those of ``x`` it is no step, and after the last it is extrapolated.
    """

    x: Float64Array
    y: Float64Array
    of: Callable[[ArrayLike], Float64Array]

    @property
    def domain(self) -> tuple[float, float]:
        """Times for which it is known."""
        return 0.0, float(np.inf)

    def __call__(self, x: ArrayLike) -> Float64Array | float:
        """The value at a time, or the values (n,) at several."""
        values = self.of(np.atleast_1d(np.asarray(x, np.float64)))
        return float(values[0]) if np.ndim(x) == 0 else values


def time_functions(
    x: Float64Array, values: Float64Array, of: Callable[[int, ArrayLike], Float64Array]
) -> NDArray[np.object_]:
    """A function for each row of values (rows, times); ``of`` computes those of a row at any times."""
    functions = np.empty(len(values), object)
    functions[:] = [TimeFunction(x, own, lambda times, row=i: of(row, times)) for i, own in enumerate(values)]  # type: ignore[misc]
    return functions
