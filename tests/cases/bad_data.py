"""Bad data by the words of the guide's table: what is given, and a run that is refused or meets its claim.

A run takes a :class:`Kind` and either raises what the page quotes, or returns after its own assertions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

ROWS = 60
BASE = np.random.default_rng(0).standard_normal((ROWS, 2))
TINY = {"effort": "fast", "dim": 2, "max_iter": 1, "n_estimators": 1, "random_state": 0}
LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "numpy": lambda frame: frame.to_numpy(),
    "short": lambda frame: frame.iloc[:9],  # short tables are read cell by cell
}


@dataclass(frozen=True)
class Kind:
    """An estimator with a target for it."""

    estimator: Any
    y: np.ndarray
    method: str

    def fit(self, X, y=None, sample_weight=None, fitted=None, **settings):
        """A small model."""
        model = self.estimator(**TINY | settings)
        return model.fit(X, self.y if y is None else y, sample_weight, **fitted or {})

    def out(self, model, X):
        """All that it predicts."""
        return getattr(model, self.method)(X)

    def predicted(self, X, later=None, **settings):
        """Predictions of a model of X for X, or for another table."""
        return self.out(self.fit(X, **settings), X if later is None else later)


REGRESSORS = [
    Kind(SpectralRegressor, BASE[:, 0], "predict"),
    Kind(SpectralQuantileRegressor, BASE[:, 0], "predict_quantiles"),
]
CLASSIFIERS = [
    Kind(SpectralClassifier, (BASE[:, 0] > 0) * 1, "predict_proba"),
    Kind(SpectralOrdinalClassifier, np.digitize(BASE[:, 0], [-0.5, 0.5]), "predict_proba"),
]
KINDS = REGRESSORS + CLASSIFIERS


@dataclass(frozen=True)
class Case:
    """One row of the table, for some estimators."""

    given: str
    run: Callable[[Kind], object]
    kinds: list[Kind]


CASES: list[Case] = []


def case(given, kinds=KINDS):
    """Add a case with these words."""

    def add(run):
        # Doctests import these modules under another name, which is the same case again.
        if (given, run.__code__) not in [(own.given, own.run.__code__) for own in CASES]:
            CASES.append(Case(given, run, kinds))
        return run

    return add


def table(c=None):
    """Two columns of numbers, a and b, and maybe a third one, c."""
    frame = pd.DataFrame(BASE, columns=["a", "b"])
    return frame if c is None else frame.assign(c=c)


def objects(cells):
    """Cells, repeated, as an array of objects."""
    array = np.empty(ROWS, object)
    array[:] = [cells[i % len(cells)] for i in range(ROWS)]
    return array


def changed(array, row, value):
    """A copy of an array, with another value in one row."""
    other = np.array(array, object if value is None or value is pd.NA else float)
    other[row] = value
    return other


def refused(words, call):
    """A call is refused in these words."""
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        call()


def all_refused(calls):
    """Every call is refused, in the same words but for the name of the column; one of their errors is raised."""
    errors = []
    for call in calls:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        errors.append(caught.value)
    assert len({str(error).replace("'x1'", "'b'").replace("'x2'", "'c'") for error in errors}) == 1, errors
    raise errors[0]


def same(first, *others):
    """The same predictions, bit for bit."""
    assert np.isfinite(first).all()
    for other in others:
        np.testing.assert_array_equal(other, first)
