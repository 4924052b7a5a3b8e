"""Anchored: exactly zero at a cell, and otherwise the model that it would be without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hostile_cases import sealed
from scipy import sparse
from shape_cases import TASKS, shaped, shaped_table

import lambdak.certify
from lambdak import SpectralRegressor, load
from lambdak import shapes as s
from lambdak.store._header import describe

CHECKER = Path(lambdak.certify.__file__).parent / "lambdak_check.py"
CELLS = {"age": 45.0, "income": 2.5, "grade": "mid", "size": "M"}
ALL = [s.Anchored(name, cell) for name, cell in CELLS.items()]


@pytest.mark.parametrize("task", TASKS)
def test_rows_at_all_anchors_have_the_matrices_of_the_constant(task):
    model, X = shaped([*ALL, s.Rising("age")], task)
    own = model.model_
    row = own.encoder.transform(X.iloc[[0]].assign(**CELLS), np.float64)
    used = {int(j): w for j, w in zip(row.ids[0], row.weights[0], strict=True) if w}
    for column, name in zip(own.encoder.columns, X.columns, strict=True):
        if name in CELLS:
            at = sum(w * own.matrices[:, j] for j, w in used.items() if column.start <= j < column.stop)
            assert not np.any(at)
    assert model.certify().holds


def test_an_anchor_changes_what_columns_are_measured_from_and_no_prediction():
    (free, X), (anchored, _) = shaped([]), shaped([s.Anchored("grade", "mid"), s.Anchored("size", "M")])
    np.testing.assert_allclose(anchored.predict(X), free.predict(X), rtol=1e-12, atol=1e-12)
    (free, X), (anchored, _) = shaped([], n_knots=0), shaped([s.Anchored("dose", 0.5)], n_knots=0)
    np.testing.assert_allclose(anchored.predict(X), free.predict(X), atol=0.05)  # another start of the training


def test_a_level_never_seen_counts_as_the_anchored_one_unless_levels_were_pooled():
    model, X = shaped([s.Anchored("grade", "mid")])
    new, base = (model.predict(X.assign(grade=cell)) for cell in ("never seen", "mid"))
    np.testing.assert_array_equal(new, base)
    rare = X.assign(grade=np.where(np.arange(len(X)) % 50 == 0, [f"r{i}" for i in range(len(X))], X["grade"]))
    settings = {"max_categories": 4, "effort": "fast", "max_iter": 3, "n_estimators": 2, "random_state": 0}
    free, pooled = (SpectralRegressor(constraints=own, **settings) for own in (None, [s.Anchored("grade", "mid")]))
    for own in (free, pooled):
        with pytest.warns(UserWarning, match="pooled|levels"):
            own.fit(rare, shaped_table()[1])
    new = X.assign(grade="never seen")
    np.testing.assert_allclose(pooled.predict(new), free.predict(new), rtol=1e-12)
    assert not np.allclose(pooled.predict(new), pooled.predict(X.assign(grade="mid")), rtol=1e-6)


def test_a_missing_cell_can_be_the_anchor():
    for constraints in ([s.Anchored("age", None)], [s.Anchored("age", float("nan")), s.Convex("age")]):
        model, _ = shaped(constraints)
        column = model.model_.encoder.columns[0]
        assert not model.model_.matrices[:, column.missing].any()
        assert model.certify().holds
    assert s.Anchored("age", float("nan")) == s.Anchored("age", None)


def test_a_line_goes_through_its_anchor():
    X, y = shaped_table()
    X, X2 = X[["age", "dose"]].fillna(50.0), sparse.csr_array(np.maximum(X[["dose"]], 0))
    model = SpectralRegressor(constraints=[s.Anchored("age", 33.5)], n_knots=0, effort="fast", max_iter=2).fit(X, y)
    assert model.model_.encoder.columns[0].center == 33.5
    assert model.certify().holds
    assert SpectralRegressor(constraints=[s.Anchored(0, 0)], effort="fast", max_iter=2).fit(X2, y).certify().holds
    with pytest.raises(ValueError, match="must name the cell 0, because X is sparse"):
        SpectralRegressor(constraints=[s.Anchored(0, 0.5)], effort="fast", max_iter=2).fit(X2, y)


REFUSED = {
    "a number beyond": (s.Anchored("age", 999), r"needs a number in the training range of 'age', 2\d.* to 7\d"),
    "text for a number": (s.Anchored("age", "old"), "needs a number in the training range"),
    "an unknown level": (s.Anchored("grade", "none"), r"training has seen; 'grade' has \['high', 'low', 'mid'\]"),
    "nothing missing": (s.Anchored("income", None), "needs missing cells, but 'income' had none in training"),
    "an unknown column": (s.Anchored("wage", 1), "names columns that X does not have"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_cells_that_training_has_not_seen_are_refused(name):
    shape, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        shaped([shape])
    with pytest.raises(ValueError, match="keep one of the two"):
        shaped([s.Anchored("age", 40), s.Anchored("age", 50)])
    for cell in ([1.0], np.inf, {}):
        with pytest.raises(ValueError, match="cell of Anchored must be a number, a level, or None"):
            s.Anchored("age", cell)


def test_the_level_of_an_anchor_can_be_told_from_the_words_around_it():
    cells = {"a": "'a'", "": "''", None: "missing", 3: "3"}
    said = {cell: s.Anchored(0, cell).words(["mix"], "the prediction") for cell in cells}
    assert said == {cell: f"the column mix adds nothing where it is {text}" for cell, text in cells.items()}


def test_no_bit_of_the_matrix_at_an_anchor_may_be_changed(tmp_path):
    model, _ = shaped(ALL)
    header, tensors = describe(model._saved())
    columns = model.model_.encoder.columns
    places = [columns[0].start + int(np.searchsorted(columns[0].knots, 45.0)), columns[3].start + 2]
    for place in places:
        coef = np.array(tensors["coef"])
        assert not coef[:, place].any()
        coef[1, place, 1] = 5e-324
        (tmp_path / "model").write_bytes(sealed(header, {**tensors, "coef": coef}))
        with pytest.raises(ValueError, match="adds nothing where it is"):
            load(tmp_path / "model")
        found = subprocess.run([sys.executable, str(CHECKER), str(tmp_path / "model"), "--json"], capture_output=True)
        assert found.returncode == 1
        (claim,) = [
            own for own in json.loads(found.stdout)["claims"] if own["requested"] and own["verdict"] == "refuted"
        ]
        assert claim["kind"] == "anchored"


def test_the_relativity_of_the_anchor_is_one():
    X, y = shaped_table()
    settings = {"effort": "fast", "max_iter": 4, "random_state": 0, "constraints": ALL}
    model = SpectralRegressor("poisson", **settings).fit(X, np.exp(y / 2).round())
    tables = model.relativities(X)
    for name, cell in CELLS.items():
        (rows,) = tables[name].sides
        inside = [row.level == cell if row.kind == "level" else _holds(row, cell) for row in rows]
        assert tables[name].value[inside.index(True)] == 1.0


def _holds(row, number):
    return (row.low is None or row.low <= number) and (row.high is None or number < row.high)
