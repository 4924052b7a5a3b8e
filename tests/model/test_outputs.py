"""The ways a model has outputs: each arranges eigenvalues as its documentation says, and back by the transpose."""

from __future__ import annotations

import numpy as np
import pytest

from lambdak.losses import BinaryLog, Ordinal, Pinball, SoftmaxLog, SquaredError
from lambdak.model.outputs import (
    ClassOutputs,
    CutPointOutputs,
    OrderedOutputs,
    QuantileOutputs,
    SingleOutput,
    eigenvalue_indices,
    outputs_of,
)
from lambdak.table.encoder import TableEncoder

MEMBERS, ROWS = 2, 5
# outputs, number of them, copies of a row
CASES = {
    "single": (SingleOutput((2,)), 1, 1),
    "per class": (ClassOutputs((2,), 3), 3, 1),
    "ordered": (OrderedOutputs((0, 2, 4)), 3, 1),
    "quantiles": (QuantileOutputs((2,), (0.1, 0.5, 0.9)), 3, 3),
    "cut-points": (CutPointOutputs((2,), 3), 3, 3),
    "one quantile": (QuantileOutputs((2,), (0.5,)), 1, 1),
}


def eigenvalues(outputs, copies, seed=0):
    shape = (MEMBERS * outputs.pencils, ROWS * copies, len(outputs.indices))
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("kind", CASES)
def test_every_output_is_the_eigenvalue_of_its_pencil_index_and_level(kind):
    outputs, count, copies = CASES[kind]
    values = eigenvalues(outputs, copies)
    found = outputs.arrange(values)
    assert found.shape == (MEMBERS, ROWS, count)
    for member in range(MEMBERS):
        for row in range(ROWS):
            for i in range(count):
                own = range(MEMBERS * outputs.pencils)[outputs.own_pencils(i)][member]
                copy = 0 if outputs.own_level(i) is None else outputs.own_level(i)
                index = outputs.indices.index(outputs.own_index(i))
                assert found[member, row, i] == values[own, row * copies + copy, index]


@pytest.mark.parametrize("kind", CASES)
def test_arranging_back_is_the_transpose(kind):
    outputs, count, copies = CASES[kind]
    values, grad = eigenvalues(outputs, copies), np.random.default_rng(1).standard_normal((MEMBERS, ROWS, count))
    back = outputs.arrange_back(grad)
    assert back.shape == (values.shape[0] * values.shape[1], len(outputs.indices))
    assert (outputs.arrange(values) * grad).sum() == pytest.approx((values.reshape(back.shape) * back).sum())


@pytest.mark.parametrize("kind", CASES)
def test_only_levels_expand_rows_and_only_one_output_has_no_axis(kind):
    outputs, _, copies = CASES[kind]
    encoder = TableEncoder(n_knots=2).fit([[0.0], [4.0]])
    design = encoder.transform([[1.0], [2.0]])
    expanded = outputs.expand(design, encoder.n_design)
    assert len(expanded) == 2 * copies
    assert (expanded is design) == (not outputs.levels)
    assert outputs.single == (kind == "single")
    assert outputs.in_order == (kind not in ("single", "per class"))


@pytest.mark.parametrize(
    ("loss", "kind", "count"),
    [
        (SquaredError(), SingleOutput, 1),
        (BinaryLog(), SingleOutput, 1),
        (Ordinal(2), SingleOutput, 1),
        (SoftmaxLog(4), ClassOutputs, 4),
        (Ordinal(4), CutPointOutputs, 3),
        (Pinball((0.1, 0.9)), QuantileOutputs, 2),
        (Pinball((0.5,)), QuantileOutputs, 1),
    ],
)
def test_a_loss_says_which_outputs_it_has(loss, kind, count):
    outputs = outputs_of(loss, eigenvalue_indices(9))
    assert type(outputs) is kind
    assert loss.n_outputs == count
    assert max(outputs.pencils, len(outputs.indices), len(outputs.levels)) == count


def test_the_eigenvalue_is_the_middle_one_an_end_or_the_one_requested():
    assert eigenvalue_indices(9) == (4,)
    assert eigenvalue_indices(9, eig_idx=7) == (7,)
    assert eigenvalue_indices(9, end=1) == (8,)
    assert eigenvalue_indices(9, end=-1) == (0,)
    with pytest.raises(ValueError, match=r"eig_idx must be in \[0, 9\); got 9"):
        eigenvalue_indices(9, eig_idx=9)


def test_cut_points_of_files_that_were_saved_before_are_several_eigenvalues():
    assert outputs_of(Ordinal(4), (2, 4, 6)) == OrderedOutputs((2, 4, 6))
