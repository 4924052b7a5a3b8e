"""The independent checker: exact, alone, and of the same opinion as an oracle in fractions."""

from __future__ import annotations

import ast
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checker_cases import CHECKER, as_file, certificate, exit_code, module, run, verdicts, write
from fitted_models import KINDS, SMALL, X, Y, fitted
from hand_made_models import BROKEN, broken, by_hand
from hostile_cases import MONOTONE, of_format, sealed
from promise_oracle import broken as broken_promises
from promise_oracle import positive
from tampered_models import BASES, base, tampered

import lambdak
from lambdak import SpectralRegressor
from lambdak.model.readout import readouts
from lambdak.store import ModelFileError

PER_BASE = 32  # tampered files of each model; benchmarks/tampered.py makes thousands

# ---- alone -----------------------------------------------------------------------------------------------------------


def test_it_is_one_short_file_of_the_standard_library():
    source = CHECKER.read_text()
    assert len(source.splitlines()) <= 830  # an hour's reading; 465 before it knew shapes
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not any(getattr(node, "level", 0) for node in nodes)
    names = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in nodes
        for alias in node.names
    }  # fmt: skip
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert not any(call in source for call in ("import_module", "__import__", "exec(", "eval("))


def test_the_constant_is_the_one_by_which_the_kernel_unpacks():
    from lambdak.eigen.packing import ROOT_HALF

    assert Fraction(module().ROOT_HALF, 2**53) == Fraction(ROOT_HALF)


# ---- its arithmetic --------------------------------------------------------------------------------------------------


def lower(M):
    return [[int(x) for x in row[: i + 1]] for i, row in enumerate(M)]


def in_fractions(M):
    return [[Fraction(int(x)) for x in row] for row in M]


def decided(M, monkeypatch):
    """What the quick proof and the elimination say about a matrix of integers; they must agree."""
    both = module().semidefinite(lower(M), [np.inf])
    with monkeypatch.context() as patch:
        patch.setattr(module(), "factorised", lambda rows: False)
        assert module().semidefinite(lower(M), [np.inf]) is both
    return both


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_all_small_matrices_are_decided_as_in_fractions(dim, monkeypatch):
    below = [(i, j) for i in range(dim) for j in range(i + 1)]
    for entries in product(range(-1, 3), repeat=len(below)):
        M = np.zeros((dim, dim), int)
        for (i, j), entry in zip(below, entries, strict=True):
            M[i, j] = M[j, i] = entry
        assert decided(M, monkeypatch) == positive(in_fractions(M)), M


def random_cases(rng):
    """Gram matrices of full and lower rank, some a unit below or above, some scaled beyond float64, some indefinite."""
    dim = int(rng.integers(1, 8))
    G = rng.integers(-5, 6, (dim, int(rng.integers(1, dim + 2)))).astype(object)
    M = G @ G.T
    yield M
    M = M * 2 ** int(rng.integers(0, 300))
    yield M
    i = int(rng.integers(dim))
    for step in (-1, 1):
        M = M.copy()
        M[i, i] += step
        yield M
    S = rng.integers(-9, 10, (dim, dim)).astype(object)
    yield S + S.T


@pytest.mark.parametrize("seed", range(60))
def test_random_matrices_are_decided_as_in_fractions(seed, monkeypatch):
    for M in random_cases(np.random.default_rng(seed)):
        assert decided(M, monkeypatch) == positive(in_fractions(M)), M


def test_a_matrix_too_large_to_decide_is_neither_proven_nor_refuted():
    rows = lower(np.ones((64, 64), object) * 3**400)  # of rank one
    assert module().semidefinite(rows, [module().MOST_WORK]) is None


def test_the_quick_proof_sees_what_is_far_below_float64():
    M = [[2**300], [2**300, 2**300 + 2**200]]
    assert module().factorised(M)
    assert not module().factorised([[2**300], [2**300, 2**300]])
    assert module().semidefinite([[2**300], [2**300, 2**300 - 1]], [np.inf]) is False


def test_all_matrices_of_a_file_share_what_may_be_eliminated():
    rows, work = lower(np.ones((12, 12), object) * 3**600), [module().MOST_WORK]  # of rank one
    verdicts_ = [module().semidefinite(rows, work) for _ in range(200)]
    assert verdicts_[:2] == [True, True]
    assert verdicts_[-1] is None
    assert 0 <= work[0] < module().MOST_WORK


@pytest.mark.parametrize("depth", [0, 3, 30])
@pytest.mark.parametrize("seed", range(20))
def test_norms_lie_between_their_bounds(seed, depth):
    for D in random_cases(np.random.default_rng(seed)):
        low, high = module().norm([[int(x) for x in row] for row in D], depth)
        assert spans(D, high)
        assert low <= 0 or not spans(D, low - 1)
        if depth == 30:
            assert high - low <= 4 + (high >> 20)


def spans(D, size):
    """Whether no eigenvalue of D is beyond ±size."""
    unit = np.eye(len(D), dtype=object).astype(int).astype(object) * size
    return positive(in_fractions(unit - D)) and positive(in_fractions(unit + D))


# ---- honest models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_honest_models_are_proven_as_lambdak_proves_them(kind, tmp_path):
    fitted(kind).save(tmp_path / "model")
    code, found = certificate(tmp_path / "model")
    ours = fitted(kind).certify(exact=True)
    assert (code, found["holds"], ours.holds) == (0, True, True)
    requested = [claim["kind"] for claim in found["claims"] if claim["requested"]]
    assert sorted(requested) == sorted(claim.kind for claim in ours.claims if claim.requested)
    assert all(claim["requested"] for claim in found["claims"][: len(requested)])
    proven = {(claim["kind"], claim["subject"]) for claim in found["claims"] if claim["verdict"] == "proven"}
    expected = {(claim.kind, claim.subject) for claim in ours.claims if claim.proven and claim.kind == "monotone"}
    assert {key for key in proven if key[0] == "monotone"} == expected
    bounds = {claim["subject"]: claim["value"] for claim in found["claims"] if claim["kind"] == "influence"}
    for claim in (claim for claim in ours.claims if claim.kind == "influence"):
        assert bounds[claim.subject] == pytest.approx(claim.value, rel=2e-5) or kind == "wide"


@pytest.mark.parametrize("name", BASES)
def test_what_is_tampered_with_is_proven_before(name):
    assert broken_promises(*base(name)) == (set(), set())
    assert exit_code(sealed(*base(name))) == 0


@pytest.mark.slow
def test_default_models_of_ten_columns_are_proven(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (2000, 10))
    y = np.sin(3 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + rows[:, 3] + rng.normal(0, 0.3, 2000)
    model = SpectralRegressor(monotonic_cst={3: 1}, max_influence={0: 1.5}, random_state=0).fit(rows, y)
    model.save(tmp_path / "model")
    code, found = certificate(tmp_path / "model")
    assert code == 0
    assert sum(claim["requested"] for claim in found["claims"]) == 2


def test_a_column_with_one_knot_never_falls_and_moves_nothing(tmp_path):
    rows = X.assign(income=1.0)
    model = SpectralRegressor(monotonic_cst={"income": 1}, **SMALL).fit(rows, Y)
    assert len(model.model_.encoder.columns[0].knots) == 1
    model.save(tmp_path / "model")
    code, found = certificate(tmp_path / "model")
    assert code == 0
    assert next(claim["value"] for claim in found["claims"] if claim["kind"] == "influence") < 1e-12


def test_many_cells_are_bounded_by_way_of_their_mean_if_that_is_within_the_cap(monkeypatch, tmp_path):
    fitted("capped").save(tmp_path / "model")
    model = module().Model((tmp_path / "model").read_bytes())
    column = model.columns[0]
    close, _, _ = model.reach(column, 0)
    monkeypatch.setattr(module(), "MOST_CELLS", 3)
    column.cap = close
    assert model.reach(column, 0)[0] == close  # because the cap needs the closer bound
    column.cap = np.inf
    relaxed, _, how = model.reach(column, 0)
    assert how == "by way of the mean of its many cells"
    assert close <= relaxed <= 2.5 * close


# ---- forged and tampered ones ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1e14, 1e18])
@pytest.mark.parametrize("format_", [1, 2])
def test_a_fall_that_hides_in_a_shift_is_refuted(tmp_path, c, format_):
    header, tensors = MONOTONE
    coef = tensors["coef"].astype(np.float64)
    diagonal, knots = [0, 2, 5], len(header["columns"][0]["knots"])
    coef[:, 1 : 1 + knots, diagonal] += c
    coef[:, 0, diagonal] -= c
    coef[:, knots, diagonal] -= 1e-13 * c
    header = of_format({**header, "dtype": "float64"}, format_)
    result = run(write(tmp_path / "model", header, {**tensors, "coef": coef}))
    assert result.returncode == 1
    assert "refuted, requested    the prediction never falls as x0 rises (it fails from " in result.stdout
    assert "\nNot all that was requested is proven.\n" in result.stdout


def test_honest_steps_prove_nothing_if_computing_is_too_inexact(tmp_path):
    header, tensors = MONOTONE
    coef = tensors["coef"].astype(np.float64)
    steps = 2.0**20 * np.arange(len(header["columns"][0]["knots"]))  # so that they are exact after the shift
    coef[:, 1 : 1 + len(steps)] = 0.0
    coef[:, 1 : 1 + len(steps), [0, 2, 5]] = (2.0**70 + steps)[:, None]
    coef[:, 0, [0, 2, 5]] = -(2.0**70)
    path = write(tmp_path / "model", {**header, "dtype": "float64"}, {**tensors, "coef": coef})
    code, found = certificate(path)
    assert (code, found["holds"]) == (1, False)
    assert {claim["verdict"] for claim in found["claims"]} == {"not proven"}
    requested = next(claim for claim in found["claims"] if claim["requested"])
    assert "all positive semidefinite; but computing a raw score can err by" in requested["how"]
    assert found["rounding"] > 1e-4 * sum(claim["value"] or 0.0 for claim in found["claims"]) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_on_computing_is_above_that_of_lambdak_and_said(kind, tmp_path):
    fitted(kind).save(tmp_path / "model")
    error = max(output.error for output in readouts(fitted(kind).model_))
    _, found = certificate(tmp_path / "model")
    assert error <= found["rounding"] <= 3 * error
    said = run(tmp_path / "model").stdout.splitlines()
    assert said[-2].startswith("These claims are about the exact function of the stored numbers")
    assert said[-1].startswith(f"differs from it by at most {found['rounding']}")
    assert max(map(len, said[1:])) <= 110


@pytest.mark.parametrize("fault", BROKEN)
def test_models_that_break_what_was_requested_are_refuted(tmp_path, fault):
    model, kind, subject = broken(fault)
    found = verdicts(as_file(tmp_path / "model", model).read_bytes())
    wrong = {key for key, verdict in found.items() if verdict != "proven"}
    assert {key[0] for key in wrong} == {kind}
    assert subject is None or {key[1] for key in wrong} == {subject}


@pytest.mark.parametrize("name", BASES)
def test_every_tampered_file_that_breaks_a_promise_is_refuted_and_no_other(name):
    seen = set()
    for seed in range(PER_BASE):
        header, tensors, words = tampered(name, seed)
        truth, found = broken_promises(header, tensors), verdicts(sealed(header, tensors))
        if truth is None:
            assert found is None, words
            continue
        wrong = {key for key, verdict in found.items() if verdict != "proven"}
        assert wrong - truth[1] == truth[0], words
        seen.add(bool(wrong))
    assert seen == {True, False}


def test_a_cap_is_proven_up_to_its_own_value_and_refuted_below(tmp_path):
    model = by_hand(np.zeros((2, 2)), [np.diag([1.0, -0.5])])  # the column moves an eigenvalue by 2 at most
    for cap, verdict in ((2.0 + 1e-9, "proven"), (2.0 - 1e-9, "refuted")):
        model._parameters = {**model._parameters, "max_influence": cap}
        found = verdicts(as_file(tmp_path / "model", model).read_bytes())
        assert found == {("influence", "x0"): verdict}


def test_a_cap_that_rounding_exceeds_is_not_proven(tmp_path):
    """The exact influence of x0 is 2, but scores of 1e20 and more are computed: they jump by more than a cap of 5."""
    model = by_hand(np.diag([1e20, -1e20]), [np.diag([1.0, -0.5]), np.diag([1e19, 1e19])])
    for cap, verdict in ((5.0, "not proven"), (1.0, "refuted"), (1e19, "proven")):
        model._parameters = {**model._parameters, "max_influence": {"x0": cap}}
        path = as_file(tmp_path / "model", model)
        assert verdicts(path.read_bytes()) == {("influence", "x0"): verdict}
        if verdict == "proven":
            lambdak.load(path)
        else:
            with pytest.raises(ModelFileError, match="'x0' is not proven"):
                lambdak.load(path)


@pytest.mark.parametrize("step", [1e-320, 5e-324])
@pytest.mark.parametrize("width", [1.0, 0.1])
def test_a_range_below_the_smallest_normal_float_is_no_excuse_for_rounding(tmp_path, step, width):
    """Rounding of 1e-15 matters next to a range of 1e-320, and to one that no float but zero is near."""
    model = by_hand(np.diag([1.0, -1.0]), [np.diag([step, 0.0])], low=-width, high=width)
    model._parameters = {**model._parameters, "monotonic_cst": {"x0": 1}}
    path = as_file(tmp_path / "model", model)
    assert verdicts(path.read_bytes()) == {("monotone", "x0"): "not proven"}
    if step * width:  # for load a range that is zero as a float is none: all rows have the same raw score
        with pytest.raises(ModelFileError, match="'x0' is not proven"):
            lambdak.load(path)


@pytest.mark.parametrize("cap", [1e-30, 1e-300])
def test_a_column_without_influence_keeps_any_cap(tmp_path, cap):
    model = SpectralRegressor(max_influence={"income": cap}, **SMALL).fit(X, Y)
    assert not model.model_.matrices[:, 1 : model.model_.encoder.columns[0].stop].any()
    model.save(tmp_path / "m")
    code, found = certificate(tmp_path / "m")
    assert code == 0
    (own,) = [each for each in found["claims"] if each["kind"] == "influence" and each["subject"] == "income"]
    assert (own["verdict"], own["value"]) == ("proven", 0.0)
