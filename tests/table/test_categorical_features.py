"""``table.matching``: which columns are categories, listed by name, position or mask, or by their dtype."""

import numpy as np
import pandas as pd
import pytest

from lambdak.table.encoder import TableEncoder


def table_of_kinds():
    rows = 12
    return pd.DataFrame(
        {
            "number": np.arange(rows),
            "flag": np.arange(rows) % 2 == 0,
            "code": pd.Categorical(np.arange(rows) % 3),
            "text": np.array(["u", "v"] * (rows // 2)),
        }
    )


@pytest.mark.parametrize(
    ("categorical_features", "categories"),
    [
        ("from_dtype", {"flag", "code", "text"}),
        (None, {"text"}),
        ([], {"text"}),
        (["number", "text"], {"number", "text"}),
        ([0, 1], {"number", "flag", "text"}),
        (np.array([2]), {"code", "text"}),
        ([False, False, True, False], {"code", "text"}),
    ],
)
def test_categories_are_listed_in_the_spelling_of_hist_gradient_boosting(categorical_features, categories):
    encoder = TableEncoder(categorical_features=categorical_features).fit(table_of_kinds())
    assert {column.name for column in encoder.columns if column.kind == "category"} == categories
    assert encoder.transform(table_of_kinds()).ids.shape[0] == 12


def test_bools_can_be_read_as_numbers_by_calling_them_linear():
    assert TableEncoder(linear=["flag"]).fit(table_of_kinds()).columns[1].kind == "linear"


@pytest.mark.parametrize(
    ("categorical_features", "message"),
    [
        ("from-dtype", "must be \"from_dtype\", None or an array; got 'from-dtype'"),
        (["nope"], "has an item value 'nope' which is not a valid feature name of the training data"),
        ([4], r"integer indices must be in \[0, n_features - 1\], here \[0, 3\]; got \[4\]"),
        ([-1], r"integer indices must be in \[0, n_features - 1\]"),
        ([True, False], r"boolean mask must have shape \(n_features,\), here \(4,\); got \(2,\)"),
        ([1.5], r"must be an array-like of bool, int or str; got \[1.5\]"),
        (np.array([1, "a"], dtype=object), "must be an array-like of bool, int or str"),
    ],
)
def test_a_wrong_list_of_categories_is_refused_with_what_is_allowed(categorical_features, message):
    with pytest.raises(ValueError, match=f"categorical_features .*{message}"):
        TableEncoder(categorical_features=categorical_features).fit(table_of_kinds())


def test_names_of_categories_need_a_table_with_names():
    with pytest.raises(ValueError, match="categorical_features should be passed as an array of integers"):
        TableEncoder(categorical_features=["x0"]).fit(np.ones((3, 2)))
