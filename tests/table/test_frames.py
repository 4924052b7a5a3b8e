"""Results as tables of the library that the user's table came from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lambdak.table import frames
from lambdak.table.frames import make_frame

COLUMNS = {"name": ["a", "b"], "size": np.array([1.5, np.nan]), "good": np.array([True, False])}


@pytest.mark.parametrize(
    ("like", "kind"),
    [
        (pd.DataFrame({"x": [1]}), pd.DataFrame),
        (pl.DataFrame({"x": [1]}), pl.DataFrame),
        (pa.table({"x": [1]}), pa.Table),
        (np.zeros((1, 1)), pd.DataFrame),
        (None, pd.DataFrame),
    ],
)
def test_a_frame_is_of_the_library_of_the_table(like, kind):
    found = make_frame(COLUMNS, like)
    assert type(found) is kind
    found = found.to_pandas() if kind is not pd.DataFrame else found
    assert found.columns.tolist() == list(COLUMNS)
    assert found["name"].tolist() == ["a", "b"]
    np.testing.assert_array_equal(found["size"], COLUMNS["size"])
    assert found["good"].tolist() == [True, False]


def test_another_library_steps_in_where_the_own_is_not_installed(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: name == "pyarrow")
    assert type(make_frame(COLUMNS, pd.DataFrame({"x": [1]}))) is pa.Table


def test_without_any_library_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pandas"):
        make_frame(COLUMNS)
