"""The types of an exported module: a row with its columns by name, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from lambdak.export.formula import Formula
from lambdak.losses import Predicts
from lambdak.table.cell_rules import NumberRule
from lambdak.table.column_contract import Column

_FEW_LEVELS = 20  # up to which a type lists them


def declarations(formula: Formula, explain: bool) -> str:
    """The declaration file."""
    return "\n".join([*_row(formula.columns), *_functions(formula), *(_explain(formula) if explain else ())]) + "\n"


def _row(columns: Iterable[Column]) -> Iterator[str]:
    yield "/** A cell: null, undefined and NaN are missing. */"
    yield "export type Cell = string | number | bigint | boolean | null | undefined;"
    yield ""
    yield "/** A row by the names of its columns, which must all be there; others are ignored. */"
    yield "export interface Row {"
    for column in columns:
        yield f"  {quoted(column.name)}: {_type(column)} | null | undefined;"
    yield "}"
    yield ""
    yield "/** The same as a Map, or as cells in the order of the training columns. */"
    yield "export type AnyRow = Row | ReadonlyMap<string, Cell> | readonly Cell[];"
    yield ""


def _type(column: Column) -> str:
    """What a cell may be; of few levels each is named, and any other is one that training has not seen."""
    rule, kinds = column.rule, list[str]()
    if isinstance(rule, NumberRule):
        return "number | bigint | boolean"
    if rule.take_text:
        few = [quoted(text) for text, _ in rule.texts] if len(rule.texts) <= _FEW_LEVELS else []
        kinds += [*few, "(string & {})"] if few else ["string"]
    if rule.take_numbers:
        kinds += ["number", "bigint", "boolean"]
    return " | ".join(kinds)


def _functions(formula: Formula) -> Iterator[str]:
    predicts, offset = formula.model.loss.predicts, ", offset?: number" if formula.takes_offset else ""
    answer, what = "number", "the prediction"
    if predicts is Predicts.QUANTILES:
        what = "the middle quantile"
    elif predicts is not Predicts.NUMBERS:
        answer, what = "Label", "the label of the predicted class"
        yield f"export type Label = {' | '.join(map(json.dumps, formula.labels))};"
    many = ", offset?: number | ArrayLike<number>" if offset else ""
    yield "/** Names of the columns, in the order of training. */"
    yield "export const columns: readonly string[];"
    yield "/** The labels of a classifier, in their order. */"
    yield f"export const classes: readonly {answer if formula.labels else 'never'}[];"
    yield "/** The levels of the quantiles, if several are predicted. */"
    yield "export const quantileLevels: readonly number[];"
    yield "/** What was requested of the model and proven of its matrices, in words. */"
    yield "export const guarantees: readonly string[];"
    yield f"/** {what[0].upper()}{what[1:]} of a row. */"
    yield f"export function predict(row: AnyRow{offset}): {answer};"
    yield f"/** {what[0].upper()}{what[1:]} of each row; errors name the row, counted from zero. */"
    yield f"export function predictMany(rows: Iterable<AnyRow>{many}): {answer}[];"
    yield "/** Raw scores, before the link. */"
    yield f"export function raw(row: AnyRow{offset}): number[];"
    if formula.labels:
        yield "/** The probability of each class, in the order of `classes`. */"
        yield f"export function proba(row: AnyRow{offset}): number[];"
    if predicts is Predicts.QUANTILES:
        yield "/** The quantiles, in the order of `quantileLevels`. */"
        yield "export function quantiles(row: AnyRow): number[];"


def _explain(formula: Formula) -> Iterator[str]:
    answer = "Label" if formula.labels else "number"
    offset = "; offset?: number" if formula.takes_offset else ""
    yield "/**"
    yield " * The prediction, and by how much the raw score changes per unit of each column, to the right of a knot;"
    yield " * of a category, how much its level adds. All are NaN where the eigenvalue is repeated. `output` is the"
    yield " * position of the raw score; without it, the class with the largest one, or the middle one of several."
    yield " */"
    yield f"export function explain(row: AnyRow, options?: {{ output?: number{offset} }}): {{"
    yield f"  prediction: {answer};"
    yield "  raw: number[];"
    yield "  output: number;"
    yield "  influence: number[];"
    yield "};"


def quoted(text: str) -> str:
    r"""A string in JavaScript, JSON and TypeScript, in ASCII.

    >>> print(quoted('a"b\u2028</script>'))
    "a\"b\u2028\u003c/script>"
    """
    return json.dumps(text).replace("<", "\\u003c")
