"""The three implementations of a loss agree, and one without the compiled part goes all the way, slower."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas
import pytest
from epoch_cases import epoch_arguments
from loss_cases import LOSSES, OF_TIMES, scores, targets

import lambdak
from lambdak.eigen import row_loss
from lambdak.eigen.engine import LossHead
from lambdak.eigen.packing import diagonal_indices
from lambdak.eigen.runtime import native
from lambdak.losses import REGISTRY, Loss

COMPILED = [loss for loss in LOSSES if loss.compiled is not None]
UNIT = 2.0**40  # the kernel sums gradients up in whole numbers of 1 / UNIT


def test_every_compiled_part_of_a_loss_is_compared():
    assert {type(loss) for loss in [*LOSSES, *OF_TIMES]} == set(REGISTRY)
    assert {loss.compiled[0] for loss in COMPILED} == {*row_loss._VALUES, "softmax"}
    assert row_loss._VALUES.keys() == row_loss._SLOPES.keys()


def of_reference(loss, raw, y):
    """Values and slopes of the reference in NumPy."""
    head, by_output = LossHead(1, 0, loss.n_outputs, [], 1.0, *loss.compiled), raw.reshape(1, len(y), -1).swapaxes(1, 2)
    slopes = row_loss.slopes(head, by_output, y[None])[0].T.reshape(raw.shape)
    return row_loss.values(head, by_output, y[None])[0], slopes


def of_kernel(kernel, loss, raw, y):
    """Values and slopes of the kernel: of models whose matrices are zero, so that the start is the raw score."""
    arguments = epoch_arguments(models=1, weighted=False, batches=1)
    design, head, basis, pace = (arguments[name] for name in ("design", "head", "basis", "pace"))
    theta, *_, coef, _ = arguments["state"]
    theta, coef = (np.zeros((loss.n_outputs, *part.shape[1:]), np.float32) for part in (theta, coef))
    basis = basis._replace(which=[basis.which[0]] * loss.n_outputs)
    pace = pace._replace(rates=[0.0], decays=[0.0] * loss.n_outputs)
    values, slopes = [], []
    for row, target in zip(raw.reshape(len(y), -1), y, strict=True):
        state = (theta.copy(), np.zeros_like(theta), np.zeros_like(theta), coef.copy(), None)
        own = head._replace(pencils=loss.n_outputs, start=row.tolist(), scale=1.0, loss=loss.compiled[0])
        own = own._replace(numbers=loss.compiled[1])
        sums = np.zeros(coef.size + 1, np.int64)
        shard = (design[0], design[1], np.zeros((1, 1), np.int32)), (np.full(len(design[0]), float(target)), None, None)
        (value, _), *_ = kernel.shared_epoch([shard], own, state, basis, pace, ([1], sums, lambda: None), 1)
        values.append(value)
        gradient = sums[:-1].reshape(coef.shape) / UNIT
        slopes.append(gradient[:, 0, diagonal_indices(own.dim)].sum(axis=-1))  # of the constant: slope · v vᵀ
    return np.array(values), np.array(slopes).reshape(raw.shape)


@pytest.mark.parametrize("loss", COMPILED, ids=repr)
def test_values_and_slopes_of_the_three_implementations_are_the_same(loss):
    raw, y = scores(loss, len(targets(loss))), targets(loss).astype(float)
    values, slopes = loss.of_rows(raw, y), len(y) * loss.gradient(raw, y)
    others = [of_reference(loss, raw, y)]
    if native() is not None:
        others.append(of_kernel(native(), loss, raw, y))
    for other, tolerance in zip(others, (1e-12, 1e-6), strict=False):
        np.testing.assert_allclose(other[0], values, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(other[1], slopes, rtol=tolerance, atol=tolerance)


@dataclass(frozen=True)
class LogCosh(Loss):
    """log cosh(r − y), a loss that has no compiled part."""

    name: ClassVar[str] = "log_cosh"

    def _loss(self, raw, y):
        return np.logaddexp(raw - y, y - raw) - raw.dtype.type(np.log(2))

    def _slope(self, raw, y):
        return np.tanh(raw - y)

    def _start(self, y, weight, offset):
        return np.average(y - offset, weights=weight)


def test_a_new_loss_is_one_class_and_one_line_and_says_that_it_is_slow(monkeypatch, tmp_path):
    monkeypatch.setattr("lambdak.losses.registry.REGISTRY", (*REGISTRY, LogCosh))
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.uniform(0, 1, 200), "b": rng.uniform(0, 1, 200)})
    y = 2 * X["a"] + 0.1 * rng.standard_normal(200)
    model = lambdak.SpectralRegressor("log_cosh", effort="fast", max_iter=20, monotonic_cst={"a": 1}, random_state=0)
    with pytest.warns(UserWarning, match="loss='log_cosh' is not compiled: every step of training runs in Python"):
        model.fit(X, y)
    assert model.score(X, y) > 0.5
    promised = [claim for claim in model.certify().claims if claim.requested]
    assert promised
    assert all(claim.proven for claim in promised)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(lambdak.load(tmp_path / "model.safetensors").predict(X), model.predict(X))
    assert "RMSE" in model.report(tmp_path / "report.html", X, y, n_resamples=2).read_text()


def test_losses_of_the_library_are_fitted_without_a_notice():
    X = np.linspace(0, 1, 60)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lambdak.SpectralQuantileRegressor((0.2, 0.8), effort="fast", max_iter=1, random_state=0).fit(X, X[:, 0])
