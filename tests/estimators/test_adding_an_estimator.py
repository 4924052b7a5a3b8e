"""The row "an estimator" of ARCHITECTURE: one class, its public name, and what a file says it predicts.

Tests ``methods``.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import lambdak
from lambdak import estimators
from lambdak.losses import Predicts
from lambdak.store import _losses

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = X[:, 0] + np.abs(X[:, 1])


class ToyMedianRegressor(estimators.SpectralRegressor):
    """A regressor of the median, with fewer parameters."""

    def __init__(self, *, dim=None, effort="fast", max_iter=None, monotonic_cst=None, random_state=None):
        super().__init__(
            "absolute_error", dim=dim, effort=effort, max_iter=max_iter, monotonic_cst=monotonic_cst,
            random_state=random_state,
        )  # fmt: skip


@pytest.fixture
def toy(monkeypatch):
    """A fitted toy that is registered in the places which ARCHITECTURE names."""
    monkeypatch.setattr(estimators, "ToyMedianRegressor", ToyMedianRegressor, raising=False)
    monkeypatch.setitem(_losses.ESTIMATORS, "ToyMedianRegressor", Predicts.NUMBERS)
    return ToyMedianRegressor(monotonic_cst=[1, 0], max_iter=2, dim=2, random_state=0).fit(X, Y)


def test_a_new_estimator_is_saved_loaded_proven_explained_exported_and_reported(toy, tmp_path):
    toy.save(tmp_path / "toy.safetensors")
    for again in (lambdak.load(tmp_path / "toy.safetensors"), lambdak.from_json(toy.to_json())):
        assert type(again) is ToyMedianRegressor
        assert np.array_equal(again.predict(X), toy.predict(X))
    assert toy.model_.loss.name == "absolute_error"
    assert [claim.proven for claim in toy.certify().claims if claim.requested] == [True]
    assert np.allclose(toy.explain_local(X).prediction, toy.predict(X))
    toy.export(tmp_path / "toy.c")
    assert "ToyMedianRegressor" in toy.report(tmp_path / "toy.html", X, Y).read_text()


def test_a_file_of_an_estimator_without_a_line_in_the_store_is_refused(toy, tmp_path, monkeypatch):
    toy.save(tmp_path / "toy.safetensors")
    monkeypatch.delitem(_losses.ESTIMATORS, "ToyMedianRegressor")
    with pytest.raises(ValueError, match="estimator must be one of"):
        lambdak.load(tmp_path / "toy.safetensors")


def test_the_row_names_the_places_that_the_toy_is_registered_in():
    (row,) = re.findall(
        r"^\| an estimator \|.*$", (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(), re.MULTILINE
    )
    for place in ("estimators/__init__.py", "lambdak/__init__.py", "store/_losses.py", "cli/task.py"):
        assert place in row
