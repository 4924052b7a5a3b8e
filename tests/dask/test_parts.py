"""Partitions of X and y belong together, whatever they look like; where they do not, one error says which and why."""

from __future__ import annotations

import threading

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_cases import COLUMNS, FAST, bits, cut, table

from dask import config
from lambdak.dask import SpectralClassifier, SpectralRegressor, parts
from lambdak.dask.parts import partitions, pieces_of

FRAME = table(600)


def joined(*parts):
    """A collection whose partitions are these frames, whatever their dtypes."""
    meta = parts[0].iloc[:0]
    return dd.from_map(lambda i: parts[i], range(len(parts)), meta=meta, enforce_metadata=False)


def fit(frame, **settings):
    return SpectralRegressor(**FAST | settings).fit(frame[COLUMNS], frame["target"])


def test_partitions_that_are_not_as_many_are_refused():
    with pytest.raises(ValueError, match=r"y must have the 6 partitions of X; got 4: .* repartition"):
        partitions(cut(FRAME)[COLUMNS], cut(FRAME, 4)["target"])


def test_partitions_with_other_rows_are_refused_with_their_number(client):
    X = joined(FRAME.iloc[:200], FRAME.iloc[200:400], FRAME.iloc[400:])
    y = joined(FRAME.iloc[:200], FRAME.iloc[200:390], FRAME.iloc[400:])
    with pytest.raises(ValueError, match=r"y must have the 200 rows that X has; got 190: .*\(in partition 1\)"):
        SpectralRegressor(**FAST).fit(X[COLUMNS], y["target"])


def test_y_is_needed():
    with pytest.raises(ValueError, match="y must be given"):
        partitions(cut(FRAME)[COLUMNS], None)


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_tables_in_memory_are_refused_with_the_way_out(name):
    given = {"X": cut(FRAME)[COLUMNS], "y": cut(FRAME)["target"], "sample_weight": cut(FRAME)["weight"]}
    given[name] = given[name].compute()
    with pytest.raises(TypeError, match=rf"{name} must be a Dask .* for a table in memory use the"):
        partitions(**given)


def test_blocks_of_y_are_cut_like_those_of_X(client):
    X, y = da.ones((10, 3), chunks=((4, 6), (2, 1))), da.arange(10, chunks=(5, 2, 3))
    found = partitions(X, y).computed(client)
    assert [part.X.result().shape for part in found] == [(4, 3), (6, 3)]
    assert [part.y.result().tolist() for part in found] == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="y must have the 10 rows of X; got 9"):
        partitions(da.ones((10, 3), chunks=5), da.ones(9, chunks=5))


def test_an_array_of_features_has_two_axes():
    with pytest.raises(ValueError, match="X must have two axes; got 1"):
        pieces_of(da.ones(10, chunks=5))


@pytest.mark.parametrize("sample", [10_000, 300])
def test_partitions_without_rows_change_nothing_but_the_numbers_of_the_others(client, sampled, sample):
    sampled(sample)
    empty = FRAME.iloc[:0]
    with_gaps = fit(joined(empty, FRAME.iloc[:250], empty, FRAME.iloc[250:], empty))
    predictions = with_gaps.predict(FRAME[COLUMNS])
    assert 1 - ((predictions - FRAME["target"]) ** 2).mean() / FRAME["target"].var() > 0.6
    if sample > len(FRAME):
        assert bits(with_gaps) == bits(fit(cut(FRAME)))


def test_a_collection_without_rows_is_refused(client):
    with pytest.raises(ValueError, match="X must have rows of positive weight; got none"):
        fit(joined(FRAME.iloc[:0], FRAME.iloc[:0]))


@pytest.mark.parametrize("sample", [10_000, 300])
def test_a_level_of_one_partition_alone_is_a_level(client, sampled, sample):
    sampled(sample)
    last = FRAME.iloc[400:].assign(kind="new")
    last["target"] += 10
    model = fit(joined(FRAME.iloc[:400], last))
    row = FRAME[COLUMNS].iloc[:1]
    assert (model.predict(row.assign(kind="new")) - model.predict(row))[0] > 5


def test_numbers_in_one_partition_and_text_in_another_are_refused(client):
    last = FRAME.iloc[400:].assign(a="text")
    with pytest.raises(ValueError, match=r"column 'a' .* numbers in partition 0 and text in partition 1"):
        fit(joined(FRAME.iloc[:400], last))


def test_other_columns_in_one_partition_are_refused(client):
    other = FRAME.iloc[400:].rename(columns={"b": "B"})
    X = dd.from_map(lambda part: part, [FRAME[COLUMNS].iloc[:400], other[["a", "B", "c", "kind"]]],
                    meta=FRAME[COLUMNS].iloc[:0], enforce_metadata=False)  # fmt: skip
    y = joined(FRAME.iloc[:400], FRAME.iloc[400:])["target"]
    with pytest.raises(ValueError, match="all parts of X must have the same columns"):
        SpectralRegressor(**FAST).fit(X, y)


def test_whole_and_other_numbers_are_both_numbers(client):
    first = FRAME.iloc[:400].assign(a=FRAME["a"].iloc[:400].round().astype(int))
    rest = FRAME.iloc[400:]
    assert bits(fit(joined(first, rest))) == bits(fit(joined(pd.concat([first.astype({"a": float}), rest]))))


@pytest.mark.parametrize("column", ["a", "target"])
def test_infinities_are_one_error_with_their_partition(client, sampled, column):
    sampled(300)
    bad = FRAME.copy()
    bad.loc[510, column] = np.inf
    with pytest.raises(ValueError, match=r"(?i)infinit|finite") as error:
        fit(cut(bad))
    assert "partition 5" in str(error.value)


def test_a_single_class_is_refused(client):
    with pytest.raises(ValueError, match="at least two classes"):
        SpectralClassifier(**FAST).fit(cut(FRAME)[COLUMNS], cut(FRAME.assign(label="one"))["label"])


def test_negative_weights_are_refused_with_their_partition(client):
    bad = FRAME.copy()
    bad.loc[10, "weight"] = -1.0
    with pytest.raises(ValueError, match=r"sample_weight.*partition 0"):
        SpectralRegressor(**FAST).fit(cut(bad)[COLUMNS], cut(bad)["target"], cut(bad)["weight"])


def test_fits_side_by_side_leave_the_settings_of_dask_as_they_were():
    """The second one begins while the first is at work, and ends after it."""
    first_is_in, second_is_in, first_may_end, seen = threading.Event(), threading.Event(), threading.Event(), []

    def first():
        with parts._as_cut():
            first_is_in.set()
            first_may_end.wait(60)

    def second():
        with parts._as_cut():
            second_is_in.set()
            one.join(60)
            seen.append(config.get("optimization.tune.active"))

    before = config.get("optimization.tune.active", None)
    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    assert first_is_in.wait(60)
    other.start()
    second_is_in.wait(1)  # where they take turns it comes after the first one
    first_may_end.set()
    other.join(60)
    assert seen == [False]
    assert config.get("optimization.tune.active", None) == before
