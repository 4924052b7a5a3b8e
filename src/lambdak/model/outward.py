"""Numbers in print that stay true: bounds are rounded away from what they bound."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def upwards(number: float, digits: int = 4) -> str:
    """A number with this many digits, never smaller than it is.

    >>> upwards(915.232), upwards(0.5), upwards(-1.23456), upwards(1e-300)
    ('915.3', '0.5', '-1.234', '1e-300')
    """
    return _shown(number, digits, ROUND_CEILING)


def downwards(number: float, digits: int = 4) -> str:
    """A number with this many digits, never larger than it is.

    >>> downwards(275.48), downwards(0.1)
    ('275.4', '0.1')
    """
    return _shown(number, digits, ROUND_FLOOR)


def _shown(number: float, digits: int, rounding: str) -> str:
    if not math.isfinite(number):
        return f"{number:g}"
    short = f"{number:.{digits}g}"
    if float(short) == number:  # as it was written: 0.1 is a little more than a tenth, and nobody minds
        return short
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(number))):.{digits}g}"
