"""The C file of a model says what the model says.

Tests ``tables``.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import threading
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from export_cases import HOSTILE, disguised, errors, random_rows
from exported_c import STRICT, Library, built, compiler, opened
from fitted_models import KINDS, SPARSE, X, almost_equal_quantiles, changed, fitted, rows_of, with_columns

from lambdak import SpectralRegressor
from lambdak.eigen.packing import packed_size, padded_size
from lambdak.export.c import to_c
from lambdak.table.category_column import Category

STATED = 1e-12
NUMBER = {"effort": "fast", "max_iter": 1, "n_estimators": 1, "random_state": 0, "n_jobs": 1}


def agrees(model, table, found, offset=None, explain=False):
    own = errors(model, table, offset, found, explain)
    assert max(own.raw, own.results, own.influence) <= STATED


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sparse", "wide")])
def test_it_agrees_with_every_kind_of_model(kind, tmp_path):
    model = fitted(kind).model_
    table = random_rows(np.random.default_rng(0), model, 60)
    agrees(model, table, opened(model, tmp_path, explain=True)(table), explain=True)


@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_in_disguise(seed, tmp_path):
    rng = np.random.default_rng(seed)
    model = disguised(rng, fitted(["regressor", "linear", "multiclass", "quantiles", "ordinal", "binary"][seed]).model_)
    table = random_rows(rng, model, 40)
    agrees(model, table, opened(model, tmp_path, explain=True)(table), explain=True)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6, 8, 12, 15, 18, 40])
def test_it_agrees_at_every_dim(dim, tmp_path):
    model, rng = fitted("single").model_, np.random.default_rng(dim)
    coef = np.zeros((3, model.coef.shape[1], padded_size(dim)))
    coef[..., : packed_size(dim)] = rng.normal(size=(3, model.coef.shape[1], packed_size(dim)))
    index = replace(model.outputs, indices=(int(rng.integers(dim)),))
    large = model.replace(coef=coef, dim=dim, weights=np.array([0.5, 0.2, 0.3]), outputs=index)
    table = random_rows(rng, large, 20)
    agrees(large, table, opened(large, tmp_path, explain=True)(table), explain=True)


def test_a_table_that_was_sparse_is_given_as_rows_of_numbers(tmp_path):
    model = fitted("sparse").model_
    found = opened(model, tmp_path)(pd.DataFrame(SPARSE.toarray()))
    np.testing.assert_allclose(found.raw[:, 0], model.raw(SPARSE), rtol=1e-12, atol=1e-13)


def test_explanations_are_those_of_explain_local_for_any_output(tmp_path):
    model, table = fitted("multiclass"), X[:10]
    library = Library(built(model, tmp_path, explain=True), model, explain=True)
    for output in (0, 2):
        wanted = model.explain_local(table, output=output).influence
        found = [library.call("explain", row, [4, 4], None, output)[1] for row in table.itertuples(index=False)]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_influences_are_nan_where_the_eigenvalue_is_repeated(tmp_path):
    model = changed(fitted("single"), coef=np.zeros_like(fitted("single").model_.coef))
    found = opened(model, tmp_path, explain=True)(X[:2])
    assert np.isnan(found.influence).all()
    np.testing.assert_allclose(found.raw[:, 0], model.model_.start[0])


@pytest.mark.parametrize("kind", ["poisson", "binary", "ordinal"])
def test_an_offset_is_added_and_a_bad_one_refused(kind, tmp_path):
    model = fitted(kind)
    library = opened(model, tmp_path)
    offset = np.linspace(-1, 1, 5)
    agrees(model.model_, X[:5], library(X[:5], offset), offset)
    row = tuple(X.iloc[0])
    for bad in (np.nan, np.inf, 1e302):
        assert library.call("predict", row, 3, bad, code=-1)[0][0] == 0  # nothing was written


def test_an_infinite_number_is_refused_with_its_column(tmp_path):
    library = opened(fitted("single"), tmp_path)
    for bad in (np.inf, -np.inf, 5e307):
        assert library.call("raw", (1.0, bad, "north", "a"), 1, code=2)[0][0] == 0


@pytest.mark.parametrize("kind", ["binary", "multiclass", "ordinal"])
def test_the_class_that_is_predicted_has_its_label(kind, tmp_path):
    model = fitted(kind)
    library = opened(model, tmp_path)
    labels = (ctypes.c_char_p * len(model.classes_)).in_dll(library.library, "model_labels")
    raw = library(X[:80]).raw
    found = [labels[library.library.model_class_of((ctypes.c_double * raw.shape[1])(*row))] for row in raw]
    assert [label.decode() for label in found] == list(map(str, model.predict(X[:80])))


def test_quantiles_do_not_cross_where_raw_scores_do_by_rounding(tmp_path):
    found = opened(almost_equal_quantiles(), tmp_path)(X)
    assert (np.diff(found.raw) < 0).any()
    np.testing.assert_array_equal(found.results, np.maximum.accumulate(found.raw, axis=1))


def test_levels_are_found_by_their_codes(tmp_path):
    library = opened(fitted("regressor"), tmp_path).library
    assert [library.model_level(2, text) for text in (b"north", b"south", b"elsewhere", b"")] == [0, 1, -1, -1]
    assert np.isnan(library.model_level(2, None))
    assert np.isnan(library.model_number_level(2, np.nan))
    assert [library.model_level(i, b"north") for i in (-1, 0, 99)] == [-1, -1, -1]


@pytest.mark.slow
def test_many_levels_are_searched_quickly_and_right(tmp_path):
    levels = tuple(sorted(f"level {i}" for i in range(100_000)))
    base = fitted("additive")
    coef = np.random.default_rng(0).normal(size=(1, 1 + len(levels), padded_size(1)))
    model = with_columns(base, [Category("code", 1, levels=levels)], coef=coef, weights=np.ones(1)).model_
    table = pd.DataFrame({"code": [levels[0], levels[-1], *levels[500::7919], "level", "zz", None]})
    agrees(model, table, opened(model, tmp_path)(table))


def test_threads_do_not_disturb_each_other(tmp_path):
    model = fitted("multiclass").model_
    library = opened(model, tmp_path, explain=True)
    tables = [random_rows(np.random.default_rng(seed), model, 200) for seed in range(4)]
    alone, found = [library(table) for table in tables], [None] * 4

    def work(i):
        found[i] = library(tables[i])

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for one, other in zip(alone, found, strict=True):
        np.testing.assert_array_equal(one.results, other.results)
        np.testing.assert_array_equal(one.influence, other.influence)


PROGRAM = """
#include <math.h>
#include <stdio.h>
#include "model.h"
int main(void) {{
  double out[MODEL_RESULTS], influence[MODEL_COLUMNS];
  static const model_row rows[] = {{{rows}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {{
    if (model_explain(&rows[i], {offset}-1, out, influence)) return 1;
    printf("%.17g\\n", out[0]);
  }}
  return 0;
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "offset"), [("regressor", "0, "), ("quantiles", ""), ("multiclass", "")])
def test_sanitizers_find_nothing(kind, offset, tmp_path):
    model = fitted(kind)
    to_c(model, tmp_path / "model.c", explain=True)
    rows = [(1.0, np.nan, "north", "a"), (-1e9, 1e9, None, None), (np.nan, 18.0, "", "b"), (3.0, 40.0, "rare", "é")]
    text = [f"{{{', '.join(map(_in_c, row))}}}" for row in rows]
    (tmp_path / "main.c").write_text(PROGRAM.format(rows=", ".join(text), offset=offset), "utf-8")
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    words = [compiler(), *STRICT, *flags, "-o", "main", "main.c", "model.c", "-lm"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    if "cannot find" in done.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert done.returncode == 0, done.stderr
    said = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    wanted = model.model_.predict(pd.DataFrame(rows, columns=X.columns)).reshape(4, -1)[:, 0]
    np.testing.assert_allclose(list(map(float, said.stdout.split())), wanted, rtol=1e-12)


def _in_c(cell):
    if cell is None:
        return "NULL"
    return f'"{cell}"' if isinstance(cell, str) else "NAN" if cell != cell else repr(cell)


@pytest.mark.parametrize("flags", [("-x", "c++", "-std=c++11"), ("-x", "c++", "-std=c++20"), ("-std=c11",)])
def test_it_also_compiles_as_other_standards(flags, tmp_path):
    to_c(disguised(np.random.default_rng(3), fitted("ordinal").model_), tmp_path / "model.c", explain=True)
    words = [compiler("gcc", "clang"), *flags, *STRICT[1:], "-c", "model.c", "-o", "model.o"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    if "cc1plus" in done.stderr:
        pytest.skip("no C++ compiler")
    assert done.returncode == 0, done.stderr


def test_fast_math_is_refused(tmp_path):
    to_c(fitted("single"), tmp_path / "model.c")
    words = [compiler(), "-ffast-math", "-c", tmp_path / "model.c", "-o", tmp_path / "model.o"]
    assert "compile without -ffast-math" in subprocess.run(words, capture_output=True, text=True).stderr


def test_hostile_names_are_kept_word_for_word(tmp_path):
    names = HOSTILE[: len(X.columns)]
    model = SpectralRegressor(**NUMBER, dim=2).fit(X.set_axis(names, axis=1), X["income"])
    library = opened(model, tmp_path).library
    found = (ctypes.c_char_p * len(names)).in_dll(library, "model_column_names")
    assert [name.decode() for name in found] == list(names)


def test_the_header_says_what_is_proven(tmp_path):
    to_c(fitted("regressor"), tmp_path / "own.c")
    header = (tmp_path / "own.h").read_text()
    assert "- the prediction never falls as income rises (proven)\n" in header
    assert "- the prediction never rises as age rises (proven)\n*/" in header


def test_all_names_begin_with_that_of_the_file_or_the_one_given(tmp_path):
    to_c(fitted("single"), tmp_path / "2 prices.c")
    assert "int x2_prices_predict(" in (tmp_path / "2 prices.h").read_text()
    assert '#include "2 prices.h"' in (tmp_path / "2 prices.c").read_text()
    to_c(fitted("single"), tmp_path / "price.c", name="tariff")
    assert "int tariff_predict(" in (tmp_path / "price.h").read_text()
    assert "model_" not in (tmp_path / "price.h").read_text()


def test_a_model_comes_from_a_file_too(tmp_path):
    fitted("single").save(tmp_path / "model.safetensors")
    to_c(tmp_path / "model.safetensors", tmp_path / "a.c")
    to_c(fitted("single").model_, tmp_path / "b.c", name="a")
    assert (tmp_path / "a.c").read_text() == (tmp_path / "b.c").read_text().replace("b.h", "a.h")


def test_what_c_cannot_hold_is_refused(tmp_path):
    base = fitted("single")
    no_double = "which no double equals"
    for level, words in (("a\0b", "text in C ends at its first zero"), (2**53 + 1, no_double), (10**400, no_double)):
        column = Category("code", 1, levels=(level,))
        coef = np.zeros((1, 2, padded_size(5)))
        model = with_columns(base, [column], coef=coef)
        with pytest.raises(ValueError, match=f"column 'code' has the level .*{words}"):
            to_c(model, tmp_path / "model.c")
    for long in (Category("code", 1, levels=("é" * 2048,)), Category("x" * 4096, 1, levels=("a",))):
        with pytest.raises(ValueError, match=r"the text '.*'… has 4,096 bytes, .* take more than 4,095: shorten"):
            to_c(with_columns(base, [long], coef=np.zeros((1, 2, padded_size(5)))), tmp_path / "model.c")
    named = with_columns(base, [replace(column, name="a\0b") for column in base.model_.encoder.columns])
    for model in (named, changed(fitted("multiclass"), classes=np.array(["a\0b", "a\0c", "d", "e"]))):
        with pytest.raises(
            ValueError, match=r"the text '.*a.x00b' has a zero character, at which text in C ends: rename"
        ):
            to_c(model, tmp_path / "model.c")
    for file in ('a"b.c', "a??'b.c", "a\nb.c", "\udcff.c"):
        with pytest.raises(ValueError, match="path must be a name that C can include; got"):
            to_c(base, tmp_path / file)
    with pytest.raises(ValueError, match="name must be a plain C identifier; got 3: try 'x3'"):
        to_c(base, tmp_path / "model.c", name=3)
    with pytest.raises(ValueError, match=r"path must end in \.c; got 'model.txt'"):
        to_c(base, "model.txt")
    with pytest.raises(ValueError, match="name must be a plain C identifier; got 'a b': try 'a_b'"):
        to_c(base, tmp_path / "model.c", name="a b")
    assert not list(tmp_path.iterdir())


def test_rows_of_the_training_table_give_its_predictions(tmp_path):
    model = fitted("binary")
    np.testing.assert_allclose(opened(model, tmp_path)(rows_of("binary")).results, model.predict_proba(X), rtol=1e-12)


@pytest.mark.slow
def test_the_words_of_the_templates_are_free_for_columns_and_names(tmp_path):
    templates = "".join(
        path.read_text("utf-8") for path in (files("lambdak.export") / "c").iterdir() if path.suffix == ".c"
    )
    to_c(fitted("single"), tmp_path / "model.c", explain=True)
    written = (tmp_path / "model.c").read_text("utf-8") + (tmp_path / "model.h").read_text("utf-8")
    macros = set(re.findall(r"#define (\w+)", templates + written))
    words = sorted(macros | set(re.findall(r"\b[a-z_]+(?=\()", templates)))
    table = pd.DataFrame({word: [0.0, 1.0, 2.0] * 4 for word in words})
    model = SpectralRegressor(**NUMBER, dim=1).fit(table, table["DIM"])
    opened(model, tmp_path, explain=True)
    for name in sorted({word.partition("_")[0] for word in words if "_" in word} - {"model"}):
        to_c(fitted("multiclass"), tmp_path / f"{name}.c", explain=True)
        done = subprocess.run([compiler(), "-fsyntax-only", tmp_path / f"{name}.c"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_column_without_any_number_counts_as_nothing(tmp_path):
    table = X.assign(age=np.nan)
    model = SpectralRegressor(**NUMBER, dim=2).fit(table, X["income"]).model_
    agrees(model, table[:5], opened(model, tmp_path, explain=True)(table[:5]), explain=True)
