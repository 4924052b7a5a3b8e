"""``lambdak certify``: the certificate, the search for counterexamples, the exit code."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import done, run

import lambdak
from lambdak.cli import certify


def test_certify_prints_proves_and_writes(shelf, tmp_path):
    path, out = shelf / "quantiles.safetensors", tmp_path / "c.json"
    args = ["certify", "--model", path, "--within", "income=1.5,town=any", "--verify", shelf / "rows.csv"]
    args += ["--pairs", "500", "--out", out]
    printed = done(args).stdout
    assert "a higher quantile is never below a lower one" in printed
    assert "0 violations" in printed
    answer = json.loads(done([*args, "--json"]).stdout)
    assert answer == json.loads(out.read_text())
    model = lambdak.load(path)
    assert answer["claims"] == model.certify({"income": 1.5, "town": "any"}).to_dict()["claims"]
    assert answer["verification"]["violations"] == 0
    assert "response" in {each["kind"] for each in answer["verification"]["checks"]}


def test_the_model_file_may_come_first_or_by_its_option(shelf):
    path = shelf / "y.safetensors"
    printed = done(["certify", "--model", path]).stdout
    assert done(["certify", path]).stdout == printed
    assert done(["certify", path, "--model", path]).stdout == printed
    result = run(["certify", path, "--model", shelf / "quantiles.safetensors"])
    assert result.exit_code == 2
    assert "give the model file once; got" in " ".join(result.stderr.split())
    result = run(["certify", shelf / "absent.safetensors"])
    assert "there is no model file" in " ".join(result.stderr.split())


def test_certify_exits_with_1_if_a_requested_guarantee_is_not_proven(shelf, monkeypatch):
    monkeypatch.setattr("lambdak.certify.proofs.Certificate.holds", False)
    result = run(["certify", "--model", shelf / "y.safetensors", "--json"])
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["holds"]
    assert "a requested guarantee is not proven" in result.stderr


def test_certify_exits_with_0_if_columns_of_many_cells_are_capped(tmp_path):
    rng = np.random.default_rng(0)
    code, x = rng.integers(0, 150, 3000), rng.standard_normal(3000)
    table = pd.DataFrame({"code": code.astype(str), "x": x})
    model = lambdak.SpectralRegressor(
        effort="fast", max_iter=1, n_knots=140, max_influence={"code": 0.3, "x": 0.3}, random_state=0
    ).fit(table, rng.standard_normal(150)[code] + np.sin(5 * x))
    model.save(tmp_path / "capped.safetensors")
    answer = json.loads(done(["certify", "--model", tmp_path / "capped.safetensors", "--json"]).stdout)
    assert answer["holds"]


def test_the_independent_checker_is_heard_too(shelf, tmp_path):
    path, out = shelf / "quantiles.safetensors", tmp_path / "c.json"
    printed = done(["certify", "--model", path, "--independent", "--out", out]).stdout
    assert "SpectralQuantileRegressor: 1 of 1 requested guarantees is proven" in printed
    heard = printed[printed.index("The independent checker:") :]
    assert "proven, requested     a higher quantile is never below a lower one" in heard
    assert "All that was requested is proven." in heard
    answer = json.loads(done(["certify", "--model", path, "--independent", "--json"]).stdout)
    assert answer == json.loads(out.read_text())
    assert answer["independent"]["holds"]
    assert {claim["verdict"] for claim in answer["independent"]["claims"] if claim["requested"]} == {"proven"}


@pytest.mark.parametrize("code", [1, 2])
def test_certify_exits_with_1_if_only_the_independent_checker_does_not_prove_it(shelf, tmp_path, monkeypatch, code):
    said = "print('{\"holds\": false}')" if code == 1 else "print('cannot check it', file=sys.stderr)"
    (tmp_path / "checker.py").write_text(f"import sys\n{said}\nsys.exit({code})\n")
    monkeypatch.setattr(certify, "CHECKER", tmp_path / "checker.py")
    result = run(["certify", "--model", shelf / "y.safetensors", "--independent"])
    assert result.exit_code == 1
    assert "the independent checker does not prove what was requested" in result.stderr
    assert ("cannot check it" if code == 2 else '{"holds": false}') in result.stdout
    answer = json.loads(run(["certify", "--model", shelf / "y.safetensors", "--independent", "--json"]).stdout)
    assert answer["independent"] == {"holds": False} | ({"error": "cannot check it"} if code == 2 else {})
    assert answer["holds"]


def test_exact_proofs_are_said_to_be_exact(shelf):
    answer = json.loads(done(["certify", "--model", shelf / "y.safetensors", "--exact", "--json"]).stdout)
    assert answer["exact"]
    assert answer["holds"]
    printed = done(["certify", "--model", shelf / "y.safetensors", "--exact", "--details"]).stdout
    assert "SpectralRegressor: what is guaranteed" in printed
    assert "decided in integers" in printed
