"""Eigenvalues (``eigenvalue``) and slopes (``rows``) inside of a graph, against LAPACK, on matrices of every sort.

Tests ``graph``.
"""

from __future__ import annotations

import numpy as np
import pytest
from exported_onnx import session
from matrices import FACTORIES

from lambdak.export.onnx.eigenvalue import eigenvalues, interval, rough_bracket, tridiagonal
from lambdak.export.onnx.graph import Graph, Value
from lambdak.export.onnx.rows import eigenvectors, repeated
from lambdak.pencil import REPEATED_TOL

DIMS = [2, 3, 5, 9]


def solver(dim, index, dtype=np.float64):
    """A function from matrices (n, d, d) to eigenvalues (n,), vectors (n, d) and whether a value is repeated (n,)."""
    graph = Graph(np.dtype(dtype), [])
    helper, kind = graph.onnx.helper, graph.type_of(dtype)
    tri = tridiagonal(graph, graph.given("lower"), dim)
    value = eigenvalues(graph, tri, float(index))
    for name, own in (
        ("value", value * tri.unit),
        ("vector", eigenvectors(graph, tri, value, dim)),
        ("same", repeated(graph, tri, value, dim).reshape(-1)),
    ):
        graph.named(own, name)
    inputs = [helper.make_tensor_value_info("lower", kind, [None, None])]
    kinds = (kind, kind, graph.type_of(np.bool_))
    outputs = [
        helper.make_tensor_value_info(name, own, None)
        for name, own in zip(("value", "vector", "same"), kinds, strict=True)
    ]
    file = helper.make_model(
        graph.finished("g", inputs, outputs), opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    )
    running = session(file.SerializeToString())

    def solve(full):
        lower = full[:, *np.tril_indices(dim)].T.astype(dtype)
        found, vector, same = running.run(None, {"lower": lower})
        return found[0], vector.T, same

    return solve


def bracketed(dim, index):
    """A function from matrices (n, d, d) to the ends of the brackets that Newton's method begins with."""
    graph = Graph(np.dtype(np.float64), [])
    helper, kind = graph.onnx.helper, graph.type_of(np.float64)
    tri = tridiagonal(graph, graph.given("lower"), dim)
    low, width = rough_bracket(graph, tri, float(index), interval(graph, tri, float(index)), 11)
    for name, end in (("low", low), ("high", low + width)):
        graph.named(end * tri.unit, name)
    inputs = [helper.make_tensor_value_info("lower", kind, [None, None])]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name in ("low", "high")]
    file = helper.make_model(
        graph.finished("g", inputs, outputs), opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    )
    running = session(file.SerializeToString())
    return lambda full: [end.ravel() for end in running.run(None, {"lower": full[:, *np.tril_indices(dim)].T})]


def cases(dim, rows=12):
    rng = np.random.default_rng(dim)
    return {name: factory(rng, rows, dim) for name, factory in FACTORIES.items()}


def norm(full):
    return np.abs(np.linalg.eigvalsh(full)).max(axis=1) + np.finfo(float).tiny


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_every_eigenvalue_of_every_sort_of_matrix_is_lapacks(dim):
    for index in {0, dim // 2, dim - 1}:
        solve = solver(dim, index)
        for name, full in cases(dim).items():
            found = solve(full)[0]
            error = np.abs(found - np.linalg.eigvalsh(full)[:, index]) / norm(full)
            assert error.max() < 4e-15 * dim, name


@pytest.mark.parametrize("dim", DIMS)
def test_brackets_by_counts_in_single_precision_hold_the_eigenvalue(dim):
    for index in {0, dim // 2, dim - 1}:
        ends = bracketed(dim, index)
        for name, full in cases(dim, rows=300).items():
            low, high = ends(full)
            value, slack = np.linalg.eigvalsh(full)[:, index], 1e-14 * dim * norm(full)
            assert (low <= value + slack).all(), name
            assert (value <= high + slack).all(), name


def test_eigenvalues_that_differ_little_from_their_mean_are_told_apart():
    """Single precision alone, without the mean taken away, would hold 2e-7 for zero."""
    rng, dim = np.random.default_rng(0), 5
    full = np.eye(dim) + 1e-9 * FACTORIES["symmetric"](rng, 200, dim)
    low, high = bracketed(dim, 2)(full)
    assert ((high - low) < 1e-2 * np.ptp(np.linalg.eigvalsh(full), axis=1)).all()
    error = np.abs(solver(dim, 2)(full)[0] - np.linalg.eigvalsh(full)[:, 2])
    assert error.max() < 4e-15 * dim


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_the_size_of_a_matrix_does_not_matter(size):
    solve = solver(5, 2)
    for name, full in cases(5).items():
        whole = full / (np.abs(full).max() or 1.0)
        error = np.abs(solve(whole * size)[0] / size - np.linalg.eigvalsh(whole)[:, 2])
        assert error.max() < 2e-14, name


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_vectors_are_unit_eigenvectors_unless_the_eigenvalue_is_repeated(dim):
    solve = solver(dim, dim // 2)
    for name, full in cases(dim).items():
        value, vector, same = solve(full)
        residual = np.linalg.norm(np.einsum("nij,nj->ni", full, vector) - value[:, None] * vector, axis=1)
        fine = ~same & np.isfinite(full).all(axis=(1, 2))
        assert (residual / norm(full))[fine].max(initial=0.0) < 1e-13 * dim, name
        np.testing.assert_allclose(np.linalg.norm(vector[fine], axis=1), 1.0, rtol=1e-13)


def test_eigenvalues_count_as_repeated_where_the_model_says_so():
    spectrum = np.array([[-1.0, 0.3, 0.3 + gap, 2.0] for gap in (0.0, 1e-12, 1e-9, 2.8e-8, 3.2e-8, 1e-6, 0.1)])
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 4, 4)))[0]
    full = np.einsum("nij,nj,nkj->nik", basis, spectrum, basis)
    wanted = spectrum[:, 2] - spectrum[:, 1] <= REPEATED_TOL * 2.0
    for index in (1, 2):
        np.testing.assert_array_equal(solver(4, index)(full)[2], wanted)


def test_a_matrix_that_is_not_finite_spoils_only_itself():
    full = FACTORIES["symmetric"](np.random.default_rng(0), 5, 4)
    bad = full.copy()
    bad[1, 2, 2], bad[3, 1, 0], bad[3, 0, 1] = np.nan, np.inf, np.inf
    solve = solver(4, 1)
    found = solve(bad)[0]
    assert np.isnan(found[[1, 3]]).all()
    np.testing.assert_array_equal(found[[0, 2, 4]], solve(full)[0][[0, 2, 4]])


@pytest.mark.slow
@pytest.mark.parametrize("dim", DIMS)
def test_float32_keeps_its_digits(dim):
    solve = solver(dim, dim // 2, np.float32)
    for name, full in cases(dim).items():
        single = full.astype(np.float32).astype(np.float64)
        if np.isfinite(single).all() and 1e-20 < np.abs(single).max() < 1e20:
            error = np.abs(solve(single)[0] - np.linalg.eigvalsh(single)[:, dim // 2]) / norm(single)
            assert error.max() < 2e-6 * dim, name


def test_one_matrix_and_none_are_solved_like_many():
    full = FACTORIES["symmetric"](np.random.default_rng(0), 300, 6)
    solve = solver(6, 3)
    np.testing.assert_allclose(solve(full[:1])[0], solve(full)[0][:1], rtol=1e-14)
    assert len(solve(full[:0])[0]) == 0


def test_arithmetic_with_values_adds_nodes():
    graph = Graph(np.dtype(np.float64), ["lambdak/1"])
    assert isinstance(graph.given("a") + 1.0, Value)
    assert graph.number(1.0).name == graph.number(1.0).name  # stored once
    assert not graph.number(2.0).name.startswith("lambdak/1")
