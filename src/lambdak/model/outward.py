"""Numbers in print that stay true: bounds are rounded away from what they bound."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_WRITTEN_OUT = 1e15  # from here on an exponent says more than digits


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


def separated(text: str) -> str:
    """The text of a number, with separators of thousands in place of an exponent where it is large.

    >>> separated("5.71e+05"), separated("4980"), separated("1234.5"), separated("40.0"), separated("1e+20")
    ('571,000', '4,980', '1,234.5', '40.0', '1e+20')
    """
    if not 1e3 <= abs(float(text)) < _WRITTEN_OUT:
        return text
    return f"{Decimal(text).normalize():,f}"


def _shown(number: float, digits: int, rounding: str) -> str:
    if not math.isfinite(number):
        return f"{number:g}"
    short = f"{number:.{digits}g}"
    if float(short) == number:  # as it was written: 0.1 is a little more than a tenth, and nobody minds
        return short
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(number))):.{digits}g}"
