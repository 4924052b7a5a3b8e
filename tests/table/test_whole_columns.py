"""Columns of whole numbers are recognised once, from the training table, and stay so in files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from desk_cases import WHOLE, desk_model
from hostile_cases import sealed
from scipy import sparse

from lambdak import SpectralRegressor, from_json, load
from lambdak.certify import lambdak_check
from lambdak.store import ModelFileError
from lambdak.store._header import FORMAT, describe
from lambdak.table.cells import Cells
from lambdak.table.encoder import TableEncoder
from lambdak.table.large.sketches import NumberSketch
from lambdak.table.whole_columns import whole_columns

COLUMNS = {
    "integers": (pd.Series([1, 2, 5, 7]), True),
    "booleans": (pd.Series([True, False, True, True]), True),
    "whole floats with a gap": (pd.Series([1.0, np.nan, 5.0, 7.0]), True),
    "one fraction": (pd.Series([1.0, 2.0, 5.5, 7.0]), False),
    "beyond what floats tell apart": (pd.Series([1.0, 2.0, 5.0, 1e17]), False),
    "all missing": (pd.Series([np.nan] * 4), False),
}


@pytest.mark.parametrize("n_knots", [0, 3])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_whole_if_all_its_cells_are(name, n_knots):
    cells, whole = COLUMNS[name]
    encoder = TableEncoder(n_knots, None).fit(pd.DataFrame({"x": cells, "y": [0.5, 1.0, 2.0, 3.0]}))
    assert (encoder.columns[0].whole, encoder.columns[1].whole) == (whole, False)


def test_rows_without_weight_do_not_decide():
    X = pd.DataFrame({"x": [1.0, 2.0, 2.5]})
    assert TableEncoder(3).fit(X, [1.0, 1.0, 0.0]).columns[0].whole
    assert not TableEncoder(3).fit(X, [1.0, 1.0, 1.0]).columns[0].whole


def test_sparse_columns_are_recognised_too():
    columns = TableEncoder().fit(sparse.csr_array([[1.0, 0.5], [0.0, 2.0], [3.0, 0.0]])).columns
    assert [column.whole for column in columns] == [True, False]


@pytest.mark.parametrize(("last", "whole"), [(2.0, True), (2.5, False)])
def test_sketches_of_batches_remember_every_cell(last, whole):
    first, second = NumberSketch(), NumberSketch()
    first.add_(Cells("x", np.arange(9000.0), "number"), np.full(9000, 0.9))
    second.add_(Cells("x", np.array([1.0, last]), "number"), np.full(2, 0.9))
    first.merge_(second)
    assert not first.exact
    assert first.numbers().facts()["whole"] is whole


def test_the_user_has_the_last_word():
    columns = desk_model().model_.encoder.columns
    assert whole_columns(columns, None) == tuple(WHOLE)
    assert whole_columns(columns, "ratio") == ("ratio",)
    assert whole_columns(columns, []) == ()


def test_a_file_says_it_and_an_older_one_without_it_still_loads(tmp_path):
    X = [[float(i % 7), i % 5 + 0.5, i % 2] for i in range(60)]
    model = SpectralRegressor(effort="fast", max_iter=2, n_estimators=1, dim=1, random_state=0).fit(X, range(60))
    assert [column.whole for column in from_json(model.to_json()).model_.encoder.columns] == [True, False, True]
    header, tensors = describe(model._saved())
    for column in header["columns"]:
        del column["whole"], column["quartiles"]
    again = _loaded(tmp_path, {**header, "format": 5}, tensors)
    # Seven knots that are whole numbers tell it; two do not.
    assert [column.whole for column in again.model_.encoder.columns] == [True, False, False]
    np.testing.assert_array_equal(again.predict([[3.0, 2.5, 1]]), model.predict([[3.0, 2.5, 1]]))


def test_the_independent_checker_accepts_the_files(tmp_path):
    desk_model().save(tmp_path / "model.safetensors")
    model = lambdak_check.Model((tmp_path / "model.safetensors").read_bytes())
    assert model.format == FORMAT


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("whole", "yes", "whole of column 3 .* must be true or false"),
        ("whole", True, "must have a range of whole numbers"),
        ("quartiles", [1.0], "quartiles of column 3 .* must be two numbers"),
        ("quartiles", [0.9, 0.1], "quartiles of column 3 .* must be two numbers"),
        ("quartiles", [0.1, "x"], "must be a finite number"),
    ],
)
def test_what_a_file_says_is_checked(tmp_path, field, value, match):
    header, tensors = describe(desk_model()._saved())
    columns = [dict(column) for column in header["columns"]]
    columns[3][field] = value
    with pytest.raises(ModelFileError, match=match):
        _loaded(tmp_path, {**header, "columns": columns}, tensors)


def _loaded(tmp_path, header, tensors):
    path = tmp_path / "model.safetensors"
    path.write_bytes(sealed(header, tensors))
    return load(path)
