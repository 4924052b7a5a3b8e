"""A row's explanation in words: for a customer or a manager first, with the mathematics only if it is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from lambdak._types import Float64Array
from lambdak.explain.row_words import RowWords
from lambdak.explain.wording import Amounts, effect_words
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.explain.local_explanation import LocalExplanation

_SHARES = ("logit", "softmax")  # links whose parts are log-odds


def explanation_lines(local: LocalExplanation, row: int, top: int, words: RowWords, details: bool) -> list[str]:
    """Lines about one row: its prediction, what made it differ from the baseline, and what is proven about it."""
    headline = _plain_headline if words.plain else _headline
    lines = [*headline(local, row, words), *_parts(local, row, top, words, details), *_proven(local, row, words)]
    return [*map(visible, [*lines, *(_mathematics(local, row) if details else ())])]


def _headline(local: LocalExplanation, row: int, words: RowWords) -> Iterator[str]:
    amounts, name = local.amounts(row, words.unit), local.row_name(row)
    own, base, average = _said(local, row, amounts)
    what = _begun(words.prediction(local.link, local.output[row]))
    yield f"{f'{name}: ' if name else ''}{what} is {own}; that of the baseline is {base}."
    yield f"The baseline is {local.baseline}."
    if average:
        yield f"On average over the training rows it is {average}."
    if local.link in _SHARES:
        moved = amounts.part(local.score[row] - local.baseline_score[row])
        yield f"In {effect_words(local.link, local.output[row])} the difference is {moved}, the sum of:"
    else:
        yield _difference(local, row, amounts)


def _plain_headline(local: LocalExplanation, row: int, words: RowWords) -> Iterator[str]:
    """First lines about a row, for readers who know neither the table nor the model."""
    amounts = local.amounts(row, words.unit)
    own, base, average = _said(local, row, amounts)
    middle = local.is_compared_with_the_middle
    compared = "With middle values in everything" if middle else "In the case that this is compared with"
    yield f"{_begun(words.prediction(local.link, local.output[row]))} is {own}."
    yield f"{compared}, it would be {base}.{f' On average it is {average}.' if average else ''}"
    if local.link in _SHARES:
        yield "What makes the difference, the strongest first:"
    else:
        yield _difference(local, row, amounts)


def _said(local: LocalExplanation, row: int, amounts: Amounts) -> tuple[str, str, str]:
    """The prediction, that of the baseline, and the average; nothing where that is not known."""
    values = (local.prediction, local.baseline_prediction, local.average)
    own, base, average = ("" if np.isnan(value[row]) else amounts.prediction(float(value[row])) for value in values)
    return own, base, average


def _begun(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _difference(local: LocalExplanation, row: int, amounts: Amounts) -> str:
    moved = amounts.part(local.score[row] - local.baseline_score[row])
    if local.link == "log":
        return f"The factor of {moved[1:]} between them is the product of:"
    return f"The difference of {moved} is the sum of:"


def _parts(local: LocalExplanation, row: int, top: int, words: RowWords, details: bool) -> Iterator[str]:
    shares, amounts = local.attribution[row], local.amounts(row, words.unit)
    order = np.argsort(-np.abs(shares), kind="stable")
    acting = [int(i) for i in order if not amounts.is_nothing(shares[i])]
    most = top if len(acting) != top + 1 else top + 1  # one more takes the line that would say that it is hidden
    shown, hidden = acting[:most], acting[most:]
    in_words = words.plain and local.link in _SHARES
    part = _direction if in_words else amounts.part
    texts = [part(shares[i]) for i in shown]
    width = max(map(len, [*texts, part(float(shares[hidden].sum()))]))
    for i, text in zip(shown, texts, strict=True):
        pair = words.pair(local.columns[i], local.cells[row][i], local.kinds[i])
        yield f"  {text:>{width}}  {pair}{_slope(local, row, i) if details else ''}"
    if hidden:
        yield f"  {part(float(shares[hidden].sum())):>{width}}  {_rest(part, shares[hidden], words, in_words)}"
        if np.abs(shares[hidden]).sum() > np.abs(shares[shown]).sum():
            yield f"  More is hidden than shown: why({row}, top={len(acting)}) names all columns that matter."
    if silent := len(order) - len(acting):
        things = f"other {_things(words)}s change" if silent > 1 else f"other {_things(words)} changes"
        yield f"  {silent:,} {things} nothing to speak of."


def _direction(share: float) -> str:
    """What a column does to a probability, for those who do not think in log-odds."""
    return "raises it" if share > 0 else "lowers it"


def _things(words: RowWords) -> str:
    return "detail" if words.plain else "column"


def _rest(part: Callable[[float], str], shares: Float64Array, words: RowWords, in_words: bool) -> str:
    """Columns that are not named: how many, and what those that raise it and those that lower it add up to."""
    names = f"{len(shares):,} other {_things(words)}s together"
    up, down = float(shares[shares > 0].sum()), float(shares[shares < 0].sum())
    return f"{names} ({part(up)} and {part(down)})" if up and down and not in_words else names


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
