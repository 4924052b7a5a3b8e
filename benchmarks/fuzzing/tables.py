"""Tables of hostile dtypes and values, in every container: fitted, predicted, certified and explained, or refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy import sparse

from fuzzing.models import outputs
from fuzzing.trial import Trial, WrongError, answered, at_most
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor

SECONDS = 30.0
TINY = {"effort": "fast", "dim": 2, "max_iter": 1, "n_estimators": 1, "random_state": 0}
ESTIMATORS = (SpectralRegressor, SpectralClassifier, SpectralQuantileRegressor, SpectralOrdinalClassifier)
NAMES = ["a", "b", "income", "", " ", "x0", "x1", "é😀", "=1+1", "\x1b[31m", "a\nb", "1", "None", "λ" * 80]
# What may be said about a table as a whole, or about its target.
WHOLE = (
    "Found array with", "column names must be unique", "Feature names", "feature names", "Expected 2D", "Complex data",
    "y must", "X must", "same length", "rows", "X is", "sparse", "inhomogeneous", "too large to compute with",
)  # fmt: skip


class Unhashable:
    """A cell that no dictionary takes."""

    __hash__ = None  # type: ignore[assignment]


def cell_pools() -> list[Callable[[], st.SearchStrategy[Any]]]:
    """Kinds of cells; a column takes its cells from one or two of them."""
    extreme = [0.0, -0.0, 5e-324, 1e-310, 1e-160, 1e160, 1e300, 4.4e307, 1.7e308, -1.7e308, 2.0**53 + 2]
    whole = [0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**308]
    return [
        lambda: st.floats(-10, 10),
        lambda: st.integers(0, 5),
        lambda: st.sampled_from(["red", "green", "blue"]),
        lambda: st.booleans(),
        lambda: st.floats(allow_nan=True, allow_infinity=False),
        lambda: st.sampled_from(extreme),
        lambda: st.sampled_from(whole),
        lambda: st.sampled_from([None, float("nan"), pd.NA, pd.NaT]),
        lambda: st.sampled_from([float("inf"), float("-inf")]),
        lambda: st.text(max_size=5),
        lambda: st.sampled_from(["", " ", "nan", "None", "1", "1.0", "\x00", "\ud800", "a" * 2000, "=1+1"]),
        lambda: st.sampled_from([Decimal("1.5"), Decimal("NaN"), Decimal("1e400"), Fraction(1, 3), Fraction(10**400)]),
        lambda: st.sampled_from([datetime.date(2020, 1, 1), datetime.datetime(1, 1, 1), datetime.timedelta(1)]),
        lambda: st.sampled_from([b"a", (1, 2), frozenset([1]), 1j, np.float16(1), np.int8(3), np.str_("s"), object()]),
        lambda: st.sampled_from([[1], {"a": 1}, {1}, Unhashable(), np.array([1, 2])]),
    ]


def column(trial: Trial, rows: int) -> list[Any]:
    pools = cell_pools()
    first = trial.pick(pools)()
    both = st.one_of(first, trial.pick(pools)()) if trial.chance(3) else first
    distinct = [trial.draw(both) for _ in range(1 + trial.below(6))]
    return [distinct[trial.below(len(distinct))] for _ in range(min(rows, 12))] * (rows // 12 + 1)


def objects(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        array[i] = cell
    return array


def series(trial: Trial, cells: list[Any]) -> Any:
    """A column of pandas: as objects, as it guesses, or with a dtype that may not fit."""
    way = trial.below(8)
    array = objects(cells)
    if way < 2:
        return pd.Series(array, dtype=object)
    if way < 4:
        return pd.Series(cells)
    kinds = ["category", "string", "Int64", "Float64", "boolean", "float32", "int8", "datetime64[ns]", "float16"]
    try:
        return pd.Series(array).astype(trial.pick(kinds))
    except Exception:  # of pandas, which cannot do that
        return pd.Series(array, dtype=object)


def table(trial: Trial, rows: int) -> Any:
    """A table in any container, or None if the container itself refuses."""
    width = trial.pick([1, 2, 3, 3, 4, 0])
    cells = [column(trial, rows)[:rows] for _ in range(width)]
    names: list[Any] = [trial.pick(NAMES) if trial.chance(2) else f"c{i}" for i in range(width)]
    if trial.chance(10) and width:
        names[-1] = trial.pick([1, None, ("a", "b"), names[0]])
    trial.notes |= {"names": repr(names), "cells": repr(cells)[:4000]}
    kind = trial.pick(["pandas", "array", "list", "polars", "arrow", "sparse", "numbers", "masked"])
    trial.notes["container"] = kind
    return contained(trial, kind, cells, names, rows)


def contained(trial: Trial, kind: str, cells: list[list[Any]], names: list[Any], rows: int) -> Any:
    try:
        match kind:
            case "pandas":
                frame = (
                    pd.concat([series(trial, own) for own in cells], axis=1)
                    if cells
                    else pd.DataFrame(index=range(rows))
                )
                return frame.set_axis(names, axis=1)
            case "polars" if any(isinstance(cell, Decimal) and cell.is_nan() for own in cells for cell in own):
                return None  # polars panics, on the screen
            case "polars":
                return pl.DataFrame(
                    [pl.Series(str(name), own, strict=False) for name, own in zip(names, cells, strict=True)]
                )
            case "arrow":
                return pa.table([pa.array(own) for own in cells], names=[str(name) for name in names])
            case "list":
                return [list(row) for row in zip(*cells, strict=True)]
            case "array":
                stacked = np.empty((rows, len(cells)), object)
                for i, own in enumerate(cells):
                    stacked[:, i] = objects(own)
                return stacked
            case _:
                numbers = np.array([[float(cell) for cell in own] for own in cells]).T.reshape(rows, len(cells))
                if kind == "masked":
                    return np.ma.masked_array(numbers, np.arange(numbers.size).reshape(numbers.shape) % 3 == 0)
                return (
                    trial.pick([sparse.csr_array, sparse.csc_matrix, sparse.coo_array])(numbers)
                    if kind == "sparse"
                    else numbers
                )
    except (Exception, pl.exceptions.PanicException) as error:  # of the container's library, not of ours
        trial.notes["container refused"] = repr(error)
        return None


def labels(trial: Trial, estimator: type, rows: int) -> np.ndarray:
    """A target that may be hostile, too."""
    rng = np.random.default_rng(trial.below(1000))
    if trial.chance(6):
        return objects(column(trial, rows)[:rows])
    if estimator in (SpectralClassifier, SpectralOrdinalClassifier):
        codes = rng.integers(0, trial.pick([2, 3, 4]), rows)
        return trial.pick([codes, codes.astype(str), codes > 0, codes.astype(float), objects([f"k{c}" for c in codes])])
    return trial.pick([1.0, 1e-12, 1e12, 0.0]) * rng.normal(size=rows)


def target(trial: Trial) -> str:
    """Fit, predict, certify and explain; or an error that names the column."""
    rows = trial.pick([30, 12, 60, 2, 1, 0])
    estimator = trial.pick(ESTIMATORS)
    y = labels(trial, estimator, rows)
    X = table(trial, rows)
    if X is None:
        return "no such table"
    settings = {
        **TINY,
        "n_knots": trial.pick(["auto", 0, 2, 5]),
        "shape": trial.pick([None, None, "convex", "concave"]),
    }
    categories = trial.pick(["from_dtype", "from_dtype", None, [0]])
    trial.notes |= {
        "estimator": estimator.__name__,
        "settings": settings,
        "categories": categories,
        "rows": rows,
        "y": repr(y),
    }
    model = estimator(**settings, categorical_features=categories)
    with at_most(SECONDS):
        found = answered(lambda: model.fit(X, y), (ValueError, TypeError))
        if isinstance(found, Exception):
            check_words(found)
            return "refused"
        check_fitted(model, X)
    return "fitted"


def check_words(error: Exception) -> None:
    """A message names the column, or speaks about the table as a whole, its target or a setting."""
    words = str(error)
    settings = ("shape must", "dim must", "categorical_features", "monotonic_cst", "n_knots", "Unknown label type")
    if not any(part in words for part in ("column ", "column names", *WHOLE, *settings)):
        raise WrongError(f"the message names no column: {type(error).__name__}: {words[:300]}") from error


def check_fitted(model: Any, X: Any) -> None:
    """What a model says about its own training table."""
    for name, values in outputs(model, X).items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise WrongError(f"{name} is not finite")
    certificate = model.certify()
    if not certificate.holds:
        raise WrongError("the certificate of a new model does not hold")
    str(certificate)
    model.explain_global()
    few = X[:3] if not isinstance(X, sparse.sparray | sparse.spmatrix) else X.tocsr()[:3]
    local = model.explain_local(few)
    for name in ("score", "prediction", "attribution"):
        if not np.isfinite(getattr(local, name)).all():
            raise WrongError(f"{name} of an explanation is not finite")
    if np.isnan(local.influence_bound).any():  # infinite per unit is true of a column in units of 5e-324
        raise WrongError("influence_bound of an explanation is NaN")
    local.why(0)
    for column in local.columns:
        interval = local.what_if(column)
        if not (interval.lower <= interval.upper).all():
            raise WrongError(f"what_if of {column!r} is empty")
