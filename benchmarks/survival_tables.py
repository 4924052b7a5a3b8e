"""Tables of times to an event: SurvSet's without columns that change with time, and those of scikit-survival."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

OF_SKSURV = {  # those that SurvSet has not, and how to load them
    "sksurv-breast": lambda loaders: loaders.load_breast_cancer(),
}


@dataclass(frozen=True)
class Table:
    """One table: numbers as float64, categories as text, both with gaps."""

    name: str
    X: pd.DataFrame
    time: np.ndarray
    event: np.ndarray

    @property
    def size(self) -> int:
        """Rows times columns."""
        return self.X.size


def structured(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """What was observed, as scikit-survival has it."""
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])


@cache
def _loader() -> Any:
    from SurvSet.data import SurvLoader

    return SurvLoader()


@cache
def names() -> tuple[str, ...]:
    """All tables: those in which no column changes with time."""
    known = _loader().df_ds
    return (*known.loc[~known["is_td"].astype(bool), "ds"].tolist(), *OF_SKSURV)


@cache
def load(name: str) -> Table:
    """One table, without rows of which nothing was observed."""
    warnings.filterwarnings("ignore")
    if name in OF_SKSURV:
        from sksurv import datasets

        X, y = OF_SKSURV[name](datasets)
        event, time = (np.asarray(y[field]) for field in y.dtype.names)
    else:
        table = _loader().load_dataset(name)["df"]
        event, time = table["event"].to_numpy(), table["time"].to_numpy()
        X = table.drop(columns=["pid", "event", "time"])
    time = time.astype(float)
    known = np.isfinite(time) & (time >= 0)
    time = np.where(time > 0, time, _half_of_least(time))
    return Table(name, _plain(X[known].reset_index(drop=True)), time[known], event[known].astype(bool))


def _half_of_least(time: np.ndarray) -> float:
    """What a time of zero is for all contestants: some of them refuse it."""
    return float(time[time > 0].min() / 2)


def _plain(X: pd.DataFrame) -> pd.DataFrame:
    kinds: dict[bool, Callable[[pd.Series], pd.Series]] = {
        True: lambda own: own.astype(float),
        False: lambda own: own.astype(object).where(own.notna(), None),
    }
    return pd.DataFrame({
        str(name): kinds[pd.api.types.is_numeric_dtype(column) and not str(name).startswith("fac_")](column)
        for name, column in X.items()
    })  # fmt: skip
