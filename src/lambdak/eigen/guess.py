"""Where a search for λ_k looks first: the quantiles of Wigner's semicircle, which random matrices have for a spectrum.

The compiled kernel has the same in ``native/module.cpp``; these are for the kernels of other devices.
"""

from __future__ import annotations

from math import asin, pi, sqrt


def semicircle_guess(index: int, dim: int) -> tuple[float, float]:
    """Quantile (k + 1/2)/d of the semicircle law, in standard deviations (its radius is 2), and 1/(d density) there.

    >>> abs(semicircle_guess(2, 5)[0]) < 1e-8  # the middle one, found by halving
    True
    """
    wanted, low, high = (index + 0.5) / dim, -1.0, 1.0
    for _ in range(30):
        s = (low + high) / 2
        if 0.5 + (s * sqrt(1 - s * s) + asin(s)) / pi < wanted:
            low = s
        else:
            high = s
    s = (low + high) / 2
    density = max(2 / pi * sqrt(1 - s * s), 0.3 / dim ** (1 / 3))
    return 2 * s, 2 / (dim * density)
