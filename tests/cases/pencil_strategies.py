"""Hypothesis strategies for pencils, and what LAPACK says about them."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lambdak.eigen.packing import packed_size
from lambdak.pencil import Pencil

statement = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 2**32 - 1)
# Small integers give repeated eigenvalues and zero matrices often, floats give everything else.
entries = st.one_of(st.integers(-2, 2).map(float), st.floats(-8, 8, allow_subnormal=False))


@st.composite
def pencils(draw, min_dim=1, eig_idx=None):
    dim, n = draw(st.integers(min_dim, 5)), draw(st.integers(1, 3))
    packed = draw(hnp.arrays(np.float64, (n + 1, packed_size(dim)), elements=entries))
    chosen = {None: draw(st.integers(0, dim - 1)), "first": 0, "last": dim - 1}[eig_idx]
    return Pencil(packed, chosen)


def rows(f, seed, count=2):
    return np.random.default_rng(seed).uniform(-3, 3, (count, f.n_features))


def matrix_at(f, z):
    return f.matrices[0] + np.tensordot(z, f.matrices[1:], axes=1)


def oracle(f, z):
    return np.linalg.eigvalsh(matrix_at(f, z))[f.eig_idx]


def slack(f):
    return 1e-11 * (1 + np.abs(f.packed).sum())


def orthogonal(dim, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((dim, dim)))[0]
