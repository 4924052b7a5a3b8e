"""The frozen model: immutable, all that predicts, and small.

Tests ``rows``.
"""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from fitted_models import KINDS, X, Y, fitted, rows_of

import lambdak
from lambdak import SpectralRegressor
from lambdak.model import Model


@pytest.mark.parametrize("copied", [lambda model: model, deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("kind", KINDS)
def test_no_array_of_a_model_can_be_made_writable(kind, copied):
    model = copied(fitted(kind)).model_
    owners = [model, *model.encoder.columns, *model.pencils]
    arrays = [value for owner in owners for value in vars(owner).values() if isinstance(value, np.ndarray)]
    assert len(arrays) >= 3 + len(model.pencils)
    for array in [*arrays, model.matrices]:
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.flags.writeable = True
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array[:0].setflags(write=True)


def test_classes_that_are_objects_cannot_be_made_writable():
    model = fitted("binary").model_
    model = model.replace(classes=np.array(["no", True], object))
    for other in (model, deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.classes.tolist() == ["no", True]
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            other.classes.flags.writeable = True


@pytest.mark.parametrize("copied", [lambda model: model, deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_cannot_be_changed_nor_can_its_copies(kind, copied):
    model = copied(fitted(kind)).model_
    assert type(model) is Model
    for field in fields(Model):
        with pytest.raises(FrozenInstanceError):
            setattr(model, field.name, None)
        value = getattr(model, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0
    for column in model.encoder.columns:
        with pytest.raises(FrozenInstanceError):
            column.name = "another"
    with pytest.raises(FrozenInstanceError):
        model.encoder.columns = ()


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_model_alone(kind):
    estimator, rows = fitted(kind), rows_of(kind)[:20]
    model = pickle.loads(pickle.dumps(estimator.model_))
    name = next(each for each in ("predict_quantiles", "predict_proba", "predict") if hasattr(estimator, each))
    np.testing.assert_array_equal(model.predict(rows), getattr(estimator, name)(rows))


def test_another_model_is_a_copy():
    model = fitted("free").model_
    other = model.replace(scale=2 * model.scale)
    assert other.scale == 2 * model.scale
    assert other.coef is model.coef
    np.testing.assert_allclose(other.raw(X) - other.start, 2 * (model.raw(X) - model.start))


def test_settings_after_the_fit_change_neither_predictions_nor_promises():
    model = SpectralRegressor(effort="fast", max_iter=2, monotonic_cst={"income": 1}, random_state=0).fit(X, Y)
    before, promises, certificate = model.predict(X), model.model_.promises, model.certify()
    model.set_params(loss="poisson", dim=31, eig_idx=0, shape="convex", monotonic_cst={"age": -1}, max_influence=1e-3)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.model_.promises == promises
    assert model.certify() == certificate


@pytest.mark.parametrize("kind", ["free", "regressor", "multiclass", "quantiles"])
def test_a_pickle_is_about_as_large_as_the_saved_file(kind, tmp_path):
    settings = fitted(kind).get_params() | {"dim": 9, "n_estimators": 6, "max_categories": None}
    target = Y if kind != "multiclass" else np.digitize(Y, [1.0, 2.0])
    model = type(fitted(kind))(**settings).fit(X, target)
    model.save(tmp_path / "m")
    assert len(pickle.dumps(model)) < 1.3 * (tmp_path / "m").stat().st_size + 3000


def test_a_copy_predicts_but_says_that_its_training_cannot_continue():
    model = pickle.loads(pickle.dumps(fitted("free")))
    np.testing.assert_array_equal(model.predict(X), fitted("free").predict(X))
    with pytest.raises(ValueError, match="loaded or unpickled holds only what predicts"):
        model.partial_fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), fitted("free").predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_fitted_attributes_are_few_and_those_of_scikit_learn(kind):
    public = {name for name in vars(fitted(kind)) if name.endswith("_") and not name.startswith("_")}
    assert public == {"model_", "n_iter_", "loss_curve_", "validation_curve_", "train_score_", "validation_score_"}
    for name in ("n_features_in_", "feature_importances_", "feature_strengths_"):
        assert hasattr(fitted(kind), name)
    assert not hasattr(fitted(kind), "coef_")
    assert not hasattr(lambdak.SpectralRegressor(), "n_features_in_")


class Counted:
    """A pandas table that counts how often each of its columns is read."""

    def __init__(self, frame, monkeypatch):
        self.reads = {}
        import lambdak.table.read as module

        original = module._Frame.cells

        def counted(frame, position, rows):
            cells = original(frame, position, rows)
            self.reads[cells.name] = self.reads.get(cells.name, 0) + 1
            return cells

        monkeypatch.setattr(module._Frame, "cells", counted)
        self.frame = frame


def test_a_table_is_read_once_per_call(monkeypatch, tmp_path):
    counted = Counted(X, monkeypatch)
    model = SpectralRegressor(effort="fast", max_iter=1, random_state=0)
    calls = {
        "fit": lambda: model.fit(X, Y),
        "predict": lambda: model.predict(X),
        "explain_local": lambda: model.explain_local(X[:5]),
        "explain_global": lambda: model.explain_global(X),
        "verify": lambda: model.verify(X, n=10),
        "report": lambda: model.report(tmp_path / "report.html", X, Y),
    }
    for name, call in calls.items():
        counted.reads.clear()
        call()
        assert counted.reads == dict.fromkeys(X.columns, 1), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_prediction_depends_neither_on_the_place_of_its_row_nor_on_the_others(kind):
    model, rows = fitted(kind).model_, rows_of(kind)
    whole, order = model.predict(rows), np.random.default_rng(0).permutation(rows.shape[0])
    take = (lambda some: rows[some]) if kind == "sparse" else (lambda some: rows.iloc[some])
    np.testing.assert_array_equal(model.predict(take(order)), whole[order])
    np.testing.assert_array_equal(
        model.predict(take(np.repeat(order, 3)), threads=2), np.repeat(whole[order], 3, axis=0)
    )
    for i in order[:40]:
        np.testing.assert_array_equal(model.predict(take([i]), threads=1), whole[i : i + 1])


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_float64_whatever_the_matrices_are_stored_in(kind):
    model = fitted(kind).model_
    assert model.coef.dtype == model.predict(rows_of(kind)).dtype == np.float64
    assert pickle.loads(pickle.dumps(model)).coef.tobytes() == model.coef.tobytes()
