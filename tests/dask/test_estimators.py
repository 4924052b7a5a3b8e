"""Estimators on Dask collections: the model of the table in memory, or one that is the same on any cluster.

Tests ``progress``.
"""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from dask_cases import COLUMNS, FAST, bits, cut, local_cluster, table
from distributed import Client
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lambdak
from lambdak import dask as on_dask
from lambdak import shapes as s
from lambdak.table.rows import Rows

FRAME = table(900)
CASES = {
    "squared error": ("SpectralRegressor", {}, "target", []),
    "offset and log link": ("SpectralRegressor", {"loss": "poisson"}, "level", ["offset"]),
    "a loss in Python": ("SpectralRegressor", {"loss": "huber"}, "target", []),
    "weights": ("SpectralRegressor", {}, "target", ["sample_weight"]),
    "monotone and capped": (
        "SpectralRegressor",
        {"monotonic_cst": {"a": 1}, "max_influence": 0.5},
        "target",
        [],
    ),
    "complements": (
        "SpectralRegressor",
        {"constraints": [s.Complements("a", "b"), s.Anchored("a", 0.125)]},
        "target",
        [],
    ),
    "shapes": ("SpectralRegressor", {"constraints": [s.Valley("b"), s.Peak("a", at=0.125)]}, "target", []),
    "quantiles": ("SpectralQuantileRegressor", {}, "target", ["sample_weight"]),
    "names of classes": ("SpectralClassifier", {"class_weight": "balanced"}, "label", []),
    "two classes": ("SpectralClassifier", {}, "sign", ["sample_weight", "offset"]),
    "exposure": ("SpectralRegressor", {"loss": "poisson"}, "level", ["exposure"]),
    "ordered classes": ("SpectralOrdinalClassifier", {"class_weight": {2: 3.0}}, "level", []),
}
FRAME["sign"] = FRAME["target"] > 0
COLUMN_OF = {"offset": "exposure", "sample_weight": "weight", "exposure": "weight"}


def fitted(case, frame, module=on_dask, **options):
    name, settings, y, beside = CASES[case]
    given = {each: frame[COLUMN_OF[each]] for each in beside}
    return getattr(module, name)(**FAST | settings).fit(frame[COLUMNS], frame[y], **given, **options)


def methods(model):
    return [name for name in ("predict", "predict_proba", "decision_function", "predict_quantiles", "predict_interval")
            if name in dir(model)]  # fmt: skip


def saved(model, path):
    model.save(path)
    return path


@pytest.mark.parametrize("case", CASES)
def test_a_small_table_has_the_model_of_the_table_in_memory(case, client):
    assert bits(fitted(case, cut(FRAME))) == bits(fitted(case, FRAME, lambdak))


def test_collections_are_predicted_with_their_offsets_and_exposures(client):
    model, parts = fitted("exposure", cut(FRAME)), cut(FRAME)
    here = lambdak.from_json(model.to_json())
    found = model.predict(parts[COLUMNS], exposure=parts["weight"]).compute()
    assert (found == here.predict(FRAME[COLUMNS], exposure=FRAME["weight"])).all()
    assert (model.predict(parts[COLUMNS], exposure=2.0).compute() == here.predict(FRAME[COLUMNS], exposure=2.0)).all()
    with pytest.raises(TypeError, match="exposure must be a Dask DataFrame, Series or Array; got Series"):
        model.predict(parts[COLUMNS], exposure=FRAME["weight"])
    with pytest.raises(ValueError, match=r"exposure must have the [0-9]+ partitions of X; got 1: take both from one"):
        model.predict(parts[COLUMNS], exposure=parts["weight"].repartition(npartitions=1))
    with pytest.raises(TypeError, match="exposure must be a Dask DataFrame, Series or Array; got Series"):
        clone(model).fit(parts[COLUMNS], parts["level"], exposure=FRAME["weight"])


def test_a_dossier_fits_with_other_seeds_in_memory(client):
    model = fitted("exposure", cut(FRAME))
    here = lambdak.from_json(model.to_json())
    offset = np.log(FRAME["weight"].to_numpy())
    rows = Rows(FRAME[COLUMNS], FRAME["level"].to_numpy(), None, offset)
    assert (model._refitted(1, rows).coef == here._refitted(1, rows).coef).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_any_number_of_workers_gives_the_same_bits(case, sampled):
    sampled(400)
    found = []
    for workers in (1, 2, 3, 5):
        with local_cluster(workers, threads=workers) as cluster, Client(cluster) as client:
            found.append(bits(fitted(case, cut(FRAME), client=client)))
    assert all(each == found[0] for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_large_fit_saves_explains_certifies_and_predicts_like_any_other(case, client, sampled, tmp_path):
    sampled(400)
    model, frame = fitted(case, cut(FRAME)), cut(FRAME)
    loaded = lambdak.load(saved(model, tmp_path / "model"))
    assert type(loaded) is getattr(lambdak, type(model).__name__)
    for name in methods(model):
        here = getattr(model, name)(FRAME[COLUMNS])
        np.testing.assert_array_equal(getattr(loaded, name)(FRAME[COLUMNS]), here)
        there = getattr(model, name)(frame[COLUMNS])
        assert isinstance(there, da.Array)
        assert there.dtype == here.dtype
        assert there.ndim == here.ndim
        np.testing.assert_array_equal(there.compute(), here)
    assert repr(model.certify()) == repr(loaded.certify())
    row = FRAME[COLUMNS].iloc[:1]
    assert repr(model.explain_local(row)) == repr(loaded.explain_local(row))


@pytest.mark.parametrize("case", CASES)
def test_a_large_fit_has_learned_the_table(case, client, sampled):
    sampled(400)
    _, _, y, beside = CASES[case]
    given = {"sample_weight": FRAME["weight"]} if "sample_weight" in beside else {}
    here = fitted(case, FRAME, lambdak).score(FRAME[COLUMNS], FRAME[y], **given)
    assert fitted(case, cut(FRAME)).score(FRAME[COLUMNS], FRAME[y], **given) > here - 0.2 * abs(here) - 0.05


@pytest.mark.slow
@pytest.mark.parametrize("sample", [10_000, 400])
def test_arrays_give_the_model_of_the_frame(client, sampled, sample):
    sampled(sample)
    X = da.from_array(FRAME[["a", "b", "c"]].to_numpy(), chunks=(150, 2))
    y = da.from_array(FRAME["target"].to_numpy(), chunks=100)
    model = on_dask.SpectralRegressor(**FAST).fit(X, y)
    frame = cut(FRAME)
    assert bits(model) == bits(on_dask.SpectralRegressor(**FAST).fit(frame[["a", "b", "c"]], frame["target"]))
    there = model.predict(X)
    assert there.shape == (900,)
    np.testing.assert_array_equal(there.compute(), model.predict(X.compute()))


@pytest.mark.slow
def test_other_partitions_may_give_another_model_as_good(client, sampled):
    sampled(400)
    scores = [fitted("squared error", cut(FRAME, count)).score(FRAME[COLUMNS], FRAME["target"]) for count in (1, 3, 9)]
    assert max(scores) - min(scores) < 0.1


def test_training_cannot_continue_from_a_model(client):
    model = on_dask.SpectralRegressor(warm_start=True, **FAST)
    frame = cut(FRAME)
    model.fit(frame[COLUMNS], frame["target"])
    with pytest.raises(ValueError, match="warm_start must be False on Dask"):
        model.fit(frame[COLUMNS], frame["target"])


@pytest.mark.parametrize("timeout", [0, -1.0])
def test_the_time_out_is_a_positive_number(client, timeout):
    with pytest.raises(ValueError, match="timeout"):
        fitted("squared error", cut(FRAME), timeout=timeout)


def test_a_model_that_is_not_fitted_predicts_nothing(client):
    with pytest.raises(NotFittedError):
        on_dask.SpectralRegressor().predict(cut(FRAME)[COLUMNS])
