"""Bad tables, names, and tables that change after the fit; see bad_data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from bad_data import BASE, CLASSIFIERS, ROWS, all_refused, case, objects, refused, same, table
from scipy import sparse

NUMBERS = np.arange(ROWS) % 5 * 1.0
WORDS = objects(["red", "blue"])


# ---- tables and names --------------------------------------------------------------------------------------------


@case("duplicated names")
def duplicated(kind):
    twice = np.column_stack([BASE, BASE[:, 0]])
    frame = pd.DataFrame(twice, columns=["a", "b", "a"])
    model = kind.fit(table())
    all_refused([
        lambda: kind.fit(frame),
        lambda: kind.fit(pa.table(list(twice.T), names=["a", "b", "a"])),
        lambda: kind.out(model, frame),
        lambda: kind.out(model, frame.iloc[:3]),
    ])  # fmt: skip


@case("names of several languages, with line ends, empty or very long")
def odd_names(kind):
    expected = kind.predicted(table())
    for names in (["é😀\n\t", "λ" * 5000], ["", " "], ["\x1b[31m", "x0"]):
        frame = table().set_axis(names, axis=1)
        model = kind.fit(frame)
        same(expected, kind.out(model, frame), kind.out(model, frame[names[::-1]]))


@case("names that are not strings, such as integers or a MultiIndex")
def other_names(kind):
    levels = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    expected = kind.predicted(BASE)
    same(expected, kind.predicted(pd.DataFrame(BASE)), kind.predicted(pd.DataFrame(BASE, columns=levels)))
    assert not hasattr(kind.fit(pd.DataFrame(BASE)), "feature_names_in_")


@case("some names that are strings and some that are not")
def mixed_names(kind):
    kind.fit(pd.DataFrame(BASE, columns=["a", 1]))


@case("a table without rows")
def no_rows(kind):
    kind.fit(np.empty((0, 2)), kind.y)


@case("a table without columns")
def no_columns(kind):
    all_refused([lambda: kind.fit(np.empty((ROWS, 0))), lambda: kind.fit(pd.DataFrame(index=range(ROWS)))])


@case("an array of one or of three dimensions")
def dimensions(kind):
    refused("Found array with dim 3", lambda: kind.fit(np.ones((ROWS, 2, 2))))
    kind.fit(BASE[:, 0])


@case("rows of different lengths, or lists inside of rows")
def ragged(kind):
    refused("X must be a table whose rows", lambda: kind.fit([[1.0, [2.0]]] * ROWS))
    kind.fit([[1.0], [1.0, 2.0]] * (ROWS // 2))


@case("structured arrays, or lists of dicts")
def records(kind):
    all_refused([
        lambda: kind.fit(table().to_records(index=False)),
        lambda: kind.fit(np.zeros((ROWS, 2), [("a", float), ("b", float)])),
        lambda: kind.fit([{"a": 1.0}] * ROWS),
    ])  # fmt: skip


@case("a dict or None instead of a table")
def no_table(kind):
    refused("X must be a table; got", lambda: kind.fit(None))
    kind.fit({"a": BASE[:, 0]})


@case("a path that does not exist, or is not Parquet")
def no_file(kind):
    kind.fit("table.csv")


@case("a generator")
def generator(kind):
    kind.fit(row for row in BASE)


@case("a lazy frame")
def lazy(kind):
    kind.fit(pl.from_pandas(table()).lazy())


@case("a sparse matrix with NaN")
def sparse_missing(kind):
    cells = sparse.csr_array(np.where(BASE > 1, np.nan, BASE))
    model = kind.fit(cells)
    same(kind.out(model, cells), kind.out(model, cells.tocoo()), kind.out(model, cells.toarray()))


# ---- after the fit -----------------------------------------------------------------------------------------------


@case("a column that disappears")
def disappears(kind):
    model = kind.fit(table(NUMBERS))
    refused("X has 2 features, but lambdak is expecting 3", lambda: kind.out(model, BASE))
    all_refused([lambda X=X: kind.out(model, X) for X in (table(), table().iloc[:3], pl.from_pandas(table()))])


@case("a column that comes on top, in a table with names")
def additional(kind):
    model = kind.fit(table())
    extra = table(WORDS)[["c", "b", "a"]]
    with pytest.warns(UserWarning, match="not there in training, and that are ignored: 'c'"):
        same(kind.out(model, table()), kind.out(model, extra), kind.out(model, pl.from_pandas(extra)))


@case("a column that comes on top, in a table without names")
def wider(kind):
    kind.out(kind.fit(BASE), np.ones((3, 3)))


@case("an array for a model that was fitted with names, or the other way round")
def by_position(kind):
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        same(kind.predicted(table()), kind.predicted(table(), BASE))
    with pytest.warns(UserWarning, match="X has feature names, but the model was fitted without"):
        same(kind.predicted(table()), kind.predicted(BASE, table()))


@case("strings where numbers were")
def numbers_to_strings(kind):
    model = kind.fit(table(NUMBERS))
    later = table(objects(["1"]))
    frames = (later, later.iloc[:3], later.astype({"c": "category"}), pl.from_pandas(later), later.to_numpy())
    all_refused([lambda X=X: kind.out(model, X) for X in frames])


@case("numbers or booleans where strings were")
def strings_to_numbers(kind):
    model = kind.fit(table(WORDS))
    refused("'c' must hold strings, as in training; got True", lambda: kind.out(model, table(NUMBERS >= 0)))
    all_refused([lambda X=X: kind.out(model, X) for X in (table(NUMBERS), table(NUMBERS).iloc[:3])])


@case("booleans where 0 and 1 were, or the other way round")
def flags(kind):
    flag = NUMBERS > 1
    for first, second in ((flag, flag * 1), (flag * 1.0, flag), (pd.Series(flag * 1, dtype="category"), flag)):
        model = kind.fit(table(first))
        same(kind.out(model, table(first)), kind.out(model, table(second)), kind.out(model, table(objects_of(second))))


def objects_of(column):
    return np.asarray(column).astype(object)


@case("strings where a category was, integers where floats were, and the like")
def same_values(kind):
    pairs = [
        (pd.Series(WORDS, dtype="category"), WORDS),
        (WORDS, pd.array(WORDS, "string")),
        (NUMBERS, NUMBERS.astype(np.int8)),
        (pd.Series(NUMBERS, dtype="category"), NUMBERS),
        (NUMBERS, pd.Series(NUMBERS, dtype="category")),
    ]
    for first, second in pairs:
        model = kind.fit(table(first))
        same(kind.out(model, table(first)), kind.out(model, table(second)))
        same(kind.out(model, table(first))[:5], kind.out(model, table(second).iloc[:5]))


@case("a level that was not there in the fit")
def unseen_level(kind):
    model = kind.fit(table(WORDS))
    same(*(kind.out(model, table(objects([cell]))) for cell in ("green", "", None)))


@case("missing cells where the fit had none")
def new_gaps(kind):
    model = kind.fit(table(NUMBERS))
    same(kind.out(model, table(np.median(NUMBERS))), kind.out(model, table(np.nan)))


@case("numbers outside of the range of the fit")
def outside(kind):
    model = kind.fit(table(NUMBERS))
    for size in (1e300, 4e307):
        same(kind.out(model, table(4.0)), kind.out(model, table(size)))
        same(kind.out(model, table(0.0)), kind.out(model, table(-size)))


@case("a table without rows at predict time")
def predict_no_rows(kind):
    model = kind.fit(table())
    for X in (table().iloc[:0], BASE[:0], pl.from_pandas(table())[:0]):
        assert len(kind.out(model, X)) == len(model.predict(X)) == 0


@case("a class that was not there in the fit, in y_val or partial_fit", CLASSIFIERS)
def unseen_class(kind):
    model = kind.fit(table())
    later = np.where(np.arange(ROWS) == 7, 9, kind.y)
    refused("y_val must hold known classes", lambda: kind.fit(table(), fitted={"X_val": table(), "y_val": later}))
    model.partial_fit(table(), later)
