"""The Java class of a model says what the model says, and refuses what it cannot read with its column."""

from __future__ import annotations

import numpy as np
import pytest
from export_cases import disguised, errors, random_rows
from exported_java import opened, run
from fitted_models import X, almost_equal_quantiles, changed, fitted, with_columns

from lambdak.eigen.packing import padded_size
from lambdak.export.java import to_java
from lambdak.export.java.writer import comment
from lambdak.table.category_column import Category

STATED = 1e-12
MAIN = """
import java.util.*;

public class Score {{
  interface Call {{ Object get(); }}

  static String said(Call call) {{
    try {{
      return String.valueOf(call.get());
    }} catch (RuntimeException error) {{
      return String.valueOf(error.getMessage());
    }}
  }}

  static Map<String, Object> with(String name, Object cell) {{
    Map<String, Object> row = new HashMap<>();
    row.put("income", 3.0);
    row.put("age", 40);
    row.put("region", "north");
    row.put("kind", "a");
    if (name != null) row.put(name, cell);
    return row;
  }}

  public static void main(String[] args) {{
{lines}
  }}
}}
"""


def agrees(model, table, found, offset=None):
    own = errors(model, table, offset, found, explain=True)
    assert max(own.raw, own.results, own.influence) <= STATED


def said(folder, expressions):
    """What expressions of Java give, or the messages of their errors."""
    lines = "\n".join(f"    System.out.println(said(() -> {code}));" for code in expressions)
    return run(folder, MAIN.format(lines=lines)).splitlines()


@pytest.mark.parametrize("kind", ["regressor", "poisson", "binary", "multiclass", "ordinal", "quantiles", "linear"])
def test_it_agrees_with_every_kind_of_model(kind, tmp_path):
    model = fitted(kind).model_
    table = random_rows(np.random.default_rng(0), model, 60)
    offset = np.linspace(-1, 1, 60) if kind in ("poisson", "ordinal") else None
    agrees(model, table, opened(model, tmp_path, explain=True)(table, offset), offset)


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_in_disguise(seed, tmp_path):
    rng = np.random.default_rng(seed)
    model = disguised(rng, fitted(["regressor", "multiclass", "ordinal"][seed]).model_)
    table = random_rows(rng, model, 40)
    agrees(model, table, opened(model, tmp_path, explain=True)(table))


def test_quantiles_do_not_cross_where_raw_scores_do_by_rounding(tmp_path):
    found = opened(almost_equal_quantiles(), tmp_path)(X)
    assert (np.diff(found.raw) < 0).any()
    np.testing.assert_array_equal(found.results, np.maximum.accumulate(found.raw, axis=1))


REFUSED = {
    'Model.predict(with("income", "3"))[0]': 'column "income" must hold numbers; got "3": convert it to a number',
    'Model.predict(with("income", Double.POSITIVE_INFINITY))[0]': "infinity or a value too large; got Infinity",
    'Model.predict(with("region", 3))[0]': 'column "region" must hold texts, as in training; got 3: convert it first',
    "Model.predict(new Object[] {1, 2})[0]": "a row must have 4 cells; got 2",
    "Model.predict(new HashMap<String, Object>())[0]": "a row must have the column",
    "Model.predict(with(null, null), Double.NaN)[0]": "offset must be a finite number; got NaN",
    "Model.explain(with(null, null), 1)[0]": "output must be from -1 to 0; got 1",
}
SAME = {
    'Model.predict(with("more", "x"))[0]': "Model.predict(with(null, null))[0]",
    'Model.predict(with("age", 40L))[0]': 'Model.predict(with("age", 40f))[0]',
    'Model.predict(with("income", true))[0]': 'Model.predict(with("income", 1))[0]',
    'Model.predict(with("age", Double.NaN))[0]': 'Model.predict(with("age", null))[0]',
    'Model.predict(with("region", "never"))[0]': 'Model.predict(with("region", new StringBuilder("seen")))[0]',
}


def test_rows_may_be_given_in_several_ways_and_errors_name_the_column(tmp_path):
    to_java(fitted("regressor"), tmp_path / "Model.java", explain=True)
    found = said(tmp_path, [*REFUSED, *SAME, *SAME.values()])
    refused, first, second = np.split(np.array(found), [len(REFUSED), len(REFUSED) + len(SAME)])
    assert all(words in own for words, own in zip(REFUSED.values(), refused, strict=True))
    np.testing.assert_array_equal(first.astype(float), second.astype(float))


@pytest.mark.parametrize("kind", ["multiclass", "ordinal"])
def test_the_label_is_that_of_the_estimator(kind, tmp_path):
    model = fitted(kind)
    to_java(model, tmp_path / "Model.java")
    rows = X[:10].astype(object).where(X[:10].notna(), None)
    cells = [", ".join("null" if x is None else f'"{x}"' if isinstance(x, str) else repr(x) for x in row)
             for row in rows.to_numpy()]  # fmt: skip
    assert said(tmp_path, [f"Model.label(Model.raw(new Object[] {{{own}}}))" for own in cells]) == list(
        map(str, model.predict(X[:10]))
    )


def test_a_whole_number_is_a_level_only_if_it_equals_it(tmp_path):
    coef = np.zeros((1, 3, padded_size(5)))
    coef[0, 1, 0] = 1.0
    model = with_columns(fitted("single"), [Category("code", 1, levels=(2**53, 1))], coef=coef)
    to_java(model, tmp_path / "Model.java")
    cells = ["9007199254740992L", "9007199254740992d", "9007199254740993L", 'new java.math.BigDecimal("1e400")']
    known, same, other, huge = said(tmp_path, [f"Model.raw(new Object[] {{{own}}})[0]" for own in cells])
    assert known == same != other == huge


def test_many_levels_and_columns_fit_into_a_class_file(tmp_path):
    levels = tuple(f"level {i:05}" for i in range(20_000))
    coef = np.zeros((1, 20_001, padded_size(5)))
    coef[0, 20_000, 0] = 1.0
    model = with_columns(fitted("single"), [Category("code", 1, levels=levels)], coef=coef)
    to_java(model, tmp_path / "Model.java")
    first, last = said(tmp_path, [f'Model.raw(new Object[] {{"level {i}"}})[0]' for i in ("00000", "19999")])
    assert first != last


def test_a_class_may_belong_to_a_package(tmp_path):
    fitted("single").export(tmp_path / "Price.java", package="com.bank.scores")
    text = (tmp_path / "Price.java").read_text("ascii")
    assert text.startswith("package com.bank.scores;\n")
    assert "public final class Price {" in text


def test_names_that_are_no_classes_are_refused(tmp_path):
    for name in ("9lives.java", "class.java", "a-b.java", "Model.txt", "String.java", "Block0.java", "java.java"):
        with pytest.raises(ValueError, match=r"path must be the name of a class with \.java"):
            to_java(fitted("single"), tmp_path / name)
    with pytest.raises(ValueError, match="package must be names joined by dots"):
        to_java(fitted("single"), tmp_path / "Model.java", package="com.class")
    coef = np.zeros((1, 2, padded_size(5)))
    model = with_columns(fitted("single"), [Category("code", 1, levels=(2**53 + 1,))], coef=coef)
    with pytest.raises(ValueError, match="which no double equals"):
        to_java(model, tmp_path / "Model.java")
    assert not list(tmp_path.iterdir())


def test_nothing_in_a_name_ends_a_comment():
    assert "*/" not in comment("*/ \\u002a/ <b>{@x}")
    assert "\\" not in comment("\\u002a/")


def test_influences_are_nan_where_the_eigenvalue_is_repeated(tmp_path):
    model = changed(fitted("single"), coef=np.zeros_like(fitted("single").model_.coef))
    assert np.isnan(opened(model, tmp_path, explain=True)(X[:2]).influence).all()
