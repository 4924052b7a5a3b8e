"""A formula holds all that is needed to compute a model by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fitted_models import MODELS, changed, fitted, rows_of

from lambdak.eigen.packing import sym
from lambdak.export import to_c, to_javascript, to_sql
from lambdak.export.formula import Formula, frozen
from lambdak.table.category_column import Category
from lambdak.table.category_levels import Kind
from lambdak.table.cell_rules import NOTHING


@pytest.mark.parametrize("kind", ["regressor", "linear", "multiclass", "quantiles", "ordinal", "binary"])
def test_raw_scores_follow_from_the_families(kind):
    model, X = fitted(kind), rows_of(kind)
    formula = Formula.of(model)
    design = model.model_.encoder.transform(X[:20], np.float64).to_sparse(model.model_.encoder.n_design).toarray()
    raw = np.empty((len(design), formula.n_outputs))
    for family in formula.families:
        matrices = sym(np.einsum("rp,mpd->mrd", design, family.coef) + family.constant[:, None])
        mean = np.einsum("m,mrd->rd", model.model_.weights, np.linalg.eigvalsh(matrices))
        for output, index in zip(family.outputs, family.indices, strict=True):
            raw[:, output] = model.model_.start[output] + model.model_.scale * mean[:, index]
    np.testing.assert_allclose(raw, model.model_.raw(X[:20]).reshape(raw.shape), rtol=1e-11, atol=1e-11)


def test_quantiles_share_their_coefficients_and_classes_do_not():
    quantiles, classes = (Formula.of(fitted(kind)).families for kind in ("quantiles", "multiclass"))
    assert len({id(family.coef) for family in quantiles}) == 1
    assert len({id(family.coef) for family in classes}) == len(classes) == 4


def test_results_are_named_after_levels_and_classes():
    names = {kind: Formula.of(fitted(kind)).result_names for kind in ("regressor", "quantiles", "binary")}
    assert names == {
        "regressor": ("prediction",),
        "quantiles": ("quantile_0.1", "quantile_0.5", "quantile_0.9"),
        "binary": ("probability_no", "probability_yes"),
    }


def test_levels_tell_numbers_from_text_and_what_becomes_of_the_rest():
    plain = Category("c", 3, levels=(False, 1.5, "1.5")).rule
    assert (plain.numbers, plain.texts) == (((0, 3), (1.5, 4)), (("1.5", 5),))
    assert (plain.missing, plain.unseen) == (NOTHING, NOTHING)
    assert plain.kinds == {Kind.BOOLEAN, Kind.NUMBER, Kind.TEXT}
    pooled = fitted("regressor").model_.encoder.columns[2].rule
    assert [text for text, _ in pooled.texts] == ["north", "south"]
    assert (pooled.missing, pooled.unseen) == (pooled.texts[1][1] + 1, pooled.texts[1][1] + 2)


def test_a_model_comes_from_an_estimator_a_file_or_itself(tmp_path):
    model, X = fitted("regressor"), rows_of("regressor")
    model.save(tmp_path / "model.safetensors")
    loaded = frozen(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.raw(X), model.model_.raw(X))
    assert frozen(model) is frozen(model.model_) is model.model_


def test_what_is_not_fitted_is_refused():
    with pytest.raises(TypeError, match="must be a fitted lambdak estimator, or the path of a saved one; got dict"):
        frozen(MODELS)


def test_guarantees_are_what_was_requested_and_is_proven():
    model = fitted("regressor")
    assert Formula.of(model).guarantees == (
        "the prediction never falls as income rises",
        "the prediction never rises as age rises",
    )
    assert Formula.of(changed(model, coef=-model.model_.coef)).guarantees == ()
    assert Formula.of(fitted("free")).guarantees == ()


def test_limits_are_said_in_plain_sentences_wherever_an_export_says_them(tmp_path):
    model = fitted("capped")
    said = Formula.of(model).guarantees
    for words, what in zip(said, ("change of income", "swap of levels of region"), strict=True):
        assert re.fullmatch(rf"no {what} moves the prediction by more than [\d.]+ \(limit: 1\.5\)", words)
    to_c(model, tmp_path / "model.c")
    to_javascript(model, tmp_path / "model.mjs")
    header, module, query = (tmp_path / "model.h").read_text(), (tmp_path / "model.mjs").read_text(), to_sql(model)
    for words in said:
        assert f"- {words} (proven)\n" in header
        assert words in module
        assert f"-- Proven: {words}\n" in query
