"""A Pipeline that ends with a model travels as one file: no pickle, nothing compressed, nothing that is not trusted.

Tests ``files``.
"""

from __future__ import annotations

import copy
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.store import ModelFileError

SMALL = {"effort": "fast", "max_iter": 2, "dim": 3, "random_state": 0, "n_jobs": 1}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=120), "b": RNG.choice(["x", "y", "z"], 120)})
Y = X["a"].to_numpy() + (X["b"] == "x")


@pytest.fixture(scope="module")
def pipeline():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("a", numbers, ["a"]), ("b", OneHotEncoder(sparse_output=False), ["b"])])
    return Pipeline([("columns", columns.set_output(transform="pandas")), ("model", SpectralRegressor(**SMALL))]).fit(
        X, Y
    )


def rewritten(path, **entries):
    """The archive with other entries, deflated if they are named so."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (parts | entries.pop("parts", {})).items():
            archive.writestr(name, data, **entries)


def test_a_pipeline_predicts_the_same_to_the_last_bit(pipeline, tmp_path):
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    loaded = lambdak.load(tmp_path / "pipeline.skops")
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))
    assert loaded[-1].feature_names_in_.tolist() == ["a__a", "b__b_x", "b__b_y", "b__b_z"]


def test_the_pipeline_in_memory_stays_as_it_was(pipeline, tmp_path):
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    assert isinstance(pipeline[-1], SpectralRegressor)


def test_the_same_pipeline_gives_the_same_model_bytes_and_no_pickle(pipeline, tmp_path):
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    pipeline[-1].save(tmp_path / "model.safetensors")
    with zipfile.ZipFile(tmp_path / "pipeline.skops") as archive:
        assert archive.namelist() == ["steps.skops", "model.safetensors"]
        assert archive.read("model.safetensors") == (tmp_path / "model.safetensors").read_bytes()
        steps = zipfile.ZipFile(BytesIO(archive.read("steps.skops")))
    assert all(name == "schema.json" or name.endswith(".npy") for name in steps.namelist())


def test_save_of_an_estimator_is_its_own_save(pipeline, tmp_path):
    lambdak.save(pipeline[-1], tmp_path / "one.safetensors")
    pipeline[-1].save(tmp_path / "other.safetensors")
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "other.safetensors").read_bytes()


def test_training_continues_in_a_loaded_pipeline(tmp_path):
    pipeline = make_pipeline(StandardScaler(), SpectralClassifier(**SMALL)).fit(X[["a"]], X["b"])
    lambdak.save(pipeline, tmp_path / "pipeline.skops", training_state=True)
    loaded = lambdak.load(tmp_path / "pipeline.skops")
    for model in (pipeline, loaded):
        model[-1].partial_fit(X[["a"]].to_numpy(), X["b"])
    np.testing.assert_array_equal(loaded.predict_proba(X[["a"]]), pipeline.predict_proba(X[["a"]]))


def test_a_type_that_is_not_trusted_is_refused_until_it_is_named(tmp_path):
    pipeline = make_pipeline(FunctionTransformer(copy.copy), SpectralRegressor(**SMALL)).fit(X, Y)
    with pytest.warns(UserWarning, match=r"load will refuse the steps \['copy.copy'\].*trusted=\['copy.copy'\]"):
        lambdak.save(pipeline, tmp_path / "pipeline.skops")
    with pytest.raises(ModelFileError, match=r"not known to be safe: \['copy.copy'\].*pass trusted=\['copy.copy'\]"):
        lambdak.load(tmp_path / "pipeline.skops")
    loaded = lambdak.load(tmp_path / "pipeline.skops", trusted=["copy.copy"])
    np.testing.assert_array_equal(loaded.predict(X), pipeline.predict(X))


def test_steps_that_cannot_be_loaded_again_are_refused_and_nothing_is_written(tmp_path):
    pipeline = make_pipeline(FunctionTransformer(lambda table: table), SpectralRegressor(**SMALL)).fit(X, Y)
    with pytest.raises(TypeError, match=r"cannot be read again without pickle: .*: give functions that have"):
        lambdak.save(pipeline, tmp_path / "pipeline.skops")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("trusted", ["numpy.dtype", True])
def test_trusted_is_a_list_of_names(pipeline, tmp_path, trusted):
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    with pytest.raises(TypeError, match=f"trusted must be a list of names of types, .*; got {trusted!r}"):
        lambdak.load(tmp_path / "pipeline.skops", trusted=trusted)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (LinearRegression(), "got LinearRegression"),
        (make_pipeline(StandardScaler(), LinearRegression()), "a Pipeline whose last step is LinearRegression"),
        (TransformedTargetRegressor(SpectralRegressor()), "the lambdak model inside of it"),
    ],
    ids=["estimator", "pipeline", "meta-estimator"],
)
def test_other_estimators_are_refused_in_one_sentence(wrong, what, tmp_path):
    with pytest.raises(TypeError, match=what):
        lambdak.save(wrong, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_damaged_archive_is_refused(pipeline, tmp_path):
    path = tmp_path / "pipeline.skops"
    lambdak.save(pipeline, path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError, match="it is damaged"):
        lambdak.load(path)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"compress_type": zipfile.ZIP_DEFLATED}, "must be stored as it is"),
        ({"parts": {"more.txt": b""}}, "must hold steps.skops and model.safetensors"),
        ({"parts": {"steps.skops": b"PK\x03\x04"}}, "it is damaged"),
        ({"parts": {"model.safetensors": b"{"}}, "last step|model"),
    ],
    ids=["compressed", "further file", "no steps", "no model"],
)
def test_a_forged_archive_is_refused(pipeline, tmp_path, change, what):
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    rewritten(tmp_path / "pipeline.skops", **change)
    with pytest.raises(ModelFileError, match=what):
        lambdak.load(tmp_path / "pipeline.skops")


def test_steps_without_a_pipeline_are_refused(pipeline, tmp_path):
    skops = pytest.importorskip("skops.io")
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    rewritten(tmp_path / "pipeline.skops", parts={"steps.skops": skops.dumps(StandardScaler())})
    with pytest.raises(ModelFileError, match="those of a Pipeline"):
        lambdak.load(tmp_path / "pipeline.skops")


@pytest.mark.parametrize(
    "steps",
    [
        5,
        {"a": 1},
        "ab",
        [None],
        [("a",)],
        (("a", "passthrough"),),
        [("a", np.array(["passthrough", "x"]))],
        [("a", "passthrough"), ("a", "passthrough")],
        [(3, "passthrough")],
    ],
    ids=repr,
)
def test_steps_that_no_pipeline_has_are_refused_as_a_file(pipeline, tmp_path, steps):
    skops, path = pytest.importorskip("skops.io"), tmp_path / "pipeline"
    lambdak.save(pipeline, path)
    forged = copy.copy(pipeline)
    forged.steps = steps
    rewritten(path, parts={"steps.skops": skops.dumps(forged)})
    with pytest.raises(ModelFileError, match="its steps must be those of a Pipeline"):
        lambdak.load(path)


def test_a_pipeline_has_no_signature(pipeline, tmp_path):
    lambdak.save(pipeline, tmp_path / "pipeline.skops")
    with pytest.raises(ValueError, match="sign the file of its last step alone"):
        lambdak.load(tmp_path / "pipeline.skops", public_key=b"")
