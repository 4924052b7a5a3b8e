"""Bad targets, weights and offsets; see bad_data."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from bad_data import BASE, CLASSIFIERS, REGRESSORS, ROWS, all_refused, case, changed, objects, refused, same, table
from sklearn.exceptions import DataConversionWarning

from lambdak import SpectralRegressor

ROW = 7
HIDDEN = np.arange(ROWS) == ROW


def gaps(kind):
    """Targets with one that is missing, in all spellings."""
    y = kind.y.tolist()
    none = [None if i == ROW else value for i, value in enumerate(y)]
    yield from (changed(kind.y, ROW, cell) for cell in (np.nan, None, pd.NA))
    yield from (pd.Series(none, dtype="Float64"), pl.Series(none), pa.array(none), none)


@case("a missing target", REGRESSORS)
def missing_target(kind):
    all_refused([lambda y=y: kind.fit(table(), y) for y in gaps(kind)])


@case("a missing class", CLASSIFIERS)
def missing_class(kind):
    words = changed(kind.y.astype(str), ROW, None)
    texts = [words, np.where(HIDDEN, np.nan, words), pd.Series(words, dtype="category"), pd.Series(words, dtype="str")]
    all_refused([lambda y=y: kind.fit(table(), y) for y in [*gaps(kind), *texts]])


@case("an infinite target", REGRESSORS)
def infinite_target(kind):
    kind.fit(table(), changed(kind.y, ROW, np.inf))


@case("an infinite class", CLASSIFIERS)
def infinite_class(kind):
    kind.fit(table(), changed(kind.y, ROW, -np.inf))


@case("a masked target")
def masked_target(kind):
    kind.fit(table(), np.ma.masked_array(kind.y, HIDDEN))


@case("a masked weight")
def masked_weight(kind):
    kind.fit(table(), sample_weight=np.ma.masked_array(np.ones(ROWS), HIDDEN))


@case("an exposure that is zero, negative or not finite", REGRESSORS[:1])
def bad_exposure(kind):
    for bad in (-1.0, np.inf, np.nan, 0.0):
        years = np.where(np.arange(ROWS) == 7, bad, 1.0)
        if bad:
            refused("exposure must be positive and finite", lambda years=years: counts(exposure=years))
    counts(exposure=years)


def counts(**given):
    return SpectralRegressor("poisson", effort="fast", max_iter=1).fit(BASE, np.arange(ROWS) % 3, **given)


@case("a masked offset", REGRESSORS[:1])
def masked_offset(kind):
    hidden = np.ma.masked_array(np.ones(ROWS), HIDDEN)
    all_refused([
        lambda: kind.fit(table(), fitted={"offset": hidden}),
        lambda: kind.fit(table()).predict(table(), offset=hidden),
    ])  # fmt: skip


@case("a masked array without a masked entry")
def nothing_masked(kind):
    plain, ones = kind.predicted(table().to_numpy()), np.ma.ones(ROWS)
    same(plain, kind.predicted(np.ma.array(BASE), y=np.ma.array(kind.y), sample_weight=ones))


@case("one row", REGRESSORS)
def one_row(kind):
    model = kind.fit(BASE[:1], kind.y[:1])
    same(kind.out(model, BASE[:1]), kind.out(model, BASE[5:6]))
    assert np.abs(kind.out(model, BASE[:1]) - kind.y[0]).max() < 0.5


@case("one class, or one row with its class", CLASSIFIERS)
def one_class(kind):
    all_refused([lambda rows=rows: kind.fit(BASE[:rows], np.ones(rows, int)) for rows in (1, ROWS)])


@case("the same target in every row", REGRESSORS)
def constant_target(kind):
    trained = {"max_iter": 60, "n_estimators": None}
    assert np.abs(kind.predicted(table(), y=np.full(ROWS, 7.0), **trained) - 7).max() < 0.1


@case("strings, also of digits, as targets", REGRESSORS)
def text_target(kind):
    all_refused([lambda y=y: kind.fit(table(), y) for y in (np.full(ROWS, "3"), objects(["3"]), ["3"] * ROWS)])


@case("dates as targets", REGRESSORS)
def date_target(kind):
    kind.fit(table(), np.full(ROWS, np.datetime64("2024-01-31")))


@case("complex targets")
def complex_target(kind):
    kind.fit(table(), kind.y * 1j)


@case("targets of the size of 1e300 or 1e-300", REGRESSORS)
def scaled_target(kind):
    expected = kind.predicted(table())
    for power in (-990, 990):
        same(expected, kind.predicted(table(), y=np.ldexp(kind.y, power)) / 2.0**power)


@case("a target beyond ±1.1e301", REGRESSORS)
def huge_target(kind):
    kind.fit(table(), changed(kind.y, ROW, 1e305))


@case("targets that spread by less than 9.3e-302", REGRESSORS)
def denormal_target(kind):
    kind.fit(table(), kind.y * 1e-320)


@case("a target above 1e15 for a log link", REGRESSORS[:1])
def huge_mean(kind):
    kind.fit(table(), np.exp(kind.y) * 1e300, loss="poisson")


@case("a target with one column")
def column_target(kind):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = kind.predicted(table(), y=kind.y[:, None])
    assert [warning.category for warning in caught] == [DataConversionWarning]
    same(kind.predicted(table()), got)


@case("a target with several columns")
def wide_target(kind):
    kind.fit(table(), np.column_stack([kind.y, kind.y]))


@case("a target of another length")
def short_target(kind):
    kind.fit(table(), kind.y[:-1])


@case("booleans or whole numbers as objects", CLASSIFIERS)
def object_classes(kind):
    same(kind.predicted(table()), kind.predicted(table(), y=kind.y.astype(object)))
    flags = kind.y > 0
    model = kind.fit(table(), flags.astype(object))
    same(kind.out(kind.fit(table(), flags), table()), kind.out(model, table()))
    assert model.classes_.dtype == bool


@case("classes that are strings and numbers", CLASSIFIERS)
def mixed_classes(kind):
    kind.fit(table(), objects(["a", 1]))


@case("dates, bytes or other objects as classes", CLASSIFIERS)
def object_labels(kind):
    for y in (np.full(ROWS, b"a"), objects([(1,), (2,)]), pd.date_range("2024", periods=ROWS), objects([2**70, 1])):
        refused("as classes; got", lambda y=y: kind.fit(table(), y))
    kind.fit(table(), np.full(ROWS, np.datetime64("2024-01-31")))


@case("numbers with fractions as classes", CLASSIFIERS)
def continuous_classes(kind):
    kind.fit(table(), BASE[:, 0])


@case("weights that are all zero")
def zero_weights(kind):
    kind.fit(table(), sample_weight=np.zeros(ROWS))


@case("a weight of zero")
def zero_weight(kind):
    weight = np.where(HIDDEN, 0.0, 1.0)
    same(
        kind.predicted(table(), sample_weight=weight),
        kind.out(kind.fit(table()[~HIDDEN], kind.y[~HIDDEN]), table()),
    )


@case("a negative weight")
def negative_weight(kind):
    kind.fit(table(), sample_weight=np.where(HIDDEN, -1.0, 1.0))


@case("a weight that is NaN or infinite")
def missing_weight(kind):
    kind.fit(table(), sample_weight=np.where(HIDDEN, np.nan, 1.0))


@case("weights of the size of 1e300 or 1e-300")
def scaled_weights(kind):
    expected = kind.predicted(table())
    same(expected, *(kind.predicted(table(), sample_weight=np.full(ROWS, size)) for size in (1e300, 1e-300)))
    assert np.isfinite(kind.predicted(table(), sample_weight=np.where(BASE[:, 1] > 0, 1e300, 1e-300))).all()


@case("weights of another length")
def short_weights(kind):
    kind.fit(table(), sample_weight=np.ones(3))


@case("strings, dates or complex numbers as weights")
def text_weights(kind):
    for weight in (np.ones(ROWS) * 1j, np.full(ROWS, np.datetime64("2024"))):
        refused("sample_weight must hold numbers", lambda weight=weight: kind.fit(table(), sample_weight=weight))
    kind.fit(table(), sample_weight=["1"] * ROWS)
