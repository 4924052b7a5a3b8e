"""A model as flat arrays: the numbers of ``lambdak.export.flat`` are those of the model."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_models import KINDS, fitted

from lambdak.export.flat import CATEGORY, CURVE, FlatModel
from lambdak.export.formula import Formula


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_number_of_a_model_has_one_place(kind):
    model = fitted(kind).model_
    flat = FlatModel(Formula.of(model))
    assert sorted(flat.reads[:, 3].tolist()) == list(range(len(model.start)))
    for block, family, _, output in flat.reads.tolist():
        own = flat.formula.families[family]
        assert output in own.outputs
        np.testing.assert_array_equal(flat.blocks[block], own.coef)
        np.testing.assert_array_equal(flat.constants[family], own.constant)
    kinds = flat.whole[:, 0]
    assert len(flat.knots) == flat.whole[kinds == CURVE, 2].sum()
    levels = [level for column in model.encoder.columns if not column.is_number for level in column.rule.levels]
    named = sum(isinstance(level, str | bool | int | float) for level in levels)
    assert len(flat.text_levels) + len(flat.number_levels) == named
    assert (kinds == CATEGORY).tolist() == [not column.is_number for column in model.encoder.columns]
