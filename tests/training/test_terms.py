"""Members that are sums of terms: raw scores, gradients, matrices, and which groups get a term.

Tests ``negative_gradient``.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from training_cases import OUTPUTS

from lambdak import SpectralRegressor
from lambdak.eigen.packing import sym
from lambdak.losses import make_loss
from lambdak.model.model import MAX_MEMBERS
from lambdak.shapes.interactions import Interactions
from lambdak.table.encoder import TableEncoder
from lambdak.training.negative_gradient import interaction_strengths
from lambdak.training.problem import Problem
from lambdak.training.rows import TrainingRows
from lambdak.training.terms import Reading, Role, Terms, nearest


def no_strengths():
    raise AssertionError("strengths are needed only where there are too many groups")


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_member_is_the_sum_of_its_terms_and_gradients_are_the_transpose(kind):
    loss, outputs = OUTPUTS[kind]
    rng, rows, terms, members = np.random.default_rng(0), 5, 3, 2
    one = Problem(None, None, None, None, loss, np.zeros(loss.n_outputs), 1.7, outputs)
    several = replace(one, terms=terms)
    values = rng.standard_normal((members * several.pencils, rows, len(outputs.indices)))
    each = one.raw(values, slice(None))  # of every term, as if it were a member
    raw = several.raw(values, slice(None))
    np.testing.assert_allclose(raw, each.reshape(members, terms, *each.shape[1:]).sum(axis=1), rtol=1e-13)
    slope = rng.standard_normal(raw.shape)
    pulled = several.eigenvalue_gradient(slope)
    assert np.vdot(slope, raw) == pytest.approx(np.vdot(pulled.reshape(values.shape), values), rel=1e-12)


def test_every_group_of_several_columns_is_a_term_and_the_others_are_multiples_of_the_identity():
    terms = Terms.of(Interactions(((0, 1), (1, 2), (3,), (4,))), 5, False, 8, no_strengths)
    assert terms == Terms(((0, 1), (1, 2)), (3, 4))
    assert terms.roles(5).tolist() == [[1, 1, 0, 2, 2], [0, 1, 1, 0, 0]]
    assert [terms.count(i) for i in range(5)] == [1, 2, 1, 1, 1]


def test_where_columns_are_apart_each_has_a_term():
    terms = Terms.of(Interactions(((0, 1), (2,), (3,))), 4, True, 8, no_strengths)
    assert terms == Terms(((0, 1), (2,), (3,)))


def test_of_too_many_groups_the_strongest_are_terms_and_every_column_is_somewhere():
    strengths = np.zeros((6, 6))
    strengths[1, 4] = strengths[4, 1] = 9.0
    strengths[0, 5] = strengths[5, 0] = 7.0
    terms = Terms.of(Interactions((), pairs=True), 6, False, 2, lambda: strengths)
    assert terms == Terms(((0, 5), (1, 4)), (2, 3))


def test_the_strongest_pairs_of_a_wide_table_are_found_without_a_list_of_all():
    strengths = np.zeros((9, 9))
    strengths[2, 7] = strengths[7, 2] = 5.0
    strengths[3, 3] = 80.0  # a column alone is no pair
    strengths[4, 5] = strengths[5, 4] = -3.0
    terms = Terms.of(Interactions((), pairs=True), 9, False, 3, lambda: strengths)
    assert terms == Terms(((0, 1), (0, 2), (2, 7)), (3, 4, 5, 6, 8))


def test_matrices_get_their_roles_exactly():
    rng, dim, pencils = np.random.default_rng(0), 3, 2
    terms = Terms(((0,), (1,)), (2,))
    columns = [SimpleNamespace(start=1 + 2 * i, stop=3 + 2 * i) for i in range(3)]
    coef = rng.standard_normal((2 * len(terms) * pencils, 7, 8))
    before = coef.copy()
    terms.keep_apart_(coef, columns, dim, pencils)
    own = coef.reshape(2, 2, pencils, 7, 8)
    assert (own[:, 0, :, 3:5] == 0).all()
    assert (own[:, 1, :, [1, 2, 5, 6]] == 0).all()
    assert (own[:, 0, :, 1:3] == before.reshape(own.shape)[:, 0, :, 1:3]).all()
    matrices = sym(own[:, 0, :, 5:7, :6])
    assert (matrices == matrices[..., :1, :1] * np.eye(dim)).all()
    assert matrices[..., 0, 0] == pytest.approx(
        np.trace(sym(before.reshape(own.shape)[:, 0, :, 5:7, :6]), axis1=-2, axis2=-1) / 3
    )


def test_a_projected_gradient_moves_along_the_identity_only():
    rng, roles = np.random.default_rng(0), np.array([[Role.ANY, Role.IDENTITY, Role.ZERO]], np.int8)
    part = rng.standard_normal((1, 3, 8))
    reading, before = Reading([roles], 3), part.copy()
    assert reading.confined
    reading.start_([part])
    assert (part[0, 0] == before[0, 0]).all()
    assert (part[0, 1, :6] == nearest(before[0, 1, :6], np.ones(3, bool))).all()
    assert (part[0, 2] == 0).all()


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_the_pair_that_interacts_is_found_among_columns_with_large_effects(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 6))
    mean = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + X[:, 5] + 1.5 * X[:, 2] * X[:, 4]
    y = rng.poisson(np.exp(mean)).astype(float) if loss == "poisson" else mean + 0.5 * rng.standard_normal(len(X))
    encoder = TableEncoder(n_knots=8).fit(X)
    rows = TrainingRows(encoder.transform(X), y, None, None)
    found = interaction_strengths(make_loss(loss), encoder.columns, rows)
    np.fill_diagonal(found, -np.inf)
    assert np.unravel_index(found.argmax(), found.shape) in [(2, 4), (4, 2)]


def test_members_times_terms_stay_within_what_a_model_holds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 9))
    model = SpectralRegressor(
        "squared_error", interaction_cst="pairwise", dim=2, max_iter=1, n_estimators=40, random_state=0
    )
    model.fit(X, X[:, 0] * X[:, 1])
    assert len(model.model_.weights) <= MAX_MEMBERS
    assert model.certify().holds
