"""A new type of column is one class and one line in the registry: a toy type goes through all that reads columns.

Tests ``cell_rules`` and ``column_types``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, final

import exported_c
import exported_javascript
import exported_onnx
import exported_sql
import numpy as np
import pandas as pd
import pytest
from export_cases import slopes_of
from scipy import sparse

import lambdak
from lambdak.eigen.engine import EntryKind
from lambdak.table.cell_rules import KnotRule
from lambdak.table.column_contract import Saved
from lambdak.table.column_types import COLUMNS
from lambdak.table.curve_column import Curve
from lambdak.table.knots import median
from lambdak.table.numeric_column import Numeric

SOURCE = Path(lambdak.__file__).parent


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Halves(Numeric):
    """A curve that bends once, in the middle of its range: columns whose name begins with "half"."""

    kind: ClassVar[str] = "halves"
    saved_as: ClassVar = {**dict.fromkeys(("low", "middle", "high", "median"), Saved.NUMBER), "missing": Saved.FLAG}
    n_entries: ClassVar[int] = 3
    n_slots: ClassVar[int] = 2
    n_ramps: ClassVar[int] = 2
    packed_as: ClassVar[EntryKind] = EntryKind.PIECE

    middle: float

    @classmethod
    def suits(cls, raw, settings):
        return raw.kind == "number" and raw.name.startswith("half")

    @classmethod
    def fit(cls, seen, start, settings):
        numbers = seen.numbers()
        low, high = float(numbers.values[0]), float(numbers.values[-1])
        return cls(
            seen.name, start, low=low, middle=0.5 * (low + high), high=high, clamp=settings.clamp,
            median=median(numbers.values, numbers.mass), has_missing=numbers.missing,
        )  # fmt: skip

    @property
    def rule(self):
        return KnotRule(knots=self.nodes(), **self._number_rule())

    def feature_names(self):
        return [f"{self.name} {part}" for part in ("low", "middle", "high", "missing")[: self.width]]

    def nodes(self):
        return np.array([self.low, self.middle, self.high])

    def corners(self):
        return np.array([self.middle])

    def _number_entries(self, x):
        x = min(max(x, self.low), self.high) if self.clamp else x
        piece = int(x >= self.middle)
        left, right = self.nodes()[piece : piece + 2].tolist()
        t = (x - left) / (right - left)
        return (self.start + piece, self.start + piece + 1), (1.0 - t, t)

    def _write_numbers_(self, x, ids, weights, threads):
        for row, number in enumerate(x.tolist()):
            ids[row], weights[row] = self._number_entries(number)

    def _turn_to_slopes_(self, x, moves, ids, weights, leftwards):
        piece = np.where(moves, ids[:, 0] - self.start, 0)
        if leftwards:
            piece = np.where(moves & (x == self.middle), 0, piece)
            ids[moves] = self.start + piece[moves, None] + np.arange(2)
        steep = moves / self.lengths()[piece]
        weights[:, 0], weights[:, 1] = -steep, steep

    def increments(self):
        return sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(2, self.width), format="csr")

    def lengths(self):
        return np.diff(self.nodes())

    def n_rising(self, bend=0, sign=0):
        return self.n_ramps

    def rising(self):
        return np.tri(3, 2, -1)

    def saved(self):
        numbers = {name: getattr(self, name) for name in ("low", "middle", "high", "median")}
        return {**numbers, "missing": self.has_missing}

    @classmethod
    def restored(cls, start, clamp, saved, what):
        numbers = {name: saved[name] for name in ("low", "middle", "high", "median")}
        return cls(saved["name"], start, has_missing=saved["missing"], clamp=clamp, **numbers)


def table(rows, seed):
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(rows) < 0.1, np.nan, rng.uniform(0, 9, rows))
    return pd.DataFrame({"half income": income, "age": rng.uniform(18, 80, rows), "region": rng.choice([*"abc"], rows)})


X, ROWS = table(240, 0), table(25, 1)
Y = np.abs(X["half income"].fillna(4.0) - 2.0) + 0.02 * X["age"] * (X["region"] == "a")


@pytest.fixture(scope="module")
def model():
    """A model with a column of the toy type, which stays registered while the tests of this file run."""
    types = dict(COLUMNS)
    COLUMNS.clear()
    COLUMNS.update({Halves.kind: Halves, **types})  # before those that take what is left
    yield lambdak.SpectralRegressor(
        dim=3, effort="fast", max_iter=5, monotonic_cst={"half income": 1}, random_state=0
    ).fit(X, Y)
    COLUMNS.clear()
    COLUMNS.update(types)


def test_a_fit_asks_the_types_which_of_them_suits_a_column(model):
    assert [type(column).__name__ for column in model.model_.encoder.columns] == ["Halves", "Curve", "Category"]


def test_it_predicts_what_a_curve_with_its_knots_predicts(model):
    toy, *others = model.model_.encoder.columns
    curve = Curve(toy.name, toy.start, knots=toy.nodes(), median=toy.median, has_missing=True, clamp=toy.clamp)
    twin = model.model_.replace(encoder=replace(model.model_.encoder, columns=(curve, *others)))
    for some in (ROWS, ROWS[:1]):  # column by column, and cell by cell
        np.testing.assert_array_equal(model.model_.raw(some), twin.raw(some))
    assert np.ptp(model.predict(ROWS)) > 0.1


def test_its_promise_is_proven_and_no_counterexample_is_found(model):
    claims = {(claim.subject, claim.kind): claim for claim in model.certify().claims}
    assert claims["half income", "monotone"].proven
    assert claims["half income", "influence"].value > 0
    checks = [check for check in model.verify(X, n=200).checks if check.subject == "half income"]
    assert checks
    assert not any(check.violations for check in checks)


def test_it_is_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "toy.safetensors")
    loaded = lambdak.load(tmp_path / "toy.safetensors")
    assert type(loaded.model_.encoder.columns[0]) is Halves
    np.testing.assert_array_equal(loaded.predict(ROWS), model.predict(ROWS))


def test_its_slopes_explain_a_row_and_its_nodes_the_model(model):
    toy = model.model_.encoder.columns[0]
    x = np.array([0.3, 0.7, 1.5, 0.9]) * toy.middle
    rows = ROWS.iloc[:4].assign(**{"half income": x})
    step = 1e-6
    there, here = (model.model_.raw(rows.assign(**{"half income": at})).ravel() for at in (x + step, x - step))
    np.testing.assert_allclose(slopes_of(model.model_, rows).influence[:, 0], (there - here) / (2 * step), atol=1e-5)
    effect = model.explain_global().effects[0]
    assert {toy.low, toy.middle, toy.high} <= {*effect.x}


def test_its_report_computes_it_by_its_cell_rule(model, tmp_path):
    page = model.report(tmp_path / "toy.html", X, Y).read_text(encoding="utf-8")
    column = re.search(r'\{[^{}]*"name": "half income"[^{}]*\}', page)[0]
    assert '"kind": "curve"' in column
    assert str(model.model_.encoder.columns[0].middle) in column


@pytest.mark.parametrize("target", ["c", "javascript", "onnx", "duckdb", "sqlite"])
def test_its_exports_equal_the_model(model, target, tmp_path):
    openers = {"c": exported_c.opened, "javascript": exported_javascript.opened, "onnx": exported_onnx.opened}
    if target in openers:
        found = openers[target](model.model_, tmp_path, False)(ROWS.copy(), None)
    else:
        found = exported_sql.opened(target, model.model_, tmp_path, False)(ROWS.copy(), None)
    np.testing.assert_allclose(found.raw[:, 0], model.model_.raw(ROWS).ravel(), rtol=1e-9, atol=1e-9)


def test_only_who_builds_columns_imports_a_concrete_type():
    names = "|".join(column.__name__ for column in COLUMNS.values())
    concrete = re.compile(rf"from lambdak\.table\.\w+ import (\([^)]*|[^\n]*)\b({names})\b")
    outside = (path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "table")
    importers = [str(path.relative_to(SOURCE)) for path in outside if concrete.search(path.read_text(encoding="utf-8"))]
    assert len(importers) <= 5, importers
