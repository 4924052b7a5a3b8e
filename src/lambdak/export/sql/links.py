"""From raw scores to predictions: links, probabilities, labels and quantiles as expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lambdak.export.formula import Formula
from lambdak.export.sql.dialects import Dialect
from lambdak.export.sql.script import Script, same, total
from lambdak.losses import Predicts
from lambdak.losses.links import CLOGLOG, EXPONENT_LIMIT, LOG, SOFTMAX, Link

_FARTHEST = 700.0  # exp of more, or of less than its negative, may leave the range of a double
_VANISHES = -745.0  # exp of less is 0, at which PostgreSQL stops the query
_MOST_LOG_HAZARD = 6.0  # e^{−403} is nothing beside 1, and a double
_FARTHEST_CUT = 600.0  # the same of products of two


def add_predictions(script: Script, formula: Formula, carried: Sequence[str]) -> list[str]:
    """Add the steps from r0, r1, … to p0, p1, …, and to the label, if there are classes; returns their names."""
    dialect, predicts, link = script.dialect, formula.model.loss.predicts, formula.model.loss.output_link
    raw = [f"r{i}" for i in range(formula.n_outputs)]
    if predicts is Predicts.NUMBERS:
        script.select("result", same([*carried, *raw]) | {"p0": limited(dialect, link, _mean(dialect, formula))})
        return ["p0"]
    if predicts is Predicts.QUANTILES:
        quantiles = {f"p{i}": limited(dialect, link, _largest(dialect, raw[: i + 1])) for i in range(len(raw))}
        script.select("result", same([*carried, *raw]) | quantiles)
        return list(quantiles)
    if predicts is Predicts.ORDERED_CLASSES:
        chances = _ordered(script, raw, carried)
    elif formula.model.loss.link is SOFTMAX:
        chances = _shares(script, raw, carried)
    elif formula.model.loss.link is CLOGLOG:
        pairs = zip((link.other, link), _of_hazard(dialect), strict=True)
        chances = {f"p{i}": limited(dialect, own, chance) for i, (own, chance) in enumerate(pairs)}
    else:
        ends = ("-r0", link.other), ("r0", link)
        chances = {f"p{i}": limited(dialect, own, _logistic(dialect, x)) for i, (x, own) in enumerate(ends)}
    script.select("chances", same([*carried, *raw]) | {name: _known(chance) for name, chance in chances.items()})
    if len(chances) > 2 and predicts is Predicts.CLASSES:
        script.select("best", same([*carried, *raw, *chances]) | {"best": _largest(dialect, list(chances))})
    script.select("result", same([*carried, *raw, *chances]) | {"label": _known(_label(dialect, formula))})
    return [*chances, "label"]


def limited(dialect: Dialect, link: Link, value: str) -> str:
    """A prediction in the range of a link; of NULL it is NULL, which LEAST and GREATEST of some dialects ignore."""
    ends = [(sign, dialect.number(end)) for sign, end in (("<", link.low), (">", link.high)) if math.isfinite(end)]
    rules = [f"WHEN {value} {sign} {end} THEN {end}" for sign, end in ends]
    return f"CASE {' '.join(rules)} ELSE {value} END" if rules else value


def _known(value: str) -> str:
    """NULL where the raw score is, for want of an offset: GREATEST and ELSE would go on without it."""
    return f"CASE WHEN r0 IS NOT NULL THEN {value} END"


def literal(dialect: Dialect, label: Any) -> str:
    """A label as it was in training."""
    if isinstance(label, bool):
        return dialect.boolean(label)
    if isinstance(label, int):
        if dialect.most_whole is not None and not -dialect.most_whole - 1 <= label <= dialect.most_whole:
            raise ValueError(
                f"the class {label} is larger than a whole number of {dialect.title}: convert the classes to strings "
                "before the fit"
            )
        return str(label)
    return dialect.number(label) if isinstance(label, float) else dialect.text(str(label))


def _mean(dialect: Dialect, formula: Formula) -> str:
    if formula.model.loss.link is not LOG:
        return "r0"
    most, least = dialect.number(EXPONENT_LIMIT), dialect.number(_VANISHES)
    cases = (("r0 < " + least, dialect.number(0.0)), ("r0 < " + most, "exp(r0)"), ("r0 >= " + most, f"exp({most})"))
    return f"CASE {' '.join(f'WHEN {rule} THEN {value}' for rule, value in cases)} END"  # of NULL it is NULL


def _least(dialect: Dialect, most: float = _FARTHEST) -> str:
    return dialect.number(-most)


def _logistic(dialect: Dialect, x: str, most: float = _FARTHEST) -> str:
    """1 / (1 + exp(−x))."""
    within = dialect.greatest([dialect.least([f"-({x})", dialect.number(most)]), _least(dialect, most)])
    return f"(1 / (1 + exp({within})))"


def _of_hazard(dialect: Dialect) -> tuple[str, str]:
    """e^{−h} and 1 − e^{−h} = 2 e^{−h/2} sinh(h/2) for the cumulative hazard h = exp(r0)."""
    inside = dialect.greatest([dialect.least(["r0", dialect.number(_MOST_LOG_HAZARD)]), _least(dialect)])
    half = f"(exp({inside}) / 2)"
    return f"exp(-2 * {half})", f"(2 * exp(-{half}) * sinh({half}))"


def _shares(script: Script, raw: Sequence[str], carried: Sequence[str]) -> dict[str, str]:
    dialect = script.dialect
    script.select("largest", same([*carried, *raw]) | {"largest": _largest(dialect, raw)})
    odds = {f"o{i}": f"exp({dialect.greatest([f'{r} - largest', _least(dialect)])})" for i, r in enumerate(raw)}
    script.select("odds", same([*carried, *raw]) | odds)
    script.select("all_odds", same([*carried, *raw, *odds]) | {"odds": total(list(odds))})
    return {f"p{i}": f"o{i} / odds" for i in range(len(raw))}


def _largest(dialect: Dialect, values: Sequence[str]) -> str:
    """The largest of any number of values: SQLite takes 127 at a time."""
    while len(values) > 100:
        values = [dialect.greatest(values[i : i + 100]) for i in range(0, len(values), 100)]
    return dialect.greatest(values)


def _ordered(script: Script, raw: Sequence[str], carried: Sequence[str]) -> dict[str, str]:
    """F(c_k) − F(c_{k−1}) = F(c_k) F(−c_{k−1}) (1 − e^{−2z}), 2z = c_k − c_{k−1}, and 1 − e^{−2z} = 2 e^{−z} sinh z."""
    dialect = script.dialect
    cuts = {f"c{i}": _largest(dialect, raw[: i + 1]) for i in range(len(raw))}  # neighbours may cross by rounding
    script.select("cut_points", same([*carried, *raw]) | cuts)
    chances = {"p0": _logistic(dialect, "c0")}
    for i in range(1, len(raw)):
        half = dialect.least([f"(c{i} - c{i - 1}) / 2", dialect.number(_FARTHEST_CUT / 2)])
        inside = f"(2 * exp(-({half})) * sinh({half}))"  # in brackets: the first two may be small together
        ends = [_logistic(dialect, cut, _FARTHEST_CUT) for cut in (f"c{i}", f"-c{i - 1}")]
        chances[f"p{i}"] = f"{ends[0]} * {ends[1]} * {inside}"
    return chances | {f"p{len(raw)}": _logistic(dialect, f"-c{len(raw) - 1}")}


def _label(dialect: Dialect, formula: Formula) -> str:
    """The median of ordered classes; of others the first of the most probable ones."""
    labels = [literal(dialect, label) for label in formula.labels]
    if formula.model.loss.predicts is Predicts.ORDERED_CLASSES:
        rules = [f"r{i} >= 0" for i in range(formula.n_outputs)]
    elif len(labels) == 2:
        rules = ["p0 >= p1"]
    else:
        rules = [f"p{i} = best" for i in range(len(labels) - 1)]
    cases = " ".join(f"WHEN {rule} THEN {label}" for rule, label in zip(rules, labels, strict=False))
    return f"CASE {cases} ELSE {labels[-1]} END"
