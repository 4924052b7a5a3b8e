"""Proofs in float64: never where integers say no, and nearly always where they say yes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen.packing import packed_size, sym, unsym
from lambdak.pencil.definite import UNIT, frobenius, norm_bound, proven_psd
from lambdak.pencil.exact import Work, combination_is_psd, frobenius_is_below, norm_is_below
from lambdak.pencil.statements import Statements, bends, rises


def nearly_singular(rng, dim, count, shift):
    """Matrices whose smallest eigenvalue is about zero, moved by some units in the last place."""
    rank = rng.integers(0, dim + 1)
    factor = rng.normal(size=(count, dim, rank)) * 10.0 ** rng.integers(-3, 4)
    full = factor @ np.swapaxes(factor, 1, 2)
    size = np.abs(full).max(axis=(1, 2), initial=1e-12)
    return unsym(full + shift * UNIT * size[:, None, None] * np.eye(dim))


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(-40, 400))
@settings(max_examples=60, deadline=None)
def test_what_is_proven_is_true_in_integers(seed, dim, shift):
    packed = nearly_singular(np.random.default_rng(seed), dim, 12, shift)
    proven = proven_psd(packed, np.zeros(len(packed)))
    truth = np.array([combination_is_psd([(Fraction(1), row)]) for row in packed])
    assert not (proven & ~truth).any()
    if shift > 8 * (dim + 6):
        assert proven.all()


def test_an_error_of_the_matrix_is_allowed_for():
    one = unsym(np.eye(3))[None]
    assert proven_psd(one, np.array([0.98]))[0]
    assert not proven_psd(one, np.array([1.0]))[0]
    assert proven_psd(np.zeros((1, 6)), np.zeros(1))[0]
    assert not proven_psd(np.zeros((1, 6)), np.full(1, 1e-200))[0]


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_what_cannot_be_computed_is_not_proven(entry):
    packed = np.full((1, 6), entry)
    with np.errstate(all="ignore"):
        assert not proven_psd(packed, np.zeros(1))[0]


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_scales_do_not_matter(scale):
    packed = scale * unsym(np.array([[2.0, 1.0], [1.0, 2.0]]))[None]
    assert proven_psd(packed, np.zeros(1))[0]
    assert not proven_psd(-packed, np.zeros(1))[0]


@given(st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_norms_are_never_too_small_and_hardly_too_large(seed, dim):
    packed = np.random.default_rng(seed).normal(size=packed_size(dim))
    bound, size = float(norm_bound(packed)), float(frobenius(packed))
    assert norm_is_below([(Fraction(1), packed)], Fraction(bound))
    assert frobenius_is_below([(Fraction(1), packed)], Fraction(size))
    assert bound <= np.linalg.norm(sym(packed), 2) * (1 + 1e-11)
    assert size <= np.linalg.norm(sym(packed)) * (1 + 1e-13)


class TestStatements:
    def rows(self, steps):
        """Matrices whose differences are these, as exactly as float64 holds them."""
        return np.cumsum(np.concatenate([np.zeros_like(steps[:1]), steps]), axis=0)[None]

    @given(st.integers(0, 10**6), st.integers(1, 6), st.integers(-30, 300))
    @settings(max_examples=60, deadline=None)
    def test_both_ways_to_decide_agree(self, seed, dim, shift):
        rng = np.random.default_rng(seed)
        rows = self.rows(nearly_singular(rng, dim, 4, shift))
        increments = np.diff(np.eye(5), axis=0)
        lengths = [Fraction(float(x)) for x in rng.uniform(1e-3, 10, 4)]
        for combinations in (rises(increments, 1), rises(increments, -1), bends(increments, lengths, 1)):
            statements = Statements(rows, combinations)
            exact = statements.all_true(Work(np.inf), exact=True)
            assert statements.all_true(Work(np.inf)) == exact
            assert exact or not statements.proven().all()

    def test_a_matrix_that_hides_a_fall_in_its_size_is_refuted(self):
        one, fall = unsym(np.eye(4)), unsym(np.diag([1.0, 1.0, 1.0, -37.0]))
        rows = np.stack([1e14 * one, 1e14 * one + fall])[None]
        statements = Statements(rows, rises(np.diff(np.eye(2), axis=0), 1))
        assert not statements.all_true(Work(np.inf))
        assert not statements.all_true(Work(np.inf), exact=True)

    def test_no_statements_are_true(self):
        empty = Statements(np.zeros((2, 1, 3)), [])
        assert empty.all_true(Work(np.inf))
        assert empty.all_true(Work(np.inf), exact=True)
        assert empty.least == np.inf
