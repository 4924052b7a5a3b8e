"""Columns come back from a file as they were."""

from __future__ import annotations

import numpy as np
import pytest
from saved_cases import FRAME, LAW, QUICK, assert_same

import lambdak
from lambdak import SpectralRegressor
from lambdak.table.category_levels import OTHER


def test_columns_come_back_as_they_were(tmp_path):
    with pytest.warns(UserWarning, match="levels, more than 3: "):
        model = SpectralRegressor(max_categories=3, **QUICK).fit(FRAME, LAW)
    model.save(tmp_path / "m")
    other = lambdak.load(tmp_path / "m")
    for ours, theirs in zip(model.model_.encoder.columns, other.model_.encoder.columns, strict=True):
        assert repr(ours) == repr(theirs)
        assert type(ours) is type(theirs)
        for name, value in vars(ours).items():
            other_value = getattr(theirs, name)
            assert type(value) is type(other_value)
            if isinstance(value, np.ndarray):
                assert value.tobytes() == other_value.tobytes()
            if isinstance(value, tuple):
                assert [type(level) for level in value] == [type(level) for level in other_value]
    assert model.model_.encoder.columns[2].levels == ("north", "south", None, OTHER)
    unseen = FRAME.head(3).assign(**{'région "x"\n😀': ["new", None, "rare"], "income": [-1.0, 1e9, np.nan]})
    assert_same(model, other, unseen)
