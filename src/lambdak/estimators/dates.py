"""Dates as numbers, as a step of a scikit-learn Pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lambdak.table.close_names import asked, suggests_names
from lambdak.table.dates import PARTS, date_columns, expanded, part_names


@suggests_names
class DateExpander(TransformerMixin, BaseEstimator):
    """Replaces columns of dates with numbers: ``sold`` becomes sold_year, sold_month, sold_weekday and sold_days.

    Takes and returns pandas, polars and pyarrow tables. Monday is weekday 0, days are counted from 1970-01-01, with
    the time of day as a fraction, and dates with a time zone count in its wall time. A missing date is missing in all
    of its numbers.

    Parameters
    ----------
    columns : sequence of str, optional
        The columns to replace; None takes those of a date dtype, and text that is an ISO date in every cell.
    parts : sequence of {"year", "month", "weekday", "days"}
        Which numbers to write.

    Attributes
    ----------
    columns_ : list of str
        The columns that are replaced.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [70, 85], "sold": pd.to_datetime(["2024-01-31", "2024-02-01"])})
    >>> DateExpander().fit_transform(X).columns.tolist()
    ['size', 'sold_year', 'sold_month', 'sold_weekday', 'sold_days']
    """

    def __init__(self, columns: Sequence[str] | None = None, parts: Sequence[str] = PARTS) -> None:
        self.columns = columns
        self.parts = parts

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look which columns hold dates; nothing else is learnt."""
        names = _names(X)
        unknown = [part for part in self.parts if part not in PARTS]
        if unknown or isinstance(self.parts, str) or len({*self.parts}) < len(self.parts):
            raise ValueError(f"parts must be some of {list(PARTS)}, each once; got {self.parts!r}")
        if isinstance(self.columns, str):
            raise ValueError(f"columns must be a list of names; got {self.columns!r}: use [{self.columns!r}]")
        self.columns_ = date_columns(X) if self.columns is None else list(self.columns)
        _check(self.columns_, names)
        self.feature_names_in_ = np.array(names, object)
        self.n_features_in_ = len(names)
        return self

    def transform(self, X: Any) -> Any:
        """The table, with numbers instead of dates."""
        check_is_fitted(self, "columns_")
        _check(self.columns_, _names(X))
        return expanded(X, self.columns_, list(self.parts))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns that :meth:`transform` returns."""
        check_is_fitted(self, "columns_")
        given = self.feature_names_in_ if input_features is None else input_features
        named = (part_names(name, self.parts) if name in self.columns_ else [name] for name in given)
        return np.array([each for own in named for each in own], object)


def _names(X: Any) -> list[str]:
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)
    if names is None:
        raise TypeError(f"X must be a table with names of columns; got {type(X).__name__}: use pandas.DataFrame(X)")
    return list(names)


def _check(columns: Sequence[str], names: Sequence[str]) -> None:
    for name in columns:
        if name not in names:
            raise ValueError(
                f"columns must name columns of X, which has {list(names)}; got {name!r}{asked(name, names)}"
            )
