"""ONNX files of fitted models: they answer like the model, and say what goes in and comes out.

Tests ``design``, ``inputs`` and ``matrices``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pandas as pd
import pytest
from export_cases import errors, random_rows
from exported_onnx import MISSING, feed, opened, properties, session
from fitted_models import almost_equal_quantiles, changed, fitted, rows_of, with_columns

from lambdak import SpectralRegressor
from lambdak.export.onnx import to_onnx
from lambdak.model.outputs import OrderedOutputs
from lambdak.table.category_column import Category

KINDS = ["regressor", "linear", "convex", "additive", "poisson", "binary", "multiclass", "quantiles", "one quantile",
         "ordinal", "wide"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_answers_like_the_model(kind, tmp_path):
    model, rng = fitted(kind).model_, np.random.default_rng(0)
    X = random_rows(rng, model, 60)
    found = errors(model, X, None, opened(model, tmp_path, True)(X, None), explain=True)
    assert max(found.raw, found.results, found.influence) < 1e-14


@pytest.mark.parametrize("kind", ["binary", "multiclass", "ordinal"])
def test_labels_are_the_classes_that_the_model_predicts(kind, tmp_path):
    model, X = fitted(kind), rows_of(kind)[:50]
    to_onnx(model, tmp_path / "m.onnx", missing=MISSING)
    running = session(tmp_path / "m.onnx")
    labels, shares = running.run(["label", "probabilities"], feed(running, X, list(X)))
    assert labels.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=1e-12)


CLOSE_TO_ONE = 1 + 3e-8  # 1 in single precision, in which onnxruntime looks for factors that it may leave out


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("y_unit", [1.0, 1e-60])
def test_factors_close_to_one_and_tiny_terms_are_not_left_out(dim, y_unit, tmp_path):
    x = np.linspace(-2, 2, 60)
    X = pd.DataFrame({"x": x / x.std() * CLOSE_TO_ONE})  # one standardised column, one member
    model = SpectralRegressor(n_knots=0, dim=dim, n_estimators=1, effort="fast", max_iter=3, random_state=0)
    own = model.fit(X, y_unit * (2 + np.tanh(x))).model_
    for each in (own, own.replace(scale=CLOSE_TO_ONE * y_unit)):
        found = errors(each, X, None, opened(each, tmp_path, True)(X, None), explain=True)
        assert max(found.raw, found.results, found.influence) < 1e-14


@pytest.mark.parametrize(("dtype", "apart"), [("float64", 1e-16), ("float32", 1e-8)])
def test_quantiles_do_not_cross_where_raw_scores_do_by_rounding(dtype, apart, tmp_path):
    model, X = almost_equal_quantiles(apart), rows_of("quantiles")
    to_onnx(model, tmp_path / "m.onnx", dtype=dtype, missing=MISSING)
    running = session(tmp_path / "m.onnx")
    quantiles, raw = running.run(["quantiles", "raw"], feed(running, X, list(X)))
    assert (np.diff(raw) < 0).any()
    assert (np.diff(quantiles) >= 0).all()
    np.testing.assert_array_equal(quantiles, np.maximum.accumulate(raw, axis=1))


LARGE = ((-(2**63), 2**63 - 1, 0, 1), (2**63, 2**64 - 2**11, 0, 1))


@pytest.mark.parametrize("labels", LARGE)
def test_whole_numbers_that_int64_or_doubles_hold_are_labels(labels, tmp_path):
    model, X = classes(*labels), rows_of("multiclass")[:50]
    to_onnx(model, tmp_path / "m.onnx", missing=MISSING)
    running = session(tmp_path / "m.onnx")
    found = running.run(["label"], feed(running, X, list(X)))[0].tolist()
    assert list(map(int, found)) == [labels[code] for code in fitted("multiclass").predict(X)]


def test_float32_is_within_its_digits(tmp_path):
    model, X = fitted("regressor"), rows_of("regressor")
    X = X.assign(income=X["income"].astype(np.float32), age=X["age"].astype(np.float32))
    to_onnx(model, tmp_path / "m.onnx", dtype="float32", explain=True)
    running = session(tmp_path / "m.onnx")
    raw, slopes = running.run(["raw", "slopes"], feed(running, X, list(X), missing=""))
    assert raw.dtype == slopes.dtype == np.float32
    np.testing.assert_allclose(raw, model.model_.raw(X), atol=1e-5 * np.ptp(model.model_.raw(X)))


def test_slopes_are_the_influences_of_explain_local(tmp_path):
    model, X = fitted("regressor"), rows_of("regressor")[:8]
    to_onnx(model, tmp_path / "m.onnx", explain=True)
    running = session(tmp_path / "m.onnx")
    slopes = running.run(["slopes"], feed(running, X, list(X), missing=""))[0]
    np.testing.assert_allclose(slopes, model.explain_local(X).influence, rtol=1e-9, atol=1e-12)


def test_one_matrix_of_numbers_goes_in_where_all_columns_hold_numbers(tmp_path):
    model, X = fitted("straight"), rows_of("straight")
    to_onnx(model, tmp_path / "m.onnx", inputs="matrix", offset=True)
    running, offset = session(tmp_path / "m.onnx"), np.linspace(0, 1, len(X))
    found = running.run(["prediction"], {"X": X.to_numpy(), "offset": offset[:, None]})[0]
    np.testing.assert_allclose(found, model.predict(X, offset=offset), rtol=1e-13)
    with pytest.raises(ValueError, match="column 'region' is text: pass inputs='columns'"):
        to_onnx(fitted("regressor"), tmp_path / "n.onnx", inputs="matrix")


def test_a_row_alone_or_among_others_or_none_at_all(tmp_path):
    model, X = fitted("regressor"), rows_of("regressor")
    to_onnx(model, tmp_path / "m.onnx", explain=True)
    running = session(tmp_path / "m.onnx")
    many = pd.concat([X] * 200, ignore_index=True)  # several blocks
    whole = running.run(["raw"], feed(running, many, list(X), missing=""))[0]
    np.testing.assert_allclose(whole, np.tile(model.model_.raw(X), 200), rtol=1e-13, atol=1e-13)
    alone = running.run(["raw"], feed(running, X[:1], list(X), missing=""))[0]
    np.testing.assert_allclose(alone, whole[:1], rtol=1e-14)
    nothing = running.run(None, feed(running, X[:0], list(X), missing=""))
    assert [len(each) for each in nothing] == [0, 0, 0]


def test_only_the_default_domain_is_used_for_few_levels_and_one_lookup_for_many(tmp_path):
    for kind, domains in (("regressor", {""}), ("wide", {"", "ai.onnx.ml"})):
        to_onnx(fitted(kind), tmp_path / "m.onnx")
        assert {own.domain for own in onnx.load(tmp_path / "m.onnx").opset_import} == domains


@pytest.mark.parametrize("opset", [18, 21, 23])
def test_other_versions_of_the_operators_answer_the_same(opset, tmp_path):
    model, X = fitted("binary"), rows_of("binary")[:30]
    to_onnx(model, tmp_path / "m.onnx", opset=opset)
    running = session(tmp_path / "m.onnx")
    found = running.run(["probabilities"], feed(running, X, list(X), missing=""))[0]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)


def test_wide_categories_of_numbers_are_searched(tmp_path):
    model = fitted("wide")
    rng = np.random.default_rng(0)
    column = next(own for own in model.model_.encoder.columns if not own.is_number)
    count = sum(isinstance(level, str) for level in column.levels)
    levels = (*sorted(np.unique(rng.normal(size=4 * count))[:count].tolist()), *column.levels[count:])
    other = with_columns(
        model, [replace(own, levels=levels) if own is column else own for own in model.model_.encoder.columns]
    ).model_
    X = random_rows(rng, other, 200)
    assert errors(other, X, None, opened(other, tmp_path, False)(X, None)).raw < 1e-14


def test_cut_points_of_old_files_are_several_eigenvalues_of_one_matrix(tmp_path):
    old = changed(fitted("ordinal"), outputs=OrderedOutputs((1, 3, 5))).model_
    old = old.replace(coef=old.coef[:, : old.encoder.n_design])
    X = random_rows(np.random.default_rng(0), old, 30)
    assert errors(old, X, None, opened(old, tmp_path, True)(X, None), explain=True).raw < 1e-14


def test_the_file_says_what_it_is(tmp_path):
    to_onnx(fitted("binary"), tmp_path / "m.onnx", missing="?")
    about = properties(tmp_path / "m.onnx")
    assert about["estimator"] == "SpectralClassifier"
    assert about["classes"] == ["no", "yes"]
    assert [own["input"] for own in about["columns"]] == ["income", "age", "region", "kind"]
    assert about["columns"][2]["levels"] == ["north", "south"]
    assert about["columns"][2]["missing"] == "?"
    assert {claim["kind"] for claim in about["certificate"]["claims"]} >= {"monotone", "influence"}


# ---- hostile names and what is refused ---------------------------------------------------------------------------


def test_inputs_keep_the_names_of_columns_and_outputs_give_way(tmp_path):
    names = ["prediction", "lambdak/1", "", "raw_"]
    columns = [replace(own, name=name) for own, name in zip(fitted("free").model_.encoder.columns, names, strict=True)]
    model = with_columns(fitted("free"), columns).model_
    to_onnx(model, tmp_path / "m.onnx", missing=MISSING)
    running = session(tmp_path / "m.onnx")
    assert [own.name for own in running.get_inputs()] == ["prediction", "lambdak/1", "column 2", "raw_"]
    assert [own.name for own in running.get_outputs()] == ["prediction_", "raw"]
    X = random_rows(np.random.default_rng(0), model, 20)
    assert errors(model, X, None, opened(model, tmp_path, False)(X, None)).raw < 1e-14


def renamed(levels=None, name="region"):
    """A model with other levels, or another name, of its third column."""
    own = list(fitted("free").model_.encoder.columns)
    column = own[2]
    own[2] = replace(column, name=name, levels=(*(levels or column.levels[:2]), *column.levels[2:]))
    assert isinstance(column, Category)
    return with_columns(fitted("free"), own).model_


def far(unit):
    """A model whose first column comes in other units."""
    first, *rest = fitted("free").model_.encoder.columns
    return with_columns(fitted("free"), [replace(first, knots=first.knots * unit), *rest]).model_


def classes(*labels):
    """A model of four classes with these labels."""
    dtype = np.uint64 if 2**63 in labels or 2**64 - 1 in labels else None
    return changed(fitted("multiclass"), classes=np.array(labels, dtype))


@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        (lambda: renamed(("", "south")), {}, "missing must be a text that is no level; got '', a level of column"),
        (lambda: renamed((1, "1")), {}, "must not have a number and a text that look alike.*rename one"),
        (lambda: renamed((2**53, 2**53 + 1)), {}, "column 'region' has levels that float64 does not hold apart"),
        (lambda: renamed((1, 10**400)), {}, "column 'region' has levels that float64 does not hold apart"),
        (lambda: renamed((1.0, 1.0 + 1e-12)), {"dtype": "float32"}, "or export with dtype='float64'"),
        (lambda: renamed(("a", "\ud800")), {}, "which UTF-8 cannot spell: rename it before the fit"),
        (lambda: renamed(name="a\0b"), {}, "must have a name that UTF-8 can spell, without a zero character"),
        (lambda: far(1e120), {"dtype": "float32"}, "float32 does not hold the numbers of column 'income'"),
        (lambda: far(1e-120), {"dtype": "float32"}, "export with dtype='float64', or change the units"),
        (lambda: changed(fitted("free"), scale=1e60), {"dtype": "float32"}, "does not hold raw scores of this size"),
        (lambda: fitted("free"), {"dtype": "float16"}, r"dtype must be one of \['float64', 'float32'\]; got 'float16'"),
        (lambda: fitted("free"), {"inputs": "table"}, r"inputs must be one of \['columns', 'matrix'\]; got 'table'"),
        (lambda: fitted("free"), {"missing": 3}, "missing must be a text that UTF-8 can spell, or None; got 3"),
        (lambda: fitted("free"), {"missing": "\ud800"}, "missing must be a text that UTF-8 can spell, or None; got"),
        (lambda: classes(2**64 - 1, 2**64 - 2, 0, 1), {}, "the class 18446744073709551615 fits neither int64 nor"),
        (lambda: classes("\ud800", "a", "b", "c"), {}, "class '.ud800' is a text that UTF-8 cannot spell: rename it"),
        (lambda: fitted("free"), {"opset": 17}, r"opset must be in \[18, 24\); got 17"),
    ],
)  # fmt: skip
def test_what_a_file_cannot_carry_is_refused_with_the_way_out(model, settings, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        to_onnx(model(), tmp_path / "m.onnx", **settings)
    assert not list(tmp_path.iterdir())


def test_an_offset_is_an_input_and_not_the_name_of_a_column(tmp_path):
    with pytest.raises(TypeError, match="offset must be True or False, whether the file has such an input; got 'log'"):
        to_onnx(fitted("poisson"), tmp_path / "m.onnx", offset="log")


def test_mixed_levels_are_text_in_which_numbers_are_spelled_out(tmp_path):
    model = renamed((2.5, "south"))
    X = random_rows(np.random.default_rng(0), model, 60)
    assert errors(model, X, None, opened(model, tmp_path, False)(X, None)).raw < 1e-14


def test_the_graph_passes_the_checker_with_all_shapes_inferred(tmp_path):
    to_onnx(fitted("multiclass"), tmp_path / "m.onnx", explain=True)
    inferred = onnx.shape_inference.infer_shapes(onnx.load(tmp_path / "m.onnx"), check_type=True, strict_mode=True)
    shapes = {
        own.name: [size.dim_param or size.dim_value for size in own.type.tensor_type.shape.dim]
        for own in inferred.graph.output
    }
    assert shapes == {"label": ["rows"], "probabilities": ["rows", 4], "raw": ["rows", 4], "slopes": ["rows", 4, 4]}


@pytest.mark.parametrize("kind", ["binary", "ordinal"])
def test_an_offset_moves_classes(kind, tmp_path):
    model, X = fitted(kind), rows_of(kind)[:40]
    offset = np.linspace(-4, 4, len(X))
    to_onnx(model, tmp_path / "m.onnx", offset=True, missing=MISSING)
    running = session(tmp_path / "m.onnx")
    given = feed(running, X, list(X), offset)
    labels, shares, raw = running.run(["label", "probabilities", "raw"], given)
    assert labels.tolist() == model.predict(X, offset=offset).tolist() != model.predict(X).tolist()
    np.testing.assert_allclose(shares, model.predict_proba(X, offset=offset), rtol=1e-12)
    np.testing.assert_allclose(raw, model.model_.raw(X, offset), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["multiclass", "quantiles"])
def test_an_offset_is_refused_where_predict_has_none(tmp_path, kind):
    with pytest.raises(ValueError, match=r"offset cannot be given with loss=.* of several outputs: "):
        to_onnx(fitted(kind), tmp_path / "model.onnx", offset=True)
