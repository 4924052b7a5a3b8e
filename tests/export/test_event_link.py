"""The probability of an event by a horizon is the same in every export, where it is tiny and where it is certain."""

from __future__ import annotations

import exported_c
import exported_java
import exported_javascript
import exported_onnx
import exported_r
import exported_sql
import numpy as np
import pandas as pd
import pytest
from survival_cases import fitted_survival, simulated

TARGETS = {
    "c": exported_c.opened, "java": exported_java.opened, "js": exported_javascript.opened,
    "onnx": exported_onnx.opened, "r": exported_r.opened, "duckdb": exported_sql.opened_duckdb,
    "sqlite": exported_sql.opened_sqlite, "postgresql": exported_sql.opened_postgresql,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_exports_have_the_link_of_the_cumulative_hazard(name, tmp_path, monkeypatch):
    for exported in (exported_onnx, exported_sql):
        monkeypatch.setattr(exported, "takes_offset", lambda model: True)
    model = fitted_survival().at(0.7)
    X = pd.DataFrame(simulated(9, 1)[0], columns=model.model_.encoder.feature_names)
    offset = np.array([-400.0, -40.0, -20.0, -5.0, 0.0, 1.0, 3.0, 50.0, 1e3])
    expected = model.predict_proba(X.to_numpy(), offset=offset)
    found = TARGETS[name](model.model_, tmp_path, False)(X.copy(), offset)
    np.testing.assert_allclose(found.results[:, :2], expected, rtol=1e-11, atol=1e-170)
