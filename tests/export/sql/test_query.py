"""The query of a model answers what the model answers, in every dialect.

Tests ``cells``, ``influences``, ``links``, ``matrices``, ``scores``, ``script`` and ``tridiagonal``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fitted_models import KINDS, changed, fitted, rows_of, with_columns
from sql_cases import as_frame, close

from lambdak import SpectralRegressor
from lambdak.export.sql import to_sql


def results(frame, model, raw=False):
    names = [name for name in frame.columns if name.startswith("raw") == raw and name not in ("id", "label")]
    return frame[names].to_numpy(float).reshape(np.shape(model))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_database_predicts_what_python_predicts(database, kind):
    model, X = fitted(kind), rows_of(kind)[:80]
    database.create(X)
    found = database.score(to_sql(model, dialect=database.dialect, key="id", result="both"))
    expected = model.model_.predict(X)
    close(results(found, expected), expected)
    if "label" in found:
        assert found["label"].tolist() == model.predict(X).tolist()
    raw = model.model_.raw(X)
    close(results(found, raw, raw=True), raw)


def test_all_columns_come_back_beside_the_prediction(database):
    model, X = fitted("additive"), rows_of("additive")[:20]
    database.create(X)
    found = database.score(to_sql(model, dialect=database.dialect))
    assert list(found.columns) == [*as_frame(X).columns, "id", "prediction"]
    assert found["kind"].tolist() == X["kind"].tolist()
    close(found["prediction"], model.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regressor", "additive", "multiclass", "quantiles", "wide"])
def test_influences_are_those_of_explain_local(database, kind):
    model, X = fitted(kind), rows_of(kind)[:30]
    database.create(X)
    found = database.score(to_sql(model, dialect=database.dialect, key="id", explain=True))
    expected = model.explain_local(X).influence
    close(found[[f"influence_{name}" for name in X.columns]].to_numpy(float), expected, 1e-11)


def test_an_offset_is_added_to_the_raw_score(database):
    model, X = fitted("additive"), rows_of("additive")[:10]
    database.create(X.assign(exposure=np.linspace(-2, 2, 10)))
    found = database.score(to_sql(model, dialect=database.dialect, key="id", offset="exposure"))
    close(found["prediction"], model.predict(X) + np.linspace(-2, 2, 10))


@pytest.mark.parametrize("kind", ["poisson", "additive"])
def test_a_missing_or_infinite_offset_gives_null_and_never_a_number(database, kind):
    offset = np.array([0.5, np.nan, np.inf, -np.inf, 1e302, -720.0, -800.0])
    model, X = fitted(kind), rows_of(kind)[: len(offset)]
    database.create(X.assign(exposure=offset))
    found = database.score(to_sql(model, dialect=database.dialect, key="id", offset="exposure", result="both"))
    known = [0, 5, 6]
    assert found[["prediction", "raw"]].drop(known).isna().all(axis=None)
    expected = model.predict(X.iloc[known], offset=offset[known])
    np.testing.assert_allclose(found["prediction"][known].astype(float), expected, rtol=1e-11, atol=1e-320)


@pytest.mark.parametrize("kind", ["binary", "ordinal"])
def test_an_offset_moves_classes_and_a_missing_one_gives_null(database, kind):
    offset = np.array([-3.0, 0.0, 3.0, 720.0, np.nan, np.inf])
    model, X = fitted(kind), rows_of(kind)[: len(offset)]
    database.create(X.assign(prior=offset))
    found = database.score(to_sql(model, dialect=database.dialect, key="id", offset="prior", result="both"))
    known = np.flatnonzero(np.isfinite(offset))
    assert found.drop(columns="id").drop(known).isna().all(axis=None)
    rows = found.iloc[known]
    assert rows["label"].tolist() == model.predict(X.iloc[known], offset=offset[known]).tolist()
    shares = rows[[name for name in found if name.startswith("probability")]].to_numpy(float)
    close(shares, model.predict_proba(X.iloc[known], offset=offset[known]))
    raw = model.model_.raw(X.iloc[known], offset[known])
    close(results(rows.filter(regex="^raw"), raw, raw=True), raw)


@pytest.mark.parametrize("kind", ["multiclass", "quantiles"])
def test_an_offset_is_refused_where_predict_has_none(kind):
    with pytest.raises(ValueError, match=r"offset cannot be given with loss=.* of several outputs: "):
        to_sql(fitted(kind), offset="exposure")


COLLATED = {
    "duckdb": ["VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT"],
    "sqlite": ["TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM"],
    "postgresql": ["text COLLATE no_case", "varchar(20)"],
}
CHARACTERS = ["a", "A", "a ", "\u00e1", "a\u0301", "\u00df", "ss", "\u0130", "i", "1", "1.0", ""]


@pytest.fixture(scope="module")
def collated():
    """Levels that languages take for one, few enough for a CASE and so many that they are joined."""

    def fit(levels, dim):
        X = pd.DataFrame({"level": np.resize(np.array(levels, object), 20 * len(levels))})
        model = SpectralRegressor(
            dim=dim, effort="fast", max_iter=2, n_estimators=1, max_categories=500, random_state=0
        )
        return model.fit(X, np.arange(len(X)) % len(levels)), X[: len(levels)]

    many = [*CHARACTERS, *(f"{sign}{i}" for sign in "xX" for i in range(30))]
    return [fit(levels, dim) for levels in (CHARACTERS, many) for dim in (1, 2)]


def test_levels_are_compared_byte_by_byte_whatever_the_collation(database, collated):
    if database.dialect == "postgresql":
        database.execute("DROP COLLATION IF EXISTS no_case")
        database.execute("CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    for model, X in collated:
        for kind in COLLATED[database.dialect]:
            database.create(X, types={"level": kind})
            close(database.score(to_sql(model, dialect=database.dialect, key="id"))["prediction"], model.predict(X))


def test_booleans_are_scored_where_training_had_booleans_or_ones_and_zeros(database):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"flag": rng.random(80) < 0.5, "one": rng.integers(0, 2, 80), "x": rng.normal(size=80)})
    model = SpectralRegressor(dim=1, effort="fast", max_iter=2, random_state=0).fit(
        X, X["flag"] + 3 * X["one"] + X["x"]
    )
    for types in ({"flag": "boolean", "one": "boolean"}, {"flag": "integer", "one": "double precision"}):
        cells = X.astype({"flag": object, "one": object})
        for name, kind in types.items():
            cells[name] = [bool(x) if kind == "boolean" else int(x) for x in X[name]]
        database.create(cells, types=types)
        close(database.score(to_sql(model, dialect=database.dialect, key="id"))["prediction"], model.predict(X))


@pytest.mark.parametrize("kind", ["additive", "free", "linear"])
def test_numbers_near_the_end_of_doubles_are_read_as_they_are(database, kind):
    first, *rest = fitted(kind).model_.encoder.columns
    unit = 2.0**1015 / first.high
    own = ("knots", "median") if first.kind == "curve" else ("center", "scale", "low", "high", "median")
    large = replace(first, **{name: getattr(first, name) * unit for name in own})
    model, X = with_columns(fitted(kind), [large, *rest]).model_, rows_of(kind)[:12]
    X = X.assign(income=X["income"] * unit)
    X.loc[X.index[:2], "income"] = [-4e307, 4e307]
    database.create(X)
    close(database.score(to_sql(model, dialect=database.dialect, key="id"))["prediction"], model.predict(X))


def test_infinite_levels_are_levels(database):
    columns = list(fitted("additive").model_.encoder.columns)
    columns[3] = replace(columns[3], levels=(-np.inf, np.inf))
    for kind in ("additive", "free"):
        model, X = with_columns(fitted(kind), columns).model_, rows_of(kind)[:6].assign(kind=[-np.inf, np.inf, 1.0] * 2)
        database.create(X)
        close(database.score(to_sql(model, dialect=database.dialect, key="id"))["prediction"], model.predict(X))


def test_probabilities_of_ordered_classes_far_from_all_cut_points(database):
    own = fitted("ordinal").model_
    model, X = own.replace(scale=own.scale * 2000, start=own.start * 2000), rows_of("ordinal")[:40]
    assert np.abs(model.raw(X)).max() > 1500
    database.create(X)
    found = database.score(to_sql(model, dialect=database.dialect, key="id"))
    close(found.filter(like="probability").to_numpy(float), model.predict(X), 1e-9)
    assert found["label"].tolist() == model.classes[model.loss.classify(model.raw(X))].tolist()


def test_labels_are_whole_numbers_of_any_size_or_refused(database):
    labels = np.array([0, 1, 2**64 - 2, 2**64 - 1], np.uint64)
    model, X = changed(fitted("multiclass"), classes=labels), rows_of("multiclass")[:40]
    if database.dialect == "sqlite":
        with pytest.raises(ValueError, match="the class 18446744073709551614 is larger than a whole number of SQLite"):
            to_sql(model, dialect="sqlite")
        return
    database.create(X)
    found = database.score(to_sql(model, dialect=database.dialect, key="id"))
    assert list(map(int, found["label"])) == labels[fitted("multiclass").predict(X)].tolist()


def test_the_file_holds_the_query(tmp_path):
    text = to_sql(fitted("additive"), tmp_path / "model.sql")
    assert (tmp_path / "model.sql").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"dialect": ["duckdb"]}, r"dialect must be one of 'duckdb', 'postgresql', 'sqlite'; got \['duckdb'\]"),
        ({"dialect": "oracle"}, "dialect must be one of 'duckdb', 'postgresql', 'sqlite'; got 'oracle'"),
        ({"result": "score"}, "result must be one of 'prediction', 'raw', 'both'; got 'score'"),
        ({"key": []}, "key must be the name of a column, or several"),
        ({"key": 3}, "key must be the name of a column, or several; got 3"),
        ({"table": ""}, "table must be a name"),
        ({"table": 3}, "table must be a name, or a schema and a name such as .*; got 3"),
        ({"offset": 3}, "offset must be the name of a column; got 3"),
        ({"offset": ""}, "offset must be the name of a column; got ''"),
        ({"offset": "Prediction"}, "the result 'prediction' would have the name of the column 'Prediction'"),
        ({"prefix": 3}, "prefix must be text; got 3"),
    ],
)
def test_wrong_arguments_are_named(wrong, match):
    with pytest.raises(ValueError, match=match):
        to_sql(fitted("additive"), **wrong)


def test_duckdb_plans_few_steps_and_few_literals():
    text = to_sql(fitted("regressor"), dialect="duckdb")
    assert text.count("list_reduce(") == 1  # all rounds of a bisection
    assert text.count("CAST(numbers AS DOUBLE[])") == 1 + len(fitted("regressor").feature_names_in_)
    assert text.count(" AS (") < 60
