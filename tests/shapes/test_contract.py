"""A new shape is one class: a toy goes through fit, proofs, attack, file and reports without other code.

Tests ``registry``, ``requested`` and ``spreads``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor, load
from lambdak.shapes.contract import OneColumn
from lambdak.shapes.registry import SHAPES


@dataclass(frozen=True)
class Lowest(OneColumn):
    """Say "no number of this column predicts less than ``at`` does"."""

    at: float
    kind: ClassVar[str] = "lowest"
    method: ClassVar[str] = "the matrix of every knot minus that of the lowest one must be positive semidefinite"

    def knot(self, columns):
        return int(np.abs(columns[self.column].nodes() - self.at).argmin())

    def joined(self, columns):
        return [self.positions]

    def statements(self, columns):
        column, low = columns[self.column], self.knot(columns)
        others = [j for j in range(column.n_entries) if j != low]
        return [{column.start + j: Fraction(1), column.start + low: Fraction(-1)} for j in others]

    def words(self, names, what):
        return f"{what} is nowhere lower than where {names[self.column]} is about {self.at:g}"

    @property
    def factors(self):
        return -1.0, 1.0

    def points(self, columns, draw):
        anywhere = draw(self.column)
        return {self.column: np.full_like(anywhere, columns[self.column].nodes()[self.knot(columns)])}, {
            self.column: anywhere
        }


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(SHAPES, "Lowest", Lowest)


def table(rows=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.uniform(20, 80, rows), "dose": rng.normal(size=rows), "sex": rng.choice(["f", "m"], rows)}
    )
    X.loc[::9, "age"] = np.nan
    return X, np.abs(X["age"].fillna(50) - 45) / 20 + X["dose"] * (X["sex"] == "f") + 0.1 * rng.normal(size=rows)


ESTIMATORS = {
    "mean": (SpectralRegressor, lambda y: y),
    "counts": (lambda **own: SpectralRegressor("poisson", **own), lambda y: np.exp(y).round()),
    "quantiles": (lambda **own: SpectralQuantileRegressor([0.1, 0.9], **own), lambda y: y),
    "classes": (SpectralClassifier, lambda y: (y > 0.8).astype(int)),
    "order": (SpectralOrdinalClassifier, lambda y: np.digitize(y, [0.4, 1.2])),
}


@pytest.mark.parametrize("task", ESTIMATORS)
def test_a_toy_shape_is_fitted_proven_attacked_saved_and_worded(task, tmp_path):
    (make, target), (X, y) = ESTIMATORS[task], table()
    wanted = [Lowest("age", 45.0)]
    model = make(effort="fast", max_iter=3, random_state=0, constraints=wanted).fit(X, target(y))
    for exact in (False, True):
        (claim,) = [own for own in model.certify(exact=exact).claims if own.kind == "lowest"]
        assert (claim.proven, claim.requested, claim.subject) == (True, True, "age")
        assert "is nowhere lower than where age is about 45" in claim.statement
    text = model.certify().to_text(details=True)
    assert f"lowest: {Lowest.method}." in text
    (check,) = [own for own in model.verify(X, n=300).checks if own.kind == "lowest"]
    assert check.tried > 300
    assert check.violations == 0
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.get_params()["constraints"] == wanted
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "is nowhere lower than where age is about 45" in str(again.certify())
    model.report(tmp_path / "report.html", X)
    assert "is nowhere lower than where age is about 45" in (tmp_path / "report.html").read_text()


def test_training_in_generators_follows_the_data_where_the_shape_is_true():
    X, y = table(600)
    free, kept = (
        SpectralRegressor(effort="fast", random_state=0, constraints=own).fit(X, y)
        for own in (None, [Lowest("age", 45.0)])
    )
    assert kept.score(X, y) > free.score(X, y) - 0.03
    grid = pd.DataFrame({"age": np.linspace(20, 80, 50), "dose": 0.0, "sex": "f"})
    seen = kept.predict(grid)
    assert min(seen[0], seen[-1]) > seen.min() + 0.5
