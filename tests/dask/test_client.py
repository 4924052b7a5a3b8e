"""Without a cluster there is nothing to fit on."""

from __future__ import annotations

import pytest
from dask_cases import COLUMNS, FAST, cut, table

from lambdak.dask import SpectralRegressor


def test_there_must_be_a_client():
    frame = cut(table(60))
    with pytest.raises(ValueError, match="there is no Dask client: start one first"):
        SpectralRegressor(**FAST).fit(frame[COLUMNS], frame["target"])
