"""Every output of a log link ends at the same raw score: Python, single rows, the report's engine and all exports."""

from __future__ import annotations

import json

import exported_c
import exported_javascript
import exported_onnx
import exported_sql
import numpy as np
import pytest
from fitted_models import fitted, rows_of

from lambdak.export.javascript.engine import engine_constants, engine_script

RAW = np.array([-1e6, -746.0, -710.0, -700.0, -40.0, 0.0, 39.0, 40.0, 41.0, 100.0, 700.0, 709.0, 710.0, 1e6])
EXPECTED = np.array([0.0, 0.0, *np.exp([-710.0, -700.0, -40.0, 0.0, 39.0]), *[np.exp(40.0)] * 7])
TARGETS = {
    "c": exported_c.opened, "js": exported_javascript.opened, "onnx": exported_onnx.opened,
    "duckdb": exported_sql.opened_duckdb, "sqlite": exported_sql.opened_sqlite,
    "postgresql": exported_sql.opened_postgresql,
}  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    """Rows, and the offsets that bring their raw scores to those above."""
    X = rows_of("poisson").iloc[: len(RAW)].reset_index(drop=True)
    return X, RAW - fitted("poisson").model_.raw(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_end_at_the_exponential_of_40(rows, dtype):
    X, offset = rows
    model = fitted("poisson")
    np.testing.assert_allclose(model.predict(X, offset=offset), EXPECTED, rtol=1e-12, atol=1e-307)
    offset = offset.astype(dtype)
    assert (model.predict(X, offset=offset)[RAW > 40] == np.exp(40.0)).all()


def test_single_rows_end_there_too(rows):
    X, offset = rows
    predictor, expected = fitted("poisson").predictor(), fitted("poisson").predict(X, offset=offset)
    singles = [predictor(row, offset=own) for row, own in zip(X.to_dict("records"), offset.tolist(), strict=True)]
    assert singles == expected.tolist() == predictor.many(X.to_dict("records"), offset=offset)


@pytest.mark.parametrize("exposure", [1e-200, 1.0, 1e200])
def test_an_exposure_counts_before_the_end(rows, exposure):
    X, model = rows[0], fitted("poisson")
    raw = model.model_.raw(X) + np.log(exposure)
    expected = np.exp(np.minimum(raw, 40.0))
    np.testing.assert_allclose(model.predict(X, exposure=np.full(len(X), exposure)), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_exports_end_there_too(rows, name, tmp_path):
    X, offset = rows
    found = TARGETS[name](fitted("poisson").model_, tmp_path, False)(X.copy(), offset)
    np.testing.assert_allclose(found.results[:, 0], EXPECTED, rtol=1e-12, atol=1e-300)


def test_the_engine_of_the_report_ends_there_too(tmp_path):
    program = f"const CONSTANTS = {json.dumps(engine_constants())};\n{engine_script('model')}\n"
    program += "const model = { link: 'log', hazard: Model.prototype.hazard };\n"
    program += f"console.log(JSON.stringify({RAW.tolist()}.map((x) => Model.prototype.free.call(model, x))));"
    found = json.loads(exported_javascript.run(tmp_path, program))
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-12, atol=1e-300)
