"""The claim that columns do not interact: proven from the matrices as they are, attacked, and refuted where forged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from claim_cases import claim
from interaction_cases import FEW, SETTINGS, X, fitted

import lambdak
from lambdak import SpectralRegressor
from lambdak.certify import certify, lambdak_check, verify
from lambdak.certify.counterexamples import run
from lambdak.certify.interactions import Apart
from lambdak.certify.search import Search
from lambdak.shapes.interactions import Interactions
from lambdak.store import ModelFileError


def forged(kind, how="groups", size=1.0, place=1):
    """A model that promises what one entry off the diagonal breaks: of a column that its member must not read."""
    model = fitted(kind, how).model_
    coef = np.array(model.coef)
    for pencil in range(len(coef)):
        for column in model.encoder.columns:
            own = coef[pencil, column.start : column.stop]
            if not own[:, 1].any():
                own[-1, place] += size
    return model.replace(coef=coef)


@pytest.mark.parametrize("how", SETTINGS)
def test_what_was_requested_is_proven(how):
    found = claim(fitted("regressor", how).certify(), "interactions", "all columns")
    assert found.proven
    assert found.requested


@pytest.mark.parametrize("kind", ["regressor", "three classes", "quantiles", "ordered classes"])
@pytest.mark.parametrize("size", [1.0, 5e-324])
def test_a_single_entry_off_the_diagonal_refutes_it(kind, size):
    certificate = certify(forged(kind, size=size))
    assert not claim(certificate, "interactions", "all columns").proven
    assert not certificate.holds


def test_a_diagonal_that_differs_in_the_last_bit_refutes_it():
    model = fitted("regressor").model_
    column = model.encoder.columns[3]  # gaps, a multiple of I in the first member
    coef = np.array(model.coef)
    assert coef[0, column.start + 1, 0] != 0
    coef[0, column.start + 1, 0] = np.nextafter(coef[0, column.start + 1, 0], np.inf)
    found = claim(certify(model.replace(coef=coef)), "interactions", "all columns")
    assert not found.proven
    assert "a, b, gaps are not multiples of I" in found.how


def test_a_forged_model_is_not_saved_and_a_forged_file_is_not_loaded(tmp_path):
    model = fitted("regressor")
    other = model.__copy__()
    other.model_ = forged("regressor")
    with pytest.raises(ModelFileError, match=r"'all columns' is not proven: columns interact only within \[a, b\]"):
        other.save(tmp_path / "model")
    other.model_, other._parameters = model.model_, {**model._parameters, "interaction_cst": [["a"], ["b", "kind"]]}
    with pytest.raises(ModelFileError, match=r"promise something else|is not proven"):
        other.save(tmp_path / "model")


@pytest.mark.parametrize(("kind", "how"), [("regressor", "groups"), ("two classes", "pairs"), ("quantiles", "groups")])
def test_the_attack_breaks_a_model_that_interacts_and_no_honest_one(kind, how):
    honest = fitted(kind, how).model_
    assert verify(honest, X, n=200).violations == 0
    promise = claim(certify(honest), "interactions", "all columns")
    attack = Apart(Search.around(forged(kind, how), X, n=200), promise)
    assert run(attack).violations > 0


def test_the_attack_has_nothing_to_try_where_all_that_is_forbidden_is_constant():
    model = fitted("regressor").model_
    promise = claim(certify(model), "interactions", "all columns")
    search = Search.around(model.replace(promises=_allowing_pairs_of_two(model)), X, n=10)
    assert Apart(search, promise).hopeless


def _allowing_pairs_of_two(model):
    return replace(model.promises, shapes=(Interactions((tuple(range(5)),)),))


# ---- the independent checker -----------------------------------------------------------------------------------------


def checked(path):
    done = subprocess.run([sys.executable, lambdak_check.__file__, str(path), "--json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("how", ["groups", "no interactions", "pairs"])
def test_the_independent_checker_proves_it(how, tmp_path):
    fitted("regressor", how).save(tmp_path / "model")
    code, found = checked(tmp_path / "model")
    assert code == 0
    (own,) = [each for each in found["claims"] if each["kind"] == "interactions"]
    assert (own["verdict"], own["requested"]) == ("proven", True)


@pytest.mark.parametrize("kind", ["regressor", "three classes"])
def test_the_independent_checker_does_not_prove_it_of_a_forged_file(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("lambdak.store._header.check_promises", lambda model: None)
    other = fitted(kind).__copy__()
    other.model_ = forged(kind)
    other.save(tmp_path / "model")
    code, found = checked(tmp_path / "model")
    assert code == 1
    (own,) = [each for each in found["claims"] if each["kind"] == "interactions"]
    assert own["verdict"] == "not proven"
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="is not proven"):
        lambdak.load(tmp_path / "model")


def test_a_name_that_looks_like_groups_is_quoted():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    frame = pd.DataFrame(rows, columns=["a], [b", "c", "d"])
    model = SpectralRegressor(interaction_cst=[[0, 1]], dim=2, **FEW).fit(frame, rows[:, 0])
    statement = claim(model.certify(), "interactions", "all columns").statement
    assert "only within ['a], [b', c], [d];" in statement


def test_the_report_lists_the_claim(tmp_path):
    fitted("regressor").report(tmp_path / "report.html", X)
    assert "Columns interact only within" in Path(tmp_path / "report.html").read_text()
