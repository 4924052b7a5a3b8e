"""A summary of batches chooses the knots and levels of the whole table, and draws the same rows for everyone.

Tests ``sample``.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lambdak.table.encoder import TableEncoder
from lambdak.table.large.batches import Drawn, as_batches, drawn
from lambdak.table.large.sample import Seal, row_keys
from lambdak.table.large.summary import TableSummary
from lambdak.table.read import read_table


def table(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": rng.normal(size=rows),
            "count": rng.poisson(3, rows),
            "spiky": np.where(rng.random(rows) < 0.92, 0.0, rng.integers(1, 50, rows) * 100.0),
            "gaps": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 9, rows)),
            "empty": np.full(rows, np.nan),
            "flag": rng.random(rows) < 0.3,
            "text": np.array(["a", "b", "c", None], object)[rng.choice(4, rows, p=[0.6, 0.3, 0.05, 0.05])],
            "many": rng.integers(0, 10_000, rows).astype(str),
            "category": pd.Categorical(rng.integers(0, 5, rows)),
            "y": rng.integers(0, 3, rows),
            "w": rng.integers(0, 3, rows) * 0.5,
        }
    )


def parts_of(frame, count=4):
    return [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), count)]


def summary_of(frames, template=None, start=0, weight=None, **settings):
    own = TableSummary(template or TableEncoder(), **settings)
    for batch in drawn(as_batches([*frames]), "y", weight):
        object.__setattr__(batch, "index", batch.index + start)
        own.add_(batch)
    return own


def same_columns(one, other):
    assert [type(column) for column in one.columns] == [type(column) for column in other.columns]
    for own, new in zip(one.columns, other.columns, strict=True):
        assert own.saved() == new.saved()
        assert (own.name, own.start, own.stop) == (new.name, new.start, new.stop)


@pytest.mark.parametrize(
    "template",
    [
        TableEncoder(),
        TableEncoder(n_knots=12, clamp=False, min_level_count=2),
        TableEncoder(n_knots=0),
        TableEncoder(categorical_features=["count", "text"], max_categories=50),
        TableEncoder(categorical_features=None, linear=("number", "flag")),
    ],
    ids=["default", "knots", "lines", "listed", "none"],
)
@pytest.mark.filterwarnings("ignore:column 'many' has")
def test_the_encoder_is_that_of_the_whole_table(template):
    frame = table()
    whole = template.fit(frame.drop(columns=["y"]))
    same_columns(summary_of(parts_of(frame), template).encoder(), whole)
    one, two = parts_of(frame, 2)
    first = summary_of(parts_of(one, 3), template)
    first.merge_(pickle.loads(pickle.dumps(summary_of(parts_of(two, 2), template, 3))))
    same_columns(first.encoder(), whole)


def test_rows_of_weight_zero_count_as_none_and_others_once():
    frame = table()
    counted = frame[frame["w"] > 0].drop(columns=["y", "w"])
    own = summary_of(parts_of(frame), weight="w")
    assert own.rows == len(counted)
    same_columns(own.encoder(), TableEncoder().fit(counted))
    assert (own.sample().weight > 0).all()


def test_other_settings_can_be_tried_without_another_pass():
    frame = table()
    own = summary_of(parts_of(frame))
    same_columns(own.encoder(TableEncoder(n_knots=5)), TableEncoder(n_knots=5).fit(frame.drop(columns="y")))


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_the_sample_is_the_same_rows_however_batches_are_grouped(library):
    frame = table()
    parts = parts_of(frame, 6)
    if library == "pyarrow":
        parts = [pa.Table.from_pandas(part, preserve_index=False) for part in parts]
    keys = np.concatenate([row_keys(7, i, 500) for i in range(6)])
    order = np.argsort(keys)[:400]
    apart = [summary_of([part], start=i, sample_rows=400, seed=7) for i, part in enumerate(parts)]
    last = apart.pop()
    for each in apart[::-1]:
        last.merge_(each)
    for own in (summary_of(parts, sample_rows=400, seed=7), last):
        sample = own.sample()
        np.testing.assert_array_equal(sample.keys, keys[order])
        np.testing.assert_array_equal(sample.y, frame["y"].to_numpy()[order])
        np.testing.assert_array_equal(sample.table.cells(0).numbers(), frame["number"].to_numpy()[order])
        design = own.encoder().transform(sample.table)
        expected = own.encoder().transform(frame.drop(columns="y").iloc[order])
        assert design.ids.tobytes() == expected.ids.tobytes()
        assert design.weights.tobytes() == expected.weights.tobytes()


def test_an_encoder_fitted_on_a_sample_of_all_rows_is_that_of_the_table():
    frame = table(400)
    sample = summary_of(parts_of(frame)).sample()
    assert len(sample) == 400
    same_columns(TableEncoder().fit(sample.table), TableEncoder().fit(frame.drop(columns="y")))


def test_a_small_sample_stays_small_and_is_uniform():
    frame = pd.DataFrame({"x": np.arange(50_000.0), "y": 0})
    own = summary_of(parts_of(frame, 50), sample_rows=500)
    x = own.sample().table.cells(0).numbers()
    assert len(x) == 500
    assert abs(x.mean() - 25_000) < 4 * 50_000 / np.sqrt(12 * 500)
    counts = np.histogram(x, 10, (0, 50_000))[0]
    assert ((counts - 50) ** 2 / 50).sum() < 27.9  # 0.1 % of the chi-squared distribution with 9 degrees of freedom


def test_labels_of_any_type_are_counted():
    frame = table(900)
    for y in (frame["y"], frame["y"].astype(str), frame["y"] > 1, frame["y"].astype("category"), frame["y"] / 2):
        own = summary_of(parts_of(frame.assign(y=y)), labels=True)
        labels, counts = np.unique(np.asarray(y), return_counts=True)
        assert list(own.label_counts) == labels.tolist()
        assert list(own.label_counts.values()) == counts.tolist()
        np.testing.assert_array_equal(np.unique(np.asarray(own.sample().y)), labels)


def test_labels_that_cannot_be_classes_are_refused():
    some = pd.DataFrame({"x": [1.0, 2.0], "y": ["a", None]})
    with pytest.raises(ValueError, match="y must have a label in every row; got 1 rows without"):
        _ = summary_of([some], labels=True).label_counts
    mixed = pd.DataFrame({"x": [1.0, 2.0], "y": np.array(["a", 1], object)})
    with pytest.raises(TypeError, match=r"labels must be of one type; got \['int', 'str'\]"):
        _ = summary_of([mixed], labels=True).label_counts


def column(cells, **options):
    return pd.DataFrame({"x": pd.Series(cells, **options), "y": 0})


NONE = column([None, None], dtype=object)
KINDS = {
    "integers and floats": [column([1, 2]), column([0.5, np.nan])],
    "nothing, then numbers": [NONE, column([1.0, 2.0])],
    "numbers, then nothing": [column([1.0, 2.0]), NONE],
    "nothing, then text": [column([np.nan, np.nan]), column(["a", "b"])],
    "text, then nothing": [column(["a", "b"]), column([np.nan, np.nan])],
    "booleans, then numbers": [column([True, False]), column([3, 4])],
    "numbers, then booleans": [column([3.5, 4]), column([True, False])],
    "nothing, booleans, numbers": [NONE, column([True, False]), column([3, 4])],
    "categories of different levels": [column(["a", "b"], dtype="category"), column(["c", "a"], dtype="category")],
    "categories and text": [column(["a", "b"], dtype="category"), column(["c", "a"])],
}


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("apart", [False, True])
def test_kinds_that_agree_become_what_one_table_would(kinds, apart):
    parts = KINDS[kinds]
    if apart:
        own, *others = [summary_of([part], start=i) for i, part in enumerate(parts)]
        for other in others:
            own.merge_(other)
    else:
        own = summary_of(parts)
    cells = [cell for part in parts for cell in part["x"].astype(object)]
    whole = TableEncoder().fit(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    same_columns(own.encoder(), whole)
    same_columns(TableEncoder().fit(own.sample().table), whole)


def test_a_column_without_any_cell_is_that_of_one_table():
    for part in (column([np.nan, np.nan]), NONE):
        same_columns(summary_of([part, part]).encoder(), TableEncoder().fit(part[["x"]]))


@pytest.mark.parametrize("apart", [False, True])
def test_text_and_numbers_in_different_batches_are_refused_unless_listed(apart):
    parts = [column([1, 2]), column(["a", "b"])]

    def summed(template):
        if not apart:
            return summary_of(parts, template)
        own = summary_of(parts[:1], template)
        own.merge_(summary_of(parts[1:], template, 1))
        return own

    with pytest.raises(
        ValueError, match=r"column 'x' must hold the same in all batches; got numbers in .* and text in"
    ):
        summed(TableEncoder())
    assert summed(TableEncoder(categorical_features=["x"])).encoder().columns[0].levels == (1, 2, "a", "b")


def test_cells_that_one_table_refuses_are_refused():
    with pytest.raises(ValueError, match="column 'x' contains infinity"):
        summary_of([column([1.0, np.inf])])
    with pytest.raises(TypeError, match="column 'x' is a date"):
        summary_of([column(pd.to_datetime(["2024-01-01", "2024-01-02"]))])


def test_parts_with_other_columns_cannot_be_merged():
    own = summary_of([table(50)])
    with pytest.raises(ValueError, match="all parts of X must have the same columns"):
        own.merge_(summary_of([column([1.0])]))


def test_empty_parts_change_nothing():
    frame = table(100)
    own = TableSummary(TableEncoder())
    own.merge_(TableSummary(TableEncoder()))
    with pytest.raises(ValueError, match="X must have rows of positive weight; got none"):
        own.encoder()
    with pytest.raises(ValueError, match="X must have rows of positive weight; got none"):
        own.sample()
    own.merge_(summary_of([frame]))
    own.merge_(TableSummary(TableEncoder()))
    same_columns(own.encoder(), TableEncoder().fit(frame.drop(columns="y")))
    nothing = summary_of([frame.assign(w=0.0), frame], weight="w")
    assert nothing.rows == np.count_nonzero(frame["w"])


def test_ten_thousand_levels_are_those_of_the_whole_table():
    frame = pd.DataFrame({"x": np.random.default_rng(0).integers(0, 10_000, 60_000).astype(str), "y": 0})
    own = summary_of(parts_of(frame, 5))
    same_columns(own.encoder(), TableEncoder().fit(frame[["x"]]))
    assert read_table(own.sample().table).shape == (60_000, 1)


def test_the_number_of_a_batch_changes_with_single_bits_of_its_cells_and_with_their_places():
    numbers = np.random.default_rng(0).standard_normal(1000)

    def seal(values):
        part = Drawn(read_table(values[:, None]), np.zeros(len(values)))
        own = Seal(part)
        own.add_(0, part.X.cells(0))
        return own.number

    changed = [numbers, -numbers, 2 * numbers, numbers[::-1], numbers + 0.5, np.where(numbers > 0, numbers, np.nan)]
    for bit in (*range(52), 63):  # of the digits and the sign: with others numbers may not be finite
        for rows in (slice(7, 8), slice(0, 2), slice(0, 512)):
            other = numbers.copy()
            other.view(np.uint64)[rows] ^= np.uint64(1 << bit)
            changed.append(other)
    assert len({seal(values) for values in changed}) == len({values.tobytes() for values in changed})
