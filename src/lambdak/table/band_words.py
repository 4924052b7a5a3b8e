"""How bands of numbers read: one wording for tables, charts, reports and documents."""

from __future__ import annotations

import math
from collections.abc import Collection

_DIGITS = 6  # of a number that has no more


def band_words(low: float | None, high: float | None, whole: bool = False, values: Collection[float] = ()) -> str:
    """The numbers from ``low`` to below ``high``, None where there is no end: 3–4 of whole numbers, else [0.5, 1).

    ``values`` are all the numbers that a column has, if they are few: a band that holds one of them is called so.

    >>> [band_words(low, high, True) for low, high in ((None, 3), (3, 5), (5, 6), (-2, 1), (6, None))]
    ['≤ 2', '3–4', '5', '-2 to 0', '≥ 6']
    >>> [band_words(low, high) for low, high in ((None, 0.5), (0.5, 20000), (20000, None), (None, None))]
    ['< 0.5', '[0.5, 20,000)', '≥ 20,000', 'all numbers']
    >>> [band_words(low, high, True, (0.0, 1.0)) for low, high in ((None, 1), (1, None))]
    ['0', '1']
    """
    least, end = -math.inf if low is None else low, math.inf if high is None else high
    inside = [value for value in values if least <= value < end]
    if len(inside) == 1 and len(values) > 1:
        return number_words(inside[0])
    if math.isinf(least) and math.isinf(end):
        return "all numbers"
    first, last = (least, end) if not whole else (_up(least), _up(end) - 1.0)
    if first > last:  # no whole number is in it
        first, last, whole = least, end, False
    if math.isinf(first):
        return f"≤ {number_words(last)}" if whole else f"< {number_words(end)}"
    if math.isinf(last):
        return f"≥ {number_words(first)}"
    if not whole:
        return f"[{number_words(first)}, {number_words(end)})"
    if first == last:
        return number_words(first)
    return f"{number_words(first)}{'–' if first >= 0 else ' to '}{number_words(last)}"


def _up(number: float) -> float:
    return number if math.isinf(number) else float(math.ceil(number))


def number_words(number: float) -> str:
    """A number with all its digits and separators of thousands.

    >>> number_words(25.0), number_words(0.1), number_words(30000.0), number_words(1e300)
    ('25', '0.1', '30,000', '1e+300')
    """
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    short = f"{number:,.{_DIGITS}g}"
    return short if float(short.replace(",", "")) == number else repr(float(number))
