"""Which columns act together: commutators, couplings and H-statistics against their definitions, in NumPy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from fitted_models import X, fitted
from hand_made_models import by_hand, symmetric
from score_cases import cell_weights, cells_of, matrices

from lambdak import SpectralRegressor
from lambdak.explain.interactions import commutators, couplings, h_statistics, interactions
from lambdak.model.readout import readouts


def three_columns(dim=4, size=1.0, index=1):
    rng = np.random.default_rng(dim)
    slopes = [symmetric(rng, dim, size) for _ in range(3)]
    constant = np.diag(np.arange(dim) * 3.0)
    rows = rng.uniform(-1, 1, (12, 3))
    model = by_hand(constant, slopes, index)
    return readouts(model.model_)[0], model.model_.encoder.transform(rows, np.float64), constant, slopes, rows


def commutator_by_force(first, second):
    """(E‖[A, B]‖²)^¼ over all pairs of cells, both about their means."""
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    return np.mean([np.linalg.norm(A @ B - B @ A) ** 2 for A in first for B in second]) ** 0.25


def test_commutators_are_means_over_all_pairs_of_cells():
    readout, design, _, slopes, rows = three_columns()
    found = commutators(readout, design)
    for i in range(3):
        for j in range(i + 1, 3):
            first, second = (rows[:, c, None, None] * slopes[c] for c in (i, j))
            assert found[i, j] == pytest.approx(commutator_by_force(first, second))
            assert found[j, i] == pytest.approx(found[i, j])


def test_commutators_without_rows_are_over_the_extreme_cells():
    model = fitted("free")
    found = commutators(readouts(model.model_)[0], None)
    parts = []
    for member, weight in enumerate(model.model_.weights):
        C = [matrices(model, member)[column.start : column.stop] for column in model.model_.encoder.columns]
        parts.append(weight * commutator_by_force(C[0], C[2]) ** 4)
    assert found[0, 2] == pytest.approx(model.model_.scale * sum(parts) ** 0.25)


def test_commutators_of_members_and_curves_are_averaged():
    model = fitted("free")
    found = commutators(readouts(model.model_)[0], model.model_.encoder.transform(X[:15], np.float64))
    income, region = model.model_.encoder.columns[0], model.model_.encoder.columns[2]
    total = 0.0
    for member, weight in enumerate(model.model_.weights):
        C = matrices(model, member)
        parts = []
        for i, column in ((0, income), (2, region)):
            own = [cell_weights(column, cells_of("free", row)[i]) for row in range(15)]
            parts.append(np.array([np.tensordot(w, C[column.start : column.stop], 1) for w in own]))
        total += weight * commutator_by_force(*parts) ** 4
    assert found[0, 2] == pytest.approx(model.model_.scale * total**0.25)


def test_matrices_that_commute_have_no_commutator_and_no_coupling():
    rng = np.random.default_rng(0)
    model = by_hand(np.diag([0.0, 3.0, 9.0]), [np.diag(rng.normal(size=3)) for _ in range(3)], 1)
    rows = rng.uniform(-1, 1, (10, 3))
    for pair in interactions(readouts(model.model_)[0], model.model_.encoder.transform(rows, np.float64)):
        assert pair.commutator == pytest.approx(0.0, abs=1e-4)  # the fourth root of rounding
        assert pair.coupling == pytest.approx(0.0, abs=1e-12)


def test_couplings_are_mixed_second_differences():
    readout, design, constant, slopes, rows = three_columns(size=1e-2)
    found, step = couplings(readout, design), 0.05
    for i, j in ((0, 1), (0, 2), (1, 2)):
        mixed = []
        for row in rows:
            A = constant + np.tensordot(row, slopes, 1)
            first, second = ((row[c] - rows[:, c].mean()) * slopes[c] for c in (i, j))
            signs = [(s, t) for s in (1, -1) for t in (1, -1)]
            values = [s * t * np.linalg.eigvalsh(A + step * (s * first + t * second))[1] for s, t in signs]
            mixed.append(sum(values) / (4 * step**2))
        assert found[i, j] == pytest.approx(np.sqrt(np.mean(np.square(mixed))), rel=1e-3)


def test_couplings_stay_finite_where_the_eigenvalue_is_repeated():
    rng = np.random.default_rng(0)
    slopes = [symmetric(rng, 3), symmetric(rng, 3)]
    model = by_hand(np.zeros((3, 3)), slopes)
    found = couplings(
        readouts(model.model_)[0], model.model_.encoder.transform(np.array([[0.0, 0.0], [1.0, 1.0]]), np.float64)
    )
    assert np.isfinite(found).all()
    assert found[0, 1] <= np.linalg.norm(slopes[0], 2) + np.linalg.norm(slopes[1], 2)


def dependence(constant, slopes, rows, own, index):
    """Centred mean of λ over all rows, with the columns ``own`` as in each row in turn."""
    means = []
    for row in rows:
        mixed = rows.copy()
        mixed[:, own] = row[own]
        means.append(np.mean([np.linalg.eigvalsh(constant + np.tensordot(each, slopes, 1))[index] for each in mixed]))
    return np.array(means) - np.mean(means)


def test_h_statistics_are_those_of_friedman_and_popescu():
    readout, design, constant, slopes, rows = three_columns()
    found = h_statistics(readout, design, [(0, 1), (1, 2)])
    for i, j in found:
        single, other, both = (dependence(constant, slopes, rows, own, 1) for own in ([i], [j], [i, j]))
        rest = both - single - other
        joint, h = found[i, j]
        assert joint == pytest.approx(np.sqrt(np.mean(rest**2)))
        assert h == pytest.approx(np.sqrt(np.sum(rest**2) / np.sum(both**2)))


def test_large_matrices_of_many_columns_take_little_memory():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 31), [symmetric(rng, 31) for _ in range(15)])
    readout, design = (
        readouts(model.model_)[0],
        model.model_.encoder.transform(rng.uniform(-1, 1, (20, 15)), np.float64),
    )
    tracemalloc.start()
    commutators(readout, design)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6


@pytest.fixture(scope="module")
def product():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (600, 4))
    y = 3 * rows[:, 0] * rows[:, 1] + 2 * rows[:, 2] + np.sin(3 * rows[:, 3])
    return SpectralRegressor(effort="fast", random_state=0).fit(rows, y), rows


@pytest.mark.slow
def test_a_product_of_two_columns_is_first_by_every_measure_that_sees_scores(product):
    model, rows = product
    pairs = model.explain_global(rows).interactions
    assert len(pairs) == 6
    for measure in ("coupling", "joint", "h_statistic"):
        first, second = sorted(pairs, key=lambda pair: -getattr(pair, measure))[:2]
        assert (first.first, first.second) == ("x0", "x1"), measure
        assert getattr(first, measure) > 2 * getattr(second, measure), measure
    assert [pair.joint for pair in pairs] == sorted((pair.joint for pair in pairs), reverse=True)


def test_without_rows_pairs_are_ordered_by_commutators(product):
    pairs = product[0].explain_global().interactions
    sizes = [pair.commutator for pair in pairs]
    assert sizes == sorted(sizes, reverse=True)
    assert np.isnan([[pair.coupling, pair.joint, pair.h_statistic] for pair in pairs]).all()


def test_an_additive_model_has_no_interactions():
    for pair in fitted("additive").explain_global(X).interactions:
        assert pair.coupling == 0.0
        assert pair.joint == pytest.approx(0.0, abs=1e-12)
        assert pair.h_statistic == pytest.approx(0.0, abs=1e-9)
        assert pair.commutator == pytest.approx(0.0, abs=1e-3)


def test_only_the_strongest_of_many_pairs_are_observed():
    rng = np.random.default_rng(0)
    model = by_hand(symmetric(rng, 3), [symmetric(rng, 3, 0.1) for _ in range(11)])
    pairs = model.explain_global(rng.uniform(-1, 1, (10, 11))).interactions
    assert len(pairs) == 55
    assert [bool(np.isfinite(pair.joint)) for pair in pairs] == [True] * 45 + [False] * 10
    assert np.isfinite([pair.coupling for pair in pairs]).all()


def test_a_single_column_has_no_pairs():
    model = by_hand(np.eye(2), [np.eye(2)])
    assert model.explain_global([[0.5]]).interactions == ()
    assert model.explain_global().interactions == ()
