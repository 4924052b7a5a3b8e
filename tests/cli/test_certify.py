"""``lambdak certify``: the certificate, the search for counterexamples, the exit code."""

from __future__ import annotations

import json

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


def test_certify_exits_with_1_if_a_requested_guarantee_is_not_proven(shelf, monkeypatch):
    monkeypatch.setattr("lambdak.certify.proofs.Certificate.holds", False)
    result = run(["certify", "--model", shelf / "y.safetensors", "--json"])
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["holds"]
    assert "a requested guarantee is not proven" in result.stderr


def test_the_independent_checker_is_heard_too(shelf, tmp_path):
    path, out = shelf / "quantiles.safetensors", tmp_path / "c.json"
    printed = done(["certify", "--model", path, "--independent", "--out", out]).stdout
    assert "SpectralQuantileRegressor: what is guaranteed" in printed
    heard = printed[printed.index("The independent checker:") :]
    assert "proven, requested     a higher quantile is never below a lower one" in heard
    assert heard.rstrip().endswith("All that was requested is proven.")
    answer = json.loads(done(["certify", "--model", path, "--independent", "--json"]).stdout)
    assert answer == json.loads(out.read_text())
    assert answer["independent"]["holds"]
    assert {claim["verdict"] for claim in answer["independent"]["claims"] if claim["requested"]} == {"proven"}


@pytest.mark.parametrize("code", [1, 2])
def test_certify_exits_with_1_if_only_the_independent_checker_does_not_prove_it(shelf, tmp_path, monkeypatch, code):
    said = "print('{\"holds\": false}')" if code == 1 else "print('cannot check it', file=sys.stderr)"
    (tmp_path / "checker.py").write_text(f"import sys\n{said}\nsys.exit({code})\n")
    monkeypatch.setattr(certify, "_CHECKER", tmp_path / "checker.py")
    result = run(["certify", "--model", shelf / "y.safetensors", "--independent"])
    assert result.exit_code == 1
    assert "the independent checker does not prove what was requested" in result.stderr
    assert ("cannot check it" if code == 2 else '{"holds": false}') in result.stdout
    answer = json.loads(run(["certify", "--model", shelf / "y.safetensors", "--independent", "--json"]).stdout)
    assert answer["independent"] == {"holds": False} | ({"error": "cannot check it"} if code == 2 else {})
    assert answer["holds"]
