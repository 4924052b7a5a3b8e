"""The moments of a design: means and covariances against dense NumPy, weighted and sampled."""

from __future__ import annotations

import numpy as np
import pytest
from coordinate_cases import GAPPY_CURVE, ROWS, curves, dense, mixed
from scipy import sparse

from lambdak.table.encoder import TableEncoder
from lambdak.training.coordinates import design_moments


def wide_design():
    """Rows of a sparse table are padded with further slots of the constant."""
    X = sparse.random_array((ROWS, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    encoder = TableEncoder().fit(X)
    return encoder, encoder.transform(X)


# The two ways to moments: covariances, and variances alone.
LIMITS = {"covariances": 2500, "variances": 0}


@pytest.fixture(params=LIMITS)
def way(request, monkeypatch):
    monkeypatch.setattr("lambdak.training.coordinates.MOST_COVARIANCES", LIMITS[request.param])
    return request.param


def assert_moments(moments, mean, covariance, way, atol=1e-12):
    """Dense products are taken in float32: a design has entries of about one."""
    wanted = np.diag(covariance) if way == "variances" else covariance
    np.testing.assert_allclose(moments.mean, mean, atol=atol)
    np.testing.assert_allclose(moments.covariance, wanted, atol=max(atol, 1e-6 if way == "covariances" else 0))


@pytest.mark.parametrize("make", [mixed, wide_design])
def test_moments_are_the_mean_and_covariance_of_the_dense_design(make, way):
    encoder, design = make()
    Z = dense(design, encoder.n_design)
    moments = design_moments(design, encoder.n_design)
    assert_moments(moments, Z.mean(axis=0), np.cov(Z, rowvar=False, bias=True), way)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [mixed, wide_design])
def test_weighted_moments_are_those_of_the_weighted_dense_design(make, dtype, way):
    encoder, design = make()
    weight = np.random.default_rng(1).exponential(size=len(design)).astype(dtype)
    weight[:10] = 0
    moments = design_moments(design, encoder.n_design, weight)
    Z, atol = dense(design, encoder.n_design), 10 * np.finfo(dtype).eps
    covariance = np.cov(Z, rowvar=False, ddof=0, aweights=weight)
    assert_moments(moments, np.average(Z, axis=0, weights=weight), covariance, way, atol)


def test_a_row_of_weight_two_counts_as_two_rows(way):
    encoder, design = mixed()
    weight = np.where(np.arange(ROWS) < 40, 2.0, 1.0)
    twice = design.take(np.concatenate([np.arange(40), np.arange(ROWS)]))
    weighted, repeated = design_moments(design, encoder.n_design, weight), design_moments(twice, encoder.n_design)
    atol = 1e-6 if way == "covariances" else 1e-12
    np.testing.assert_allclose(weighted.mean, repeated.mean, atol=1e-12)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, atol=atol)


def test_the_block_of_a_column_is_its_part_of_the_covariance_or_a_diagonal(way):
    encoder, design = mixed()
    covariance = np.cov(dense(design, encoder.n_design), rowvar=False, bias=True)
    own = slice(encoder.columns[GAPPY_CURVE].start, encoder.columns[GAPPY_CURVE].stop)
    wanted = np.diag(np.diag(covariance)[own]) if way == "variances" else covariance[own, own]
    block = design_moments(design, encoder.n_design).block(own)
    np.testing.assert_allclose(block, wanted, atol=1e-6 if way == "covariances" else 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stride", [2, 3])
def test_of_a_long_table_only_every_nth_row_counts(stride, weighted, monkeypatch):
    monkeypatch.setattr("lambdak.training.coordinates._SAMPLE", ROWS // stride)
    encoder, design = mixed()
    weight = np.random.default_rng(1).exponential(size=ROWS) if weighted else None
    Z, mass = dense(design, encoder.n_design)[::stride], None if weight is None else weight[::stride]
    covariance = np.cov(Z, rowvar=False, ddof=0, aweights=mass)
    moments = design_moments(design, encoder.n_design, weight)
    assert_moments(moments, np.average(Z, axis=0, weights=mass), covariance, "dense")


def test_the_sample_of_a_long_table_tells_nearly_the_same_as_the_table(monkeypatch):
    encoder, design = curves(rows=20_000)
    whole = design_moments(design, encoder.n_design)
    monkeypatch.setattr("lambdak.training.coordinates._SAMPLE", 4_000)
    sample = design_moments(design, encoder.n_design)
    np.testing.assert_allclose(sample.mean, whole.mean, atol=0.02)
    np.testing.assert_allclose(sample.covariance, whole.covariance, atol=0.02)


def test_a_sample_without_any_weight_counts_its_rows_alike(monkeypatch):
    encoder, design = mixed()
    monkeypatch.setattr("lambdak.training.coordinates._SAMPLE", ROWS // 2)
    moments = design_moments(design, encoder.n_design, np.arange(ROWS) % 2.0)
    np.testing.assert_allclose(moments.mean, dense(design, encoder.n_design)[::2].mean(axis=0), atol=1e-12)
