"""Tables in print: plain text that a terminal, a mail and a notebook show alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lambdak.governance.tables.factor_table import FactorTable
from lambdak.model.outward import downwards, upwards
from lambdak.table.frames import MOST_ROWS, aligned, headed, number
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.governance.tables.table_set import TableSet

MOST = 700.0  # of a logarithm: its exponential is still a float


def shown_tables(tables: TableSet) -> str:
    """The heading, the sentences about the deviation, and every table."""
    parts = [
        "\n".join(tables.heading()),
        *(shown_table(own, tables.value_name, tables.titles if tables.rows else {}) for own in tables),
    ]
    return "\n\n".join(parts)


def shown_table(table: FactorTable, what: str, titles: Mapping[str, str]) -> str:
    """One table, with what was seen under these titles; of two columns a matrix."""
    note = {1: "  (never falls)", -1: "  (never rises)", 0: ""}[table.sign]
    title = visible(table.name) + note
    if table.value.ndim == 2:
        return "\n".join([title, *_matrix(table)])
    names = [name for name in titles if not np.isnan(getattr(table, name)).all()]
    head = ["", what.replace("_", " "), *(titles[name] for name in names)]
    rows = [
        [visible(label), number(value), *(number(float(getattr(table, name)[i])) for name in names)]
        for i, (label, value) in enumerate(zip(table.labels, table.value.tolist(), strict=True))
    ]
    return "\n".join([title, *headed(head, rows)])


def _matrix(table: FactorTable) -> list[str]:
    head = ["", *(visible(row.label) for row in table.sides[1])]
    rows = [[visible(label), *map(number, own)] for label, own in zip(table.labels, table.value.tolist(), strict=True)]
    return aligned([own[: MOST_ROWS // 2] for own in [head, *rows][:MOST_ROWS]])


def factor_sentence(above: float, below: float, noun: str) -> str:
    """How far predictions are apart, as factors."""
    most = upwards(math.exp(above)) if above < MOST else "any number of"
    return f"the model gives {downwards(math.exp(-below))} to {most} times the {noun} of the tables"


def amount_sentence(above: float, below: float, noun: str) -> str:
    """How far predictions are apart, as amounts."""
    return f"the model's {noun} is at most {upwards(below)} below and {upwards(above)} above that of the tables"
