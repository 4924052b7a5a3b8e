"""What predictions and their changes are called, and how their numbers are written: as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lambdak.model.outward import downwards, upwards
from lambdak.table.category_levels import shown
from lambdak.table.frames import number

SHARES = ("logit", "softmax", "cloglog", "loglog")  # links to probabilities
PREDICTION = "prediction"  # the name of an output that is a number
_DIGITS = 3  # that are significant, if the target is not written with more
_RATIO_DIGITS = 3
_ROUNDED_DIGITS = 2  # where people round the target, and read its last digit as the smallest that counts
_ODDS_DECIMALS = 2
_MOST_PERCENT = 6  # decimals
_NOTHING = 1e-9  # of what is predicted: a difference that is rounding
MOST_PLACES, _MOST_EXACT = 12, 1e15  # of numbers that are printed with all their digits
_GROUPED = 1e4  # from here on cells have separators of thousands: 1962 may be a year
_WHOLE = 1e6  # from here on numbers are written without decimals


def prediction_words(link: str, output: str) -> str:
    """What is predicted: "the prediction", "the probability of class 'b'", "quantile 0.9".

    >>> prediction_words("logit", "class 'b'"), prediction_words("identity", "prediction")
    ("the probability of class 'b'", 'the prediction')
    """
    if link in SHARES:
        return f"the probability of {output}"
    return "the prediction" if output == PREDICTION else output


def effect_words(link: str, output: str) -> str:
    """What effects are changes of, as axes and headings say it.

    >>> effect_words("logit", "class 'b'"), effect_words("log", "prediction")
    ("log-odds of class 'b'", 'logarithm of the prediction')
    """
    return {
        "logit": f"log-odds of {output}",
        "softmax": f"raw score of {output} (log-share)",
        "cloglog": f"log cumulative hazard of {output}",
        "loglog": f"minus the log cumulative hazard of {output}",
        "log": "logarithm of the prediction",
    }.get(link, PREDICTION if output == PREDICTION else output)


def reference_words(column: str, reference: float | str) -> str:
    """What changes of a column are counted from.

    >>> reference_words("LIMIT_BAL", 140000.0), reference_words("built", 1962.0)
    ('LIMIT_BAL = 140,000', 'built = 1962')
    >>> reference_words("town", "average level")
    'the average level of town'
    """
    if isinstance(reference, str):
        return f"the {reference} of {column}"
    text = number(reference)
    return f"{column} = {text if abs(reference) >= _GROUPED else text.replace(',', '')}"


def cell_text(cell: object) -> str:
    """A cell as text, without powers of ten where a number is large.

    >>> cell_text(1234567.0), cell_text(52.0), cell_text(None)
    ('1234567', '52', 'missing')
    """
    if isinstance(cell, float) and _WHOLE <= abs(cell) < 1e15:
        return f"{cell:.0f}"
    return shown(cell)


def separated_cell(text: str, kind: str) -> str:
    """The text of a cell with separators of thousands, if it is a number.

    >>> separated_cell("1234567", "number"), separated_cell("-80825.4", "number"), separated_cell("1234567", "category")
    ('1,234,567', '-80,825.4', '1234567')
    """
    whole, dot, rest = text.partition(".")
    long = kind == "number" and len(whole) > 4 and whole.removeprefix("-").isdecimal() and (not dot or rest.isdecimal())
    return f"{int(whole):,}{dot}{rest}" if long else text


@final
@dataclass(frozen=True)
class Amounts:
    """How the predictions of a row and what they are made of are written.

    Attributes
    ----------
    link : str
        Probabilities are percentages, parts of a logarithm are factors.
    decimals : int
        Of what is predicted; of a probability in per cent.
    unit : str
        That stands behind numbers; not behind probabilities and factors.
    part_decimals : int
        Of log-odds, and beyond the first three digits of a factor.
    """

    link: str
    decimals: int
    unit: str = ""
    part_decimals: int = 0

    @classmethod
    def of(
        cls, link: str, parts: Any, target_decimals: int | None = None, unit: str = "", predictions: Any = ()
    ) -> Amounts:
        """With digits that tell parts, and predictions, apart: about three of the largest difference.

        Predictions have no fewer decimals than the target; if that is rounded, two digits of the largest difference are
        enough. Where nothing differs, predictions have these digits.

        >>> Amounts.of("identity", [0.1], None, "", [12.31, 12.21]).prediction(12.3149)
        '12.315'
        """
        largest, sizes = _largest(parts), np.ravel(np.asarray(predictions, np.float64))
        sizes = sizes[np.isfinite(sizes)]
        apart = float(np.ptp(sizes)) if len(sizes) else 0.0
        if link in SHARES:
            percent = _needed(100.0 * apart, 2)
            return cls(link, min(max(1, percent), _MOST_PERCENT), "", _needed(largest, 2) if largest > _NOTHING else 0)
        if link != "log":
            apart = max(apart, largest)
        if apart <= _NOTHING * _largest(sizes):
            apart = _largest(sizes)
        more = max(0, _needed(largest, 1) - 1) if link == "log" and largest > _NOTHING else 0
        digits = _DIGITS if target_decimals is None else _ROUNDED_DIGITS
        return cls(link, max(0, target_decimals or 0, _needed(apart, digits)), unit, more)

    def prediction(self, value: float) -> str:
        """Return a prediction in print, with its unit.

        >>> Amounts.of("identity", [190000.0]).prediction(189654.3), Amounts.of("logit", []).prediction(0.0853)
        ('189,654', '8.5 %')
        >>> Amounts("identity", 0, "EUR").prediction(905.2)
        '905 EUR'
        """
        if self._is_share:
            return self._percent(f"{100 * value:.{self.decimals}f}")
        return self._with_unit(self._plain(round(value, self.decimals)))

    def part(self, value: float) -> str:
        """What a column adds to the raw score: in units of the target, log-odds, or a factor of the prediction.

        >>> Amounts("identity", 0).part(-13.86), Amounts("log", 3).part(-0.2184), Amounts("logit", 1).part(0.5)
        ('-14', '×0.804', '+0.50')
        """
        if self.link == "log":
            return f"×{math.exp(min(value, 700.0)):,.{_RATIO_DIGITS + self.part_decimals}g}"
        if self._is_share:
            return f"{round(value, self._places) + 0.0:+.{self._places}f}"
        rounded = round(value, self.decimals) + 0.0  # which is never minus zero
        return self._with_unit(("+" if rounded >= 0 else "") + self._plain(rounded))

    def is_nothing(self, value: float) -> bool:
        """Whether a part is written as one that changes nothing."""
        return self.part(value) == self.part(0.0)

    def adding_up(self, parts: Sequence[float], total: float) -> list[float]:
        """Parts that add up as they are printed, each moved by less than its last digit; factors are left as they are.

        >>> Amounts("identity", 1).adding_up([0.14, 0.14, 0.14], 0.42)
        [0.2, 0.1, 0.1]
        """
        places = self._places if self._is_share else self.decimals
        sizes = [abs(value) for value in (*parts, total)]
        if self.link == "log" or not parts or places > MOST_PLACES or not max(sizes) * 10.0**places < _MOST_EXACT:
            return list(parts)
        scaled = [part * 10.0**places for part in parts]
        whole = [math.floor(part) for part in scaled]
        up = round(total * 10.0**places) - sum(whole)
        order = sorted(range(len(parts)), key=lambda i: whole[i] - scaled[i])
        return [round((whole[i] + (order.index(i) < up)) / 10.0**places, places) for i in range(len(parts))]

    def size(self, value: float) -> str:
        """How large an effect is, whatever its sign.

        >>> Amounts("identity", 1).size(22.52), Amounts("log", 3).size(0.127)
        ('22.5', '×1.14')
        """
        if math.isnan(value):
            return ""
        return self.part(value) if self.link == "log" else self._plain(value)

    def limit(self, value: float) -> str:
        """A bound on the size of an effect, never less than it is.

        >>> Amounts("identity", 0).limit(1151234.2), Amounts("log", 3).limit(1.081)
        ('1,151,235', '×2.95')
        """
        if self.link == "log":
            return f"×{upwards(math.exp(min(value, 700.0)), _RATIO_DIGITS)}"
        if value >= 1e15 or self.decimals > 12:
            return upwards(value)
        return self._plain(math.ceil(value * 10.0**self.decimals) / 10.0**self.decimals)

    def interval(self, low: float, high: float) -> str:
        """Two ends that contain what lies between them, also as they are written.

        >>> Amounts("identity", 0).interval(147.04, 253.5), Amounts("logit", 1).interval(0.07529, 0.3988)
        ('between 147 and 254', 'between 7.5 % and 39.9 %')
        """
        if not self._is_share and (max(abs(low), abs(high)) >= _MOST_EXACT or self.decimals > MOST_PLACES):
            return self._with_unit(f"between {downwards(low)} and {upwards(high)}")
        step, unit = 10.0**self.decimals, 100.0 if self._is_share else 1.0
        scaled = (math.floor(unit * low * step) / step, math.ceil(unit * high * step) / step)
        ends = [self._percent(f"{end:.{self.decimals}f}") if self._is_share else self._plain(end) for end in scaled]
        return self._with_unit(f"between {ends[0]} and {ends[1]}")

    @property
    def _is_share(self) -> bool:
        return self.link in SHARES

    @property
    def _places(self) -> int:
        """Decimals of log-odds."""
        return max(_ODDS_DECIMALS, self.part_decimals)

    def _plain(self, value: float) -> str:
        if not math.isfinite(value) or abs(value) >= 1e15 or self.decimals > 12:
            return f"{value:.4g}"
        return f"{value + 0.0:,.{self.decimals}f}"

    def _with_unit(self, text: str) -> str:
        return f"{text} {self.unit}" if self.unit else text

    @staticmethod
    def _percent(text: str) -> str:
        return f"{text} %"


def _largest(values: Any) -> float:
    """The largest absolute value that is finite, or 0."""
    return max((abs(float(value)) for value in np.ravel(values) if math.isfinite(value)), default=0.0)


def _needed(size: float, digits: int) -> int:
    """Decimals with which a number of this size has so many digits."""
    return min(digits - 1 - math.floor(math.log10(size)), 300) if size else 0
