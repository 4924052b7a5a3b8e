"""Proven bounds on slopes, against dense matrices of every choice of pieces."""

from __future__ import annotations

import numpy as np
import pytest
from shape_cases import shaped

from lambdak import shapes as s
from lambdak.eigen.packing import sym
from lambdak.model import slopes
from lambdak.model.readout import readouts
from lambdak.model.slopes import steepest_slope


def test_the_proven_slope_is_that_of_dense_matrices_over_every_choice_of_pieces():
    model, _ = shaped([s.MaxSlope({"age": 2, "income": -1, "dose": 0.5}, 0.3)])
    (output,) = readouts(model.model_)
    pieces = []
    for i, weight in ((0, 2.0), (1, -1.0), (2, 0.5)):
        knots, own = output.columns[i].knots, output.column(i)[:, : len(output.columns[i].knots)]
        steps = weight * np.diff(own, axis=1) / np.diff(knots)[:, None]
        pieces.append(np.concatenate([steps, np.zeros_like(steps[:, :1])], axis=1))
    total = pieces[0][:, :, None, None] + pieces[1][:, None, :, None] + pieces[2][:, None, None, :]
    norms = np.abs(np.linalg.eigvalsh(sym(total))).max(axis=-1)
    wanted = output.scale * np.tensordot(output.weights, norms, 1).max()
    assert steepest_slope(output, ((0, 2.0), (1, -1.0), (2, 0.5))).bound == pytest.approx(wanted, rel=1e-9)
    (claim,) = [own for own in model.certify().claims if own.kind == "slope"]
    assert claim.value >= wanted * (1 - 1e-14)


def test_with_too_many_choices_the_bound_is_the_sum_of_the_columns_slopes(monkeypatch):
    model, _ = shaped([s.MaxSlope({"age": 2, "income": -1}, 0.3)])
    (output,) = readouts(model.model_)
    exact = steepest_slope(output, ((0, 2.0), (1, -1.0))).bound
    monkeypatch.setattr(slopes, "MOST_CHOICES", 1)
    total = 2 * steepest_slope(output, ((0, 1.0),)).bound + steepest_slope(output, ((1, 1.0),)).bound
    assert exact <= steepest_slope(output, ((0, 2.0), (1, -1.0))).bound == pytest.approx(total, rel=1e-12)
