"""Shapes are settings: parameters, clones, grid searches and files hold them as what they are."""

from __future__ import annotations

import json
import pickle
import struct

import pytest
from shape_cases import CONSTRAINTS, shaped, shaped_table
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from lambdak import SpectralRegressor, from_json, load
from lambdak.shapes import Concave, Convex, Dominates, Peak, Rising
from lambdak.shapes.spelling import read_shape

SHAPES = list(dict.fromkeys(shape for shapes in CONSTRAINTS.values() for shape in shapes))


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_a_shape_is_frozen_hashable_and_the_same_after_pickling_and_cloning(shape):
    again = pickle.loads(pickle.dumps(shape))
    assert again == shape
    assert hash(again) == hash(shape)
    estimator = clone(SpectralRegressor(constraints=[shape]))
    assert estimator.get_params()["constraints"] == [shape]
    with pytest.raises(AttributeError):
        shape.kind = "another"


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_settings_of_a_saved_model_are_json_that_names_every_shape_and_its_fields(name, tmp_path):
    model, X = shaped(CONSTRAINTS[name])
    model.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    settings = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["lambdak"])["parameters"]["constraints"]
    assert [entry["shape"][0] for entry in settings] == [type(shape).__name__ for shape in CONSTRAINTS[name]]
    for entry, shape in zip(settings, CONSTRAINTS[name], strict=True):
        fields = dict(entry["shape"][1]["dict"])
        assert set(fields) == set(shape.saved())
        assert all(repr(key)[1:-1] in json.dumps(fields) for key in shape.keys)
    for again in (load(tmp_path / "model"), from_json(model.to_json())):
        assert again.get_params()["constraints"] == CONSTRAINTS[name]
        assert [read_shape(repr(shape)) for shape in again.constraints] == CONSTRAINTS[name]
        assert (again.predict(X) == model.predict(X)).all()


def test_a_grid_search_chooses_among_constraints_by_their_scores():
    X, y = shaped_table()
    X = X[["income", "dose"]]
    choices = [None, [Rising("income")], [Concave("income"), Convex("dose")]]
    quick = SpectralRegressor(effort="fast", max_iter=3, n_estimators=1, dim=4, random_state=0)
    search = GridSearchCV(quick, {"constraints": choices}, cv=2).fit(X, y)
    best = choices[int(search.cv_results_["mean_test_score"].argmax())]
    assert search.best_params_ == {"constraints": best}
    assert search.best_estimator_.constraints == best
    assert [own["constraints"] for own in search.cv_results_["params"]] == choices


def test_shorthands_and_objects_fit_the_same_bits():
    X, y = shaped_table()
    settings = {"effort": "fast", "max_iter": 2, "n_estimators": 1, "dim": 4, "random_state": 0}
    short = SpectralRegressor(monotonic_cst={"income": 1}, **settings).fit(X, y)
    long = SpectralRegressor(constraints=[Rising("income")], **settings).fit(X, y)
    assert (short.predict(X) == long.predict(X)).all()


@pytest.mark.parametrize("shape", [Peak(["age"]), Rising(["age"]), Dominates("age", ["income"])], ids=repr)
def test_a_list_for_the_name_of_a_column_is_refused_by_name(shape):
    with pytest.raises(TypeError, match=r"must name a column by its name or its position; got \['(age|income)'\]"):
        shaped([shape])
