"""Models of times in files: the same curves again, proven by the independent checker, and damage is refused."""

import json
import subprocess
import sys

import numpy as np
import pytest
from survival_cases import fitted_survival, simulated

import lambdak
from lambdak import from_json, load
from lambdak.certify import lambdak_check
from lambdak.store import ModelFileError

X = simulated(20, 1)[0]


def test_files_and_text_hold_the_same_curves(tmp_path):
    model, times = fitted_survival(), [0.1, 0.5, 2.0]
    model.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), from_json(model.to_json())):
        np.testing.assert_array_equal(
            again.predict_survival_function(X, times), model.predict_survival_function(X, times)
        )
        np.testing.assert_array_equal(again.predict_quantile(X), model.predict_quantile(X))


def test_the_certificate_says_that_survival_never_rises():
    claims = {claim.kind: claim for claim in fitted_survival().certify().claims if claim.requested}
    assert claims["survival"].proven
    assert claims["survival"].statement == "survival never rises with time, whatever the row"
    assert "at any time" in claims["monotone"].statement
    found = fitted_survival().verify(X, n=50)
    assert not sum(check.violations for check in found.checks)


def test_a_step_down_in_time_is_refuted(tmp_path):
    """The largest matrix of time before the others: neither proof calls survival ordered, and no file holds it."""
    model = fitted_survival()
    coef = model.model_.coef.copy()
    first = model.model_.encoder.n_design
    coef[:, first:] = coef[:, first:][:, ::-1]
    wrong = model.model_.replace(coef=coef)
    (claim,) = [claim for claim in lambdak.certify.certify(wrong).claims if claim.kind == "survival"]
    assert not claim.proven
    with pytest.raises(ModelFileError, match="no one could load it"):
        lambdak.store.save_model(model._saved()._replace(model=wrong), tmp_path / "wrong")


def test_the_independent_checker_agrees(tmp_path):
    fitted_survival().save(tmp_path / "model")
    run = subprocess.run(
        [sys.executable, lambdak_check.__file__, tmp_path / "model", "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    claims = json.loads(run.stdout)["claims"]
    (survival,) = [claim for claim in claims if claim["kind"] == "survival"]
    assert survival["verdict"] == "proven"
    assert survival["statement"] == "survival never rises with time"


@pytest.mark.parametrize(
    ("field", "value"), [("link_name", "probit"), ("event_times", [2.0, 1.0]), ("tail", -1.0), ("event_times", "x")]
)
def test_damaged_losses_are_refused(field, value):
    text = json.loads(fitted_survival().to_json())
    holder = (
        text if "loss" in text else next(part for part in text.values() if isinstance(part, dict) and "loss" in part)
    )
    holder["loss"][field] = value
    with pytest.raises(ModelFileError):
        from_json(json.dumps(text))
