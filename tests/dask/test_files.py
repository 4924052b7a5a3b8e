"""Files read by Dask: X, y, weights and exposures of one table have its partitions, whatever columns they take."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_cases import COLUMNS, FAST, bits, table
from distributed import wait

import dask
import lambdak
from lambdak.dask import SpectralRegressor
from lambdak.dask.parts import partitions

FRAME = table(600)
FILES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    for i in range(FILES):
        FRAME.iloc[i * 150 : (i + 1) * 150].to_parquet(path / f"{i}.parquet")
    return path


def pieces(client, X, y, *beside):
    """The rows of each partition, after a check that X, y and what is beside them have the same."""
    found = [[len(piece.result()) for piece in part.pieces if piece is not None]
             for part in partitions(X, y, *beside).computed(client)]  # fmt: skip
    assert all(len(set(rows)) == 1 for rows in found)
    return [rows[0] for rows in found]


def doubled(part):
    return part["target"] * 2


def read(path):
    return pd.read_parquet(path)


TABLES = {
    "files": lambda folder: dd.read_parquet(folder),
    "known divisions": lambda folder: dd.read_parquet(folder, calculate_divisions=True),
    "a filter": lambda folder: (lambda frame: frame[frame["a"] > 0])(dd.read_parquet(folder)),
    "filters of the reader": lambda folder: dd.read_parquet(folder, filters=[("a", ">", 0.0)]),
    "fewer partitions": lambda folder: dd.read_parquet(folder).repartition(npartitions=3),
    "more partitions": lambda folder: dd.read_parquet(folder).repartition(npartitions=8),
    "delayed": lambda folder: dd.from_delayed([dask.delayed(read)(path) for path in sorted(folder.iterdir())]),
}


@pytest.mark.parametrize("name", TABLES)
def test_columns_of_one_table_have_the_same_partitions(client, folder, name):
    frame = TABLES[name](folder)
    y = frame.map_partitions(doubled, meta=("target", float))
    rows = pieces(client, frame[COLUMNS], frame["target"], frame["weight"], y)
    assert len(rows) == frame.npartitions
    assert sum(rows) == ((FRAME["a"] > 0).sum() if "filter" in name else len(FRAME))


def test_two_readers_of_the_same_files_agree(client, folder):
    X, y = dd.read_parquet(folder)[COLUMNS], dd.read_parquet(folder)["target"]
    assert pieces(client, X, y) == [150] * FILES


def test_an_array_beside_a_frame_keeps_its_blocks(client, folder):
    y = da.from_array(FRAME["target"].to_numpy(), chunks=150)
    assert pieces(client, dd.read_parquet(folder)[COLUMNS], y) == [150] * FILES


def test_a_file_is_read_once_for_X_and_y(client, folder):
    """Futures of X and y depend on the same task, so that one pass opens each file once."""
    frame = dd.read_parquet(folder)
    held = partitions(frame[COLUMNS], frame["target"], frame["weight"]).computed(client)
    wait([piece for part in held for piece in part.pieces[:3]])
    assert client.run_on_scheduler(_readings) == FILES


def _readings(dask_scheduler):
    return sum("read_parquet" in str(key) for key in dask_scheduler.tasks)


def test_the_documented_pattern_fits_and_predicts_files(client, folder):
    frame = dd.read_parquet(folder)
    X = frame[COLUMNS]
    model = SpectralRegressor(**FAST).fit(X, frame["target"], frame["weight"])
    here = lambdak.SpectralRegressor(**FAST).fit(FRAME[COLUMNS], FRAME["target"], FRAME["weight"])
    assert bits(model) == bits(here)
    predictions = model.predict(X)
    assert predictions.numblocks == (FILES,)
    np.testing.assert_array_equal(predictions.compute(), here.predict(FRAME[COLUMNS]))


def test_exposures_of_files_fit_and_predict(client, folder):
    frame = dd.read_parquet(folder)
    model = SpectralRegressor(loss="poisson", **FAST).fit(frame[COLUMNS], frame["level"], exposure=frame["weight"])
    found = model.predict(frame[COLUMNS], exposure=frame["weight"])
    here = lambdak.from_json(model.to_json()).predict(FRAME[COLUMNS], exposure=FRAME["weight"])
    np.testing.assert_array_equal(found.compute(), here)


def test_values_whose_partitions_dask_has_joined_are_refused_with_the_way_out(folder):
    frame = dd.read_parquet(folder)
    assert frame["target"].values.numblocks < (FILES,)
    with pytest.raises(ValueError, match=r"y must have the 4 partitions of X; got .* as frames or series"):
        partitions(frame[COLUMNS], frame["target"].values)


@pytest.mark.parametrize("method", ["tasks", "p2p"])
def test_rows_of_X_and_y_stay_together_through_a_merge(client, folder, method):
    """Whatever columns are taken of a merged table: its rows may come in any order, but only in one."""
    frame = dd.read_parquet(folder)
    frame["number"] = frame.index
    frame["target"] = frame["number"] * 1.0
    other = pd.DataFrame({"number": np.random.default_rng(0).permutation(len(FRAME)), "extra": 1.0})
    merged = frame.merge(dd.from_pandas(other, npartitions=3), on="number", shuffle_method=method)
    held = partitions(merged[["number", "extra"]], merged["target"]).computed(client)
    rows = [(part.X.result()["number"].tolist(), part.y.result().tolist()) for part in held]
    assert all(numbers == targets for numbers, targets in rows)
    assert sorted(number for numbers, _ in rows for number in numbers) == list(range(len(FRAME)))


def test_arrays_of_known_lengths_fit_where_dask_leaves_partitions_as_they_are(client, folder):
    """The way out that the guide names: Dask alone cannot give the lengths of partitions that it joins."""
    frame = dd.read_parquet(folder)
    with dask.config.set({"optimization.tune.active": False}):
        X, y = (frame[name].to_dask_array(lengths=True) for name in (["a", "b", "c"], "target"))
        assert pieces(client, X, y) == [150] * FILES


def test_rows_of_files_without_rows_after_a_filter_are_fitted(client, folder):
    frame = dd.read_parquet(folder)
    frame["number"] = frame.index
    last = frame[frame["number"] >= 300]
    assert pieces(client, last[COLUMNS], last["target"]) == [0, 0, 150, 150]
    model = SpectralRegressor(**FAST).fit(last[COLUMNS], last["target"])
    here = model._in_memory().predict(last[COLUMNS].compute())
    np.testing.assert_array_equal(model.predict(last[COLUMNS]).compute(), here)
    assert model.score(FRAME[COLUMNS], FRAME["target"]) > 0.6
