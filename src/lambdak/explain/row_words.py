"""How rows read: what they and their columns are called, and the words of an explanation of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from lambdak._checks import check_int
from lambdak._types import Float64Array
from lambdak.explain.wording import Amounts, effect_words, prediction_words, separated_cell
from lambdak.model.rows import column_place
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.explain.local_explanation import LocalExplanation

_TARGET = "target"  # as users spell it: what is predicted
_PREDICTED = "\0target"  # the same among the names of columns, of which it is none


def column_texts(names: Sequence[str], texts: Any, beside: Sequence[str] = ()) -> dict[str, tuple[str, str]]:
    """Column → (code, text), from column → text, or (code, text); ``beside`` are keys that are no columns."""
    if not isinstance(texts, Mapping | None):
        raise TypeError(f"texts must map columns to text or (code, text); got a {type(texts).__name__}")
    try:
        return {_key(names, key, beside): _pair(key, text) for key, text in (texts or {}).items()}
    except ValueError as error:
        raise ValueError(f"texts: {error}") from None


def _key(names: Sequence[str], key: Any, beside: Sequence[str]) -> str:
    if key in beside and key not in names:
        return _PREDICTED
    return names[column_place(names, key)]


def _pair(column: Any, given: Any) -> tuple[str, str]:
    pair = ("", given) if isinstance(given, str) else given
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
        raise ValueError(f"that of column {column!r} must be a text, or a code and a text; got {given!r}")
    return pair[0], pair[1]


@final
@dataclass(frozen=True)
class RowWords:
    """The words of an explanation.

    Attributes
    ----------
    plain : bool
        Whether it is for readers who do not know the table: without the names of columns that have a text.
    texts, units : mapping
        Of columns; a unit stands behind numbers.
    what, unit : str
        Of the prediction; empty if they are not given.
    """

    plain: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    what: str = ""
    unit: str = ""

    @classmethod
    def read(cls, columns: Sequence[str], target: str | None, link: str, texts: Any, units: Any) -> RowWords:
        """Texts and units as a user gives them; "target", or its own name, is the key of what is predicted."""
        beside = (_TARGET, *([] if target is None else [target]))
        named = _apart({name: text for name, (_, text) in column_texts(columns, texts, beside).items()})
        if not isinstance(units, Mapping | None) or not all(isinstance(unit, str) for unit in (units or {}).values()):
            raise TypeError(f"units must map columns to text, such as {{{columns[0]!r}: 'EUR'}}; got {units!r}")
        try:
            measured = _apart({_key(columns, key, beside): unit for key, unit in (units or {}).items()})
        except ValueError as error:
            raise ValueError(f"units: {error}") from None
        if measured[1] and link in ("logit", "softmax"):
            raise ValueError("units must not have one of the target: probabilities are written in per cent")
        return cls(texts is not None, named[0], measured[0], named[1], measured[1])

    def column(self, name: str) -> str:
        """What a column is called."""
        return self.texts.get(name, name)

    def cell(self, name: str, text: str, kind: str) -> str:
        """A cell with separators and its unit."""
        unit = self.units.get(name, "")
        return separated_cell(text, kind) + (f" {unit}" if unit and kind == "number" and text != "missing" else "")

    def pair(self, name: str, text: str, kind: str) -> str:
        """A column and its cell."""
        return f"{self.column(name)}{': ' if self.plain else ' = '}{self.cell(name, text, kind)}"

    def prediction(self, link: str, output: str) -> str:
        """What is predicted."""
        return self.what or prediction_words(link, output)


def _apart(given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Texts of the columns, and the text of the prediction, empty if there is none."""
    return {name: text for name, text in given.items() if name != _PREDICTED}, given.get(_PREDICTED, "")


Labels = Sequence[Any] | None


def row_labels(X: Any, rows: int) -> Labels:
    """The labels of the rows of a pandas table, or of one row of it; None if they are the positions, or there are none.

    >>> import pandas as pd
    >>> row_labels(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), 2), row_labels(pd.DataFrame({"a": [1, 2]}), 2)
    (('x', 'y'), None)
    """
    if getattr(X, "ndim", 2) == 1 and hasattr(X, "keys"):
        name = getattr(X, "name", None)
        return None if name is None else (name,)
    index = getattr(X, "index", None)
    if index is None or callable(index) or len(index) != rows:
        return None
    labels = tuple(index.tolist())
    return None if labels == tuple(range(rows)) else labels


def row_position(row: Any, label: Any, labels: Labels, rows: int) -> int:
    """The position of a row that is given by its position, or by its label."""
    if label is not None:
        return _labelled(label, labels)
    same = _places(row, labels)
    if same and not (isinstance(row, int | np.integer) and 0 <= row < rows):
        raise ValueError(
            f"row must be in [0, {rows}), counted from the first row; {row!r} is a label in the index of the table: "
            f"give label={row!r}, or row={same[0]}"
        )
    return check_int(row, "row", 0, rows)


def _labelled(label: Any, labels: Labels) -> int:
    if labels is None:
        raise ValueError(
            f"label needs rows with labels, those of the index of a pandas table; these have none: give row={label!r} "
            "if it is a position, counted from 0"
        )
    same = _places(label, labels)
    if len(same) == 1:
        return same[0]
    if not same:
        raise ValueError(f"label must be in the index of the table that was explained; got {label!r}")
    raise ValueError(f"label must be that of one row; {label!r} is the label of {len(same)}: give row={same[0]}")


def _places(label: Any, labels: Labels) -> list[int]:
    return [
        i
        for i, row_label in enumerate(labels or ())
        if type(row_label == label) in (bool, np.bool_) and row_label == label
    ]


_SHARES = ("logit", "softmax")  # links whose parts are log-odds


def explanation_lines(local: LocalExplanation, row: int, top: int, words: RowWords, details: bool) -> list[str]:
    """Lines about one row: its prediction, what made it differ from the baseline, and what is proven about it."""
    headline = _plain_headline if words.plain else _headline
    lines = [*headline(local, row, words), *_parts(local, row, top, words, details), *_proven(local, row, words)]
    return [*map(visible, [*lines, *(_mathematics(local, row) if details else ())])]


def _headline(local: LocalExplanation, row: int, words: RowWords) -> Iterator[str]:
    amounts, name = local.amounts(row, words.unit), local.row_name(row)
    predicted, base, average = _said(local, row, amounts)
    what = _begun(words.prediction(local.link, local.output[row]))
    yield f"{f'{name}: ' if name else ''}{what} is {predicted}; that of the baseline is {base}."
    yield f"The baseline is {local.baseline}."
    if average:
        yield f"On average over the training rows it is {average}."
    if local.link in _SHARES:
        moved = amounts.part(local.moved(row, amounts))
        yield f"In {effect_words(local.link, local.output[row])} the difference is {moved}, the sum of:"
    else:
        yield _difference(local, row, amounts)


def _plain_headline(local: LocalExplanation, row: int, words: RowWords) -> Iterator[str]:
    """First lines about a row, for readers who know neither the table nor the model."""
    amounts = local.amounts(row, words.unit)
    predicted, base, average = _said(local, row, amounts)
    middle = local.is_compared_with_the_middle
    compared = "With middle values in everything" if middle else "In the case that this is compared with"
    yield f"{_begun(words.prediction(local.link, local.output[row]))} is {predicted}."
    yield f"{compared}, it would be {base}.{f' On average it is {average}.' if average else ''}"
    if local.link in _SHARES:
        yield "What makes the difference, the strongest first:"
    else:
        yield _difference(local, row, amounts)


def _said(local: LocalExplanation, row: int, amounts: Amounts) -> tuple[str, str, str]:
    """The prediction, that of the baseline, and the average; nothing where that is not known."""
    values = (local.prediction, local.baseline_prediction, local.average)
    predicted, base, average = (
        "" if np.isnan(value[row]) else amounts.prediction(float(value[row])) for value in values
    )
    return predicted, base, average


def _begun(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _difference(local: LocalExplanation, row: int, amounts: Amounts) -> str:
    moved = amounts.part(local.moved(row, amounts))
    ends = [own for own in (local.prediction[row], local.baseline_prediction[row]) if own in local.ends]
    before = f" before predictions end at {' and '.join(map(amounts.prediction, ends))}" if ends else ""
    if local.link == "log":
        return f"The factor of {moved[1:]} between them{before} is the product of:"
    return f"The difference of {moved}{before} is the sum of:"


def _parts(local: LocalExplanation, row: int, top: int, words: RowWords, details: bool) -> Iterator[str]:
    shares, amounts = local.attribution[row], local.amounts(row, words.unit)
    order = np.argsort(-np.abs(shares), kind="stable")
    acting = [int(i) for i in order if not amounts.is_nothing(shares[i])]
    most = top if len(acting) != top + 1 else top + 1  # one more takes the line that would say that it is hidden
    silent = [int(i) for i in order[len(acting) :]]
    many = bool(silent) and not amounts.is_nothing(float(shares[silent].sum()))  # small ones that add up to something
    shown, hidden = acting[:most], [*acting[most:], *(silent if many else ())]
    sizes = [*shares[shown].tolist(), *([float(shares[hidden].sum())] if hidden else [])]
    sizes = amounts.adding_up(sizes, local.moved(row, amounts))
    in_words = words.plain and local.link in _SHARES
    part = _direction if in_words else amounts.part
    texts = [part(size) for size in sizes]
    width = max(map(len, texts), default=0)
    for i, text in zip(shown, texts, strict=False):
        pair = words.pair(local.columns[i], local.cells[row][i], local.kinds[i])
        yield f"  {text:>{width}}  {pair}{_slope(local, row, i) if details else ''}"
    if hidden:
        yield f"  {texts[-1]:>{width}}  {_rest(amounts, shares[hidden], sizes[-1], words, in_words)}"
        if np.abs(shares[hidden]).sum() > np.abs(shares[shown]).sum() and acting[most:]:
            yield f"  More is hidden than shown: why({row}, top={len(acting)}) names all columns that matter."
    if silent and not many:
        things = f"other {_things(words)}s change" if len(silent) > 1 else f"other {_things(words)} changes"
        yield f"  {len(silent):,} {things} nothing to speak of."


def _direction(share: float) -> str:
    """What a column does to a probability, for those who do not think in log-odds."""
    return "raises it" if share > 0 else "lowers it"


def _things(words: RowWords) -> str:
    return "detail" if words.plain else "column"


def _rest(amounts: Amounts, shares: Float64Array, total: float, words: RowWords, in_words: bool) -> str:
    """Columns that are not named: how many, and what those that raise it and those that lower it add up to."""
    names = f"{len(shares):,} other {_things(words)}{'s' if len(shares) > 1 else ''} together"
    up, down = amounts.adding_up([float(shares[shares > 0].sum()), float(shares[shares < 0].sum())], total)
    return f"{names} ({amounts.part(up)} and {amounts.part(down)})" if up and down and not in_words else names


def _proven(local: LocalExplanation, row: int, words: RowWords) -> Iterator[str]:
    strongest = local.columns[int(np.argmax(np.abs(local.attribution[row])))]
    yield f"Proven: {local.take(row).what_if(strongest).sentence(0, words)}"


def _slope(local: LocalExplanation, row: int, i: int) -> str:
    influence, bound = local.influence[row, i], local.influence_bound[row, i]
    if local.kinds[i] == "category":
        return ""
    return f" (slope within ±{bound:.3g})" if np.isnan(influence) else f" (slope {influence:+.3g})"


def _mathematics(local: LocalExplanation, row: int) -> Iterator[str]:
    score, base = local.score[row], local.baseline_score[row]
    yield f"Raw score{local.link_words} {score:.4g} = {base:.4g} (baseline) {score - base:+.4g}."
    if local.repeated[row]:
        yield "The eigenvalue is repeated: the model may have a kink here, and slopes have a proven bound but no sign."
    else:
        yield (
            f"The eigenvalue is simple (gap {local.gap[row]:.3g}): slopes have a sign, each up to the next knot of its "
            "column."
        )
