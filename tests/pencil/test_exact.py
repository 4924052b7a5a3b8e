"""Semidefinite or not, in integers: against principal minors, and at the last bit."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdak.eigen.packing import ROOT_HALF, packed_size, sym
from lambdak.pencil.exact import combination_is_psd, frobenius_is_below, is_psd, norm_is_below

ONE = Fraction(1)


def determinant(matrix):
    if not matrix:
        return 1
    return sum(
        (-1) ** j * entry * determinant([row[:j] + row[j + 1 :] for row in matrix[1:]])
        for j, entry in enumerate(matrix[0])
        if entry
    )


def has_no_negative_minor(matrix):
    """A symmetric matrix is positive semidefinite if and only if no principal minor is negative."""
    every = range(len(matrix))
    chosen = (rows for count in range(1, len(matrix) + 1) for rows in combinations(every, count))
    return all(determinant([[matrix[i][j] for j in rows] for i in rows]) >= 0 for rows in chosen)


@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.integers(-3, 3), min_size=d * d, max_size=d * d)), st.booleans())
@settings(max_examples=400, deadline=None)
def test_elimination_agrees_with_all_principal_minors(entries, square):
    dim = int(len(entries) ** 0.5)
    rows = [entries[i * dim : (i + 1) * dim] for i in range(dim)]
    if square:  # L Lᵀ, often singular
        full = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    else:
        full = [[rows[max(i, j)][min(i, j)] for j in range(dim)] for i in range(dim)]
    assert is_psd([full[i][: i + 1] for i in range(dim)]) == has_no_negative_minor(full)


@pytest.mark.parametrize("dim", [1, 2, 5, 9])
def test_one_unit_in_the_last_place_decides(dim):
    """A multiple of the identity minus itself is zero; the next smaller number makes it negative."""
    one = np.zeros(packed_size(dim))
    one[[i * (i + 3) // 2 for i in range(dim)]] = 0.1
    smaller = one.copy()
    smaller[-1] = np.nextafter(smaller[-1], 0)
    assert combination_is_psd([(ONE, one), (-ONE, one)])
    assert combination_is_psd([(ONE, one), (-ONE, smaller)])
    assert not combination_is_psd([(ONE, smaller), (-ONE, one)])


def test_off_diagonals_are_unpacked_by_the_dyadic_constant():
    root = ROOT_HALF * ROOT_HALF  # rounded: not the square of the constant
    exact = Fraction(ROOT_HALF) ** 2
    packed = np.array([root, 1.0, 1.0])  # singular if root were the square
    assert combination_is_psd([(ONE, packed)]) == (Fraction(root) >= exact)
    bigger = np.array([np.nextafter(root, 1), 1.0, 1.0])
    smaller = np.array([np.nextafter(root, 0), 1.0, 1.0])
    assert combination_is_psd([(ONE, bigger)])
    assert not combination_is_psd([(ONE, smaller)])


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300])
def test_scales_do_not_matter(scale):
    rng = np.random.default_rng(0)
    factor = rng.integers(-3, 4, (4, 4))
    full = (factor @ factor.T).astype(float)
    i, j = np.tril_indices(4)
    packed = scale * np.where(i == j, full[i, j], 0.0)
    assert combination_is_psd([(ONE, packed)])
    packed[0] = -abs(packed[0]) - scale
    assert not combination_is_psd([(ONE, packed)])


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_norms_are_bounded_as_numpy_says(seed, dim):
    packed = np.random.default_rng(seed).normal(size=packed_size(dim))
    norm, size = np.linalg.norm(sym(packed), 2), np.linalg.norm(sym(packed))
    for limit, below in ((1.001, True), (0.999, False)):
        assert norm_is_below([(ONE, packed)], Fraction(limit * norm)) == below
        assert frobenius_is_below([(Fraction(1, 3), packed)], Fraction(limit * size) / 3) == below


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nothing_is_proven_of_what_is_no_number(bad):
    terms = [(Fraction(1), np.array([1.0, 0.0, 1.0])), (Fraction(1), np.array([bad, 0.0, 1.0]))]
    assert not combination_is_psd(terms)
    assert not norm_is_below(terms, Fraction(10**9))
    assert not frobenius_is_below(terms, Fraction(10**9))
