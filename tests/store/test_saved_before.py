"""Files that an earlier version saved: they load, and say what they said then."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lambdak

FOLDER = Path(__file__).parent / "saved_before"
SAID = json.loads((FOLDER / "said.json").read_text())


def rows():
    table = pd.DataFrame(SAID["rows"])
    return table.assign(age=table["age"].astype(float), region=table["region"].astype(object))


def numbers(listed):
    return [float.fromhex(each) for each in listed]


@pytest.mark.parametrize("kind", SAID["said"])
def test_a_file_saved_before_predicts_what_it_did(kind):
    then = SAID["said"][kind]
    model = lambdak.load(FOLDER / f"{kind}.safetensors")
    assert type(model).__name__ == then["estimator"]
    # Another instruction set may round differently: to the last bit they agree on the machine that wrote them.
    np.testing.assert_allclose(np.ravel(model.model_.raw(rows())), numbers(then["raw"]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.feature_strengths_, numbers(then["strengths"]), rtol=1e-10)
    assert model.certify().holds
    model.explain_local(rows()).to_frame()


@pytest.mark.parametrize("kind", SAID["said"])
def test_saving_it_again_makes_a_file_of_today_with_the_same_model(kind, tmp_path):
    model = lambdak.load(FOLDER / f"{kind}.safetensors")
    model.save(tmp_path / "again")
    again = lambdak.load(tmp_path / "again")
    assert again.to_json() == model.to_json()
    np.testing.assert_array_equal(again.model_.raw(rows()), model.model_.raw(rows()))
    assert again.certify(exact=True).holds
