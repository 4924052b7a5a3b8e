"""How far a change of the features can move the value, with NumPy's LAPACK as the oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from pencil_strategies import matrix_at, oracle, pencils, rows, seeds, slack, statement

from lambdak.pencil import Pencil


@statement
@given(pencils(), seeds)
def test_weyl_the_value_moves_by_at_most_the_norm_of_the_change(f, seed):
    z, other = rows(f, seed)
    move = abs(oracle(f, other) - oracle(f, z))
    bound = f.change_bound(other - z)
    change = matrix_at(f, other) - matrix_at(f, z)
    np.testing.assert_allclose(bound.tight, np.linalg.norm(change, 2), atol=slack(f))
    assert move <= bound.tight + slack(f)
    assert bound.tight <= bound.loose + slack(f)


@statement
@given(pencils(), seeds)
def test_a_unit_step_in_one_feature_moves_the_value_by_at_most_its_norm(f, seed):
    (z,) = rows(f, seed, 1)
    for i, norm in enumerate(f.norms):
        assert abs(norm - np.linalg.norm(f.matrices[i + 1], 2)) <= slack(f)
        assert abs(f(z + np.eye(f.n_features)[i]) - f(z)) <= norm + slack(f)


class TestChangeBound:
    def test_opposite_changes_cancel_in_the_tight_bound_only(self):
        bound = Pencil(np.array([[0.0], [2.0], [2.0]])).change_bound([1.0, -1.0])
        assert (bound.tight, bound.loose) == (0, 4)
