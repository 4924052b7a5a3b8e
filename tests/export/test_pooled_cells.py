"""Every row of training is scored as Python does it, whatever cells of a category were pooled."""

from __future__ import annotations

import warnings
from functools import cache

import exported_c
import exported_javascript
import exported_onnx
import exported_sql
import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralRegressor, load
from lambdak.cli.certify import checked
from lambdak.estimators.files import from_json
from lambdak.store import ModelFileError

ROWS = 120
RARE_TEXT = ["x", "y", "z", "x", "w"]
CELLS = {  # frequent levels, rare ones, and how many levels are kept
    "numbers kept, text pooled": ([3, 4], RARE_TEXT, 3),
    "text kept, numbers pooled": (["a", "b"], [3, 4, 5, 7.25, -1], 3),
    "booleans pooled beside text": (["a", "b"], [True, False, True, False, "c"], 3),
    "booleans pooled beside numbers": ([3, 4], [True, 7, False, 9, 12], 3),
    "text pooled beside floats": ([1, 2.5], [*RARE_TEXT, 7.25, 8], 3),
    "text pooled beside booleans": ([True, False], RARE_TEXT, 3),
    "numbers written as text": ([5, 6], ["3", "4.0", "7", "1e3", "0"], 3),
    "numbers of an object column": ([5, 6], [1, 2, 7, 8, 9.5], 3),
    "missing beside pooled text": ([3, 4, None, np.nan], RARE_TEXT, 4),
    "missing beside pooled numbers": (["a", "b", np.nan, None], [1, 2, 3, 4, 5], 4),
    "all numbers pooled": ([3, 4], [5], 1),
    "all text pooled": (["a", "b"], ["c"], 1),
    "all booleans pooled": ([True, False], [True], 1),
    "all pooled, of both kinds": ([3, "a"], [4, "b"], 1),
    "all numbers pooled beside missing ones": ([3, 4, np.nan], [5], 1),
    "numbers pooled beside dates as text": (["2026-01-01", "2026-01-02"], ["2026-01-03", 7, 20260101, 1.5, "2027"], 3),
}
TARGETS = {
    "c": exported_c.opened, "js": exported_javascript.opened, "onnx": exported_onnx.opened,
    "duckdb": exported_sql.opened_duckdb, "sqlite": exported_sql.opened_sqlite,
    "postgresql": exported_sql.opened_postgresql,
}  # fmt: skip


def rows_of(name):
    frequent, rare, _ = CELLS[name]
    cells = [*rare, *(frequent[i % len(frequent)] for i in range(ROWS - len(rare)))]
    column = np.empty(ROWS, object)
    column[:] = cells
    rng = np.random.default_rng(0)
    return pd.DataFrame({"cell": column, "income": rng.normal(size=ROWS)})


@cache
def fitted(name):
    X = rows_of(name)
    codes = pd.factorize(X["cell"].astype(str))[0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* levels", UserWarning)  # pooled, as requested
        return SpectralRegressor(
            effort="fast", max_iter=20, n_estimators=1, dim=3, random_state=0, n_jobs=1,
            max_categories=CELLS[name][2], categorical_features=["cell"],
        ).fit(X, codes % 3 + X["income"])  # fmt: skip


def plain(X):
    """The rows as other programs have them: beside text, booleans are 1 and 0."""
    mixed = any(isinstance(cell, str) for cell in X["cell"])
    return X.assign(cell=[int(cell) if mixed and isinstance(cell, bool) else cell for cell in X["cell"]])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CELLS)
def test_an_export_scores_every_row_of_training_as_python_does(name, target, tmp_path):
    model, X = fitted(name).model_, rows_of(name)
    expected = model.raw(X)
    assert len(np.unique(model.raw(X.assign(income=0.0)))) > 1 or CELLS[name][2] == 1  # the column matters
    found = TARGETS[target](model, tmp_path, False)(plain(X), None)
    np.testing.assert_allclose(found.raw[:, 0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CELLS)
def test_every_row_of_training_is_scored_alone_as_among_the_others(name):
    model, X = fitted(name), rows_of(name)
    expected, predictor = model.predict(X), model.predictor()
    alone = [model.predict(X.iloc[[i]])[0] for i in range(ROWS)]
    single = [predictor({"cell": X["cell"][i], "income": X["income"][i]}) for i in range(ROWS)]
    assert alone == single == expected.tolist()


@pytest.mark.parametrize("name", CELLS)
def test_a_saved_model_knows_what_its_pooled_cells_were(name, tmp_path):
    model, X = fitted(name), rows_of(name)
    model.save(tmp_path / "model.safetensors")
    assert not checked(tmp_path / "model.safetensors").fails
    restored = load(tmp_path / "model.safetensors")
    assert restored.model_.encoder.columns[0].kinds == model.model_.encoder.columns[0].kinds
    assert [restored.predict(X.iloc[[i]])[0] for i in range(9)] == model.predict(X.iloc[:9]).tolist()
    assert from_json(model.to_json()).model_.encoder.columns[0].pooled == (model.model_.encoder.columns[0].pooled)


@pytest.mark.parametrize("target", ["onnx", "duckdb", "postgresql"])
@pytest.mark.parametrize(("frequent", "rare"), [([3, 4], ["3", "x"]), (["3", "b"], [3, 4])])
def test_a_pooled_cell_that_looks_like_a_level_is_refused_where_both_are_text(frequent, rare, target, tmp_path):
    CELLS["look-alike"] = (frequent, rare, 3)
    fitted.cache_clear()
    with pytest.raises(ValueError, match=r"column 'cell' .*(look alike|cannot tell from it)"):
        TARGETS[target](fitted("look-alike").model_, tmp_path, False)
    found = exported_javascript.opened(fitted("look-alike").model_, tmp_path)(rows_of("look-alike"))
    np.testing.assert_allclose(found.raw[:, 0], fitted("look-alike").model_.raw(rows_of("look-alike")), rtol=1e-10)
    del CELLS["look-alike"]
    fitted.cache_clear()


@pytest.mark.parametrize("name", ["numbers kept, text pooled", "text kept, numbers pooled"])
def test_a_large_fit_knows_what_its_pooled_cells_were(name):
    X = rows_of(name)
    frame = X.assign(y=X["income"])
    batches = [frame.iloc[::-1].iloc[i : i + 40] for i in range(0, ROWS, 40)]  # the rare cells are in the last one
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column .* levels", UserWarning)
        model = SpectralRegressor(
            effort="fast", max_iter=2, n_estimators=1, dim=3, random_state=0, n_jobs=1,
            max_categories=CELLS[name][2], categorical_features=["cell"],
        ).fit(batches, "y")  # fmt: skip
    assert model.model_.encoder.columns[0].kinds == fitted(name).model_.encoder.columns[0].kinds
    rare = X.iloc[: len(CELLS[name][1])]
    assert model.predict(rare).tolist() == model.predict(X)[: len(rare)].tolist()


def test_a_file_of_a_model_without_pooled_kinds_is_as_it_was():
    assert '"pooled"' not in fitted("numbers of an object column").to_json()
    assert '"pooled": ["text"]' in fitted("numbers kept, text pooled").to_json()


@pytest.mark.parametrize(
    "kinds", ['["number"]', '["text", "text"]', '["bytes"]', '"text"', "[1]", '["text", "boolean"]']
)
def test_impossible_kinds_in_a_file_are_refused(kinds):
    text = fitted("numbers kept, text pooled").to_json()
    with pytest.raises(ModelFileError, match="pooled"):
        from_json(text.replace('"pooled": ["text"]', f'"pooled": {kinds}'))
