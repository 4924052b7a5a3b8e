"""The text of a model is strict JSON, and is checked as strictly as a file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fitted_models import changed
from hostile_cases import SMALL, X, Y
from saved_cases import LAW, NUMBERS, QUICK

import lambdak
from lambdak import SpectralRegressor
from lambdak.store import ModelFileError


def test_text_is_strict_json_with_one_line_per_design_column():
    model = SpectralRegressor(**QUICK, max_influence=[np.inf, 1.0]).fit(NUMBERS, LAW)
    lines = model.to_json().splitlines()
    found = json.loads("\n".join(lines), parse_constant=pytest.fail)
    assert list(found) == sorted(found)
    for row in model.model_.coef[0, :, :10]:
        assert any(line.strip().rstrip(",") == json.dumps(row.tolist()) for line in lines)
    coef = model.model_.coef.copy()
    coef[0, 2, 0] += 1
    nudged = changed(model, coef=coef)
    differ = [a for a, b in zip(lines, nudged.to_json().splitlines(), strict=True) if a != b]
    assert len(differ) == 2  # the checksum and the one design column


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"format": 8', '"format": 9', "format 9, .* upgrade lambdak"),
        ('"tensors": {', '"tensors": {"a": [],', "tensors has an unknown field 'a'"),
        ('"weights": [0.5', '"weights": ["0.5"', "tensor 'weights' must be finite numbers"),
        ('"weights": [0.5', '"weights": [NaN', "holds NaN, which JSON does not know"),
        ('"weights": [0.5', '"weights": [1e999', "tensor 'weights' must be finite numbers"),
        ('"weights": [0.5', '"weights": [0.5, 0.5', "tensor 'weights' must have 2 to 2 items"),
        ('"weights": [0.5', '"weights": [0.25', "its checksum does not fit"),
        ('"red"', '"rot"', "its checksum does not fit"),
        ("{", "[", "the text is not JSON"),
    ],
)
def test_texts_are_checked_as_strictly(old, new, match):
    text = SpectralRegressor(**SMALL).fit(X, Y).to_json()
    assert old in text
    with pytest.raises(ModelFileError, match=f"cannot read a model from this text: .*{match}"):
        lambdak.from_json(text.replace(old, new, 1))
    for nothing in ("", "[]", "null", "[" * 10**5):
        with pytest.raises(ModelFileError, match="cannot read a model from this text"):
            lambdak.from_json(nothing)
