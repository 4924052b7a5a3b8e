"""Numbers in words: as few digits as say something, and the same way everywhere."""

from __future__ import annotations

import math
import re

from lambdak.model.outward import upwards

_DIGITS = 4
_GROUPED = 1e4
_PLAIN = 1e15  # beyond this, digits say less than an exponent
_EXPONENT = re.compile(r"\d(?:\.\d+)?e\+\d+")
_POWER = re.compile(r"(?<=\d)e([+-])0*(\d+)")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = _DIGITS) -> str:
    """A number with a few significant digits.

    >>> [number(each) for each in (0.123456, 1234567.0, 42.0, float("nan"), 1e-9)]
    ['0.1235', '1,234,567', '42', 'not defined', '1 × 10⁻⁹']
    """
    if math.isnan(value):
        return "not defined"
    if float(value).is_integer() and abs(value) < _PLAIN:
        return f"{int(value):,}"
    if 10**digits <= abs(value) < _PLAIN:
        return f"{value:,.0f}"
    return powers(f"{value:,.{digits}g}")


def cell(value: float) -> str:
    """A number in a column, with separators of thousands from five digits on: 1962 may be a year.

    >>> cell(1962.0), cell(19607.0), cell(0.5)
    ('1962', '19,607', '0.5')
    """
    return number(value) if abs(value) >= _GROUPED else number(value).replace(",", "")


def count(value: float) -> str:
    """A number of things.

    >>> count(12345)
    '12,345'
    """
    return number(value)


def share(value: float) -> str:
    """A part of the whole, in per cent.

    >>> share(0.1234), share(0.00001), share(0.0)
    ('12.3 %', '0.001 %', '0 %')
    """
    percent = 100 * value
    if not percent or math.isnan(percent):
        return "0 %" if not percent else "not defined"
    return f"{percent:.1f} %" if abs(percent) >= 0.05 else f"{percent:.1g} %"


def interval(low: float, high: float) -> str:
    """From one number to another.

    >>> interval(0.81234, 0.85)
    '0.8123 to 0.85'
    """
    return "not defined" if math.isnan(low) or math.isnan(high) else f"{number(low)} to {number(high)}"


def plural(many: float, noun: str, nouns: str | None = None) -> str:
    """A number of things, with the noun in its number.

    >>> plural(1, "row"), plural(3, "row"), plural(2, "matrix", "matrices")
    ('1 row', '3 rows', '2 matrices')
    """
    return f"{count(many)} {noun if many == 1 else nouns or noun + 's'}"


def powers(text: str) -> str:
    """A text whose exponents are written as powers of ten.

    >>> powers("1.5e-09 and 2e+20")
    '1.5 × 10⁻⁹ and 2 × 10²⁰'
    """
    return _POWER.sub(lambda match: f" × 10{'⁻' if match[1] == '-' else ''}{match[2].translate(_RAISED)}", text)


def at_most(value: float) -> str:
    """A bound with a few digits, never smaller than it is.

    >>> at_most(915232.0), at_most(0.12341)
    ('915,300', '0.1235')
    """
    return number(float(upwards(value)))


def without_exponents(text: str) -> str:
    """A text whose large numbers have separators of thousands in place of exponents, and small ones powers of ten.

    >>> without_exponents("by more than 9.153e+05; per unit 1e-07")
    'by more than 915,300; per unit 1 × 10⁻⁷'
    """
    return powers(_EXPONENT.sub(lambda match: number(float(match[0])), text))
