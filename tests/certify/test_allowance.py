"""What integers may do is bounded for a model as a whole, by bits: what is beyond is not proven, and says so.

Tests ``claim``.
"""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction

import numpy as np
import pytest
from hostile_cases import MONOTONE, sealed

import lambdak
from lambdak.certify import allowance, certify, promised
from lambdak.certify.claim import TOO_LONG
from lambdak.pencil.exact import Work, all_of, combination_is_psd, elimination_work, is_psd
from lambdak.pencil.statements import Statements, rises
from lambdak.shapes import Rising
from lambdak.store import ModelFileError
from lambdak.store._header import Blueprint


def graded(dim, spread, rng):
    """A packed matrix L Lᵀ whose rows spread over so many powers of two: definite, but not in the eyes of a float."""
    factor = np.tril(rng.integers(1, 9, (dim, dim))).astype(float) + 9 * np.eye(dim)
    scales = np.ldexp(1.0, -np.sort(rng.integers(0, spread // 2, dim)))
    full = (factor @ factor.T) * scales[:, None] * scales
    rows, columns = np.tril_indices(dim)
    return np.where(rows == columns, 1.0, np.sqrt(2)) * full[rows, columns]


def steps_of(packed):
    """A file whose monotone columns have one step each."""
    header, count, width = deepcopy(MONOTONE[0]), len(packed), len(packed[0])
    dim = int((np.sqrt(8 * width + 1) - 1) / 2)
    column = {"kind": "curve", "knots": [0.0, 1.0], "median": 0.5, "missing": False}
    header["columns"] = [{**column, "name": f"x{i}"} for i in range(count)]
    header["encoder"]["from_names"] = False
    header["parameters"] = {"monotonic_cst": [1] * count}
    header |= {"dim": dim, "indices": [0], "members": 1, "dtype": "float64"}
    coef = np.zeros((1, 1 + 2 * count, width))
    coef[0, 2::2] = packed
    return header, {"coef": coef, "start": np.zeros(1), "weights": np.ones(1)}


def refused(tmp_path, parts):
    path = tmp_path / "model.safetensors"
    path.write_bytes(sealed(*parts))
    with pytest.raises(ModelFileError, match=r"'x\d+' is not proven.*to decide it in integers would take too long"):
        lambdak.load(path)


@pytest.mark.parametrize("dim", [50, 60, 100])
def test_a_step_of_widely_spread_exponents_is_not_proven_on_load(dim, tmp_path):
    refused(tmp_path, steps_of([graded(dim, 480, np.random.default_rng(0))]))


def test_columns_that_are_little_work_alone_are_too_much_together(tmp_path):
    rng = np.random.default_rng(1)
    many = [graded(24, 300, rng) for _ in range(30)]
    path = tmp_path / "one.safetensors"
    path.write_bytes(sealed(*steps_of(many[:1])))
    assert lambdak.load(path).certify().holds
    refused(tmp_path, steps_of(many))


def test_an_exact_certificate_says_what_it_did_not_decide(monkeypatch):
    monkeypatch.setattr(allowance, "_EXACT", 1e4)
    header, tensors = steps_of([graded(16, 400, np.random.default_rng(2))])
    header["parameters"] = {}
    header["sha256"] = ""
    model = Blueprint.read(header, None).build(tensors).model
    asked = model.replace(promises=type(model.promises)(1, (Rising(0),)))
    found = certify(asked, exact=True)
    assert not found.holds
    (claim,) = [each for each in found.claims if each.kind == "monotone"]
    assert claim.how.endswith(TOO_LONG)
    assert not claim.proven


def test_promises_have_the_same_allowance_on_load_as_in_a_certificate():
    """What is not requested takes nothing of it, so that both say the same of promises."""
    rng = np.random.default_rng(3)
    header, tensors = steps_of([graded(24, 300, rng) for _ in range(12)])
    header["parameters"] = {}
    header["sha256"] = ""
    model = Blueprint.read(header, None).build(tensors).model
    asked = model.replace(promises=type(model.promises)(12, (Rising(11),)))
    (alone,) = promised(asked)
    assert alone.proven
    assert [each.proven for each in certify(asked).claims if each.requested] == [True]


def test_work_is_refused_before_it_begins_and_leaves_the_rest_to_others():
    work, large, small = Work(1e4), 3**900, 3**5
    singular = [[large], [large, large]]
    assert elimination_work(40, large.bit_length()) > 1e4
    assert is_psd([[large] * (i + 1) for i in range(40)], work) is None
    assert is_psd(singular, work) is True
    assert is_psd([[small], [small, small]], work) is True
    assert is_psd([[0], [0, 0]], Work(0)) is True


def test_building_many_small_matrices_is_work_too():
    rows = np.ones((1, 2, 3)) * np.array([1.0, 0.0, 1.0])
    statements = Statements(rows, rises(np.array([[-1.0, 1.0]]), 1) * 50)
    assert statements.all_true(Work(1e6), exact=True) is True
    assert statements.all_true(Work(1e3), exact=True) is None
    assert combination_is_psd([(Fraction(1), rows[0, 0])], work=Work(0)) is None


def test_a_verdict_that_is_missing_is_neither_true_nor_false():
    assert all_of([]) is True
    assert all_of([True, None, False]) is None
    assert all_of([True, False, None]) is False
