"""A column of thousands of knots or levels takes memory for its matrices, not for every pair of them."""

from __future__ import annotations

import tracemalloc
from copy import deepcopy

import numpy as np
import pytest
from hostile_cases import MONOTONE

from lambdak.model.influence import per_unit
from lambdak.model.promises import Promises
from lambdak.model.readout import readouts
from lambdak.store._header import Blueprint
from lambdak.table.category_column import Category
from lambdak.table.curve_column import Curve
from lambdak.table.encoder import TableEncoder
from lambdak.training.coordinates import Moments
from lambdak.training.draft import Draft
from lambdak.training.session import planned
from lambdak.training.trained_columns import TrainedColumns

KNOTS = 2000
SQUARE = 8 * KNOTS**2  # bytes of a matrix that has a number for every pair of knots


@pytest.fixture
def parts():
    """A file of one column with many knots, whose steps rise and bend upwards."""
    header = deepcopy(MONOTONE[0])
    knots = [float(j) for j in range(KNOTS)]
    header["columns"] = [{"kind": "curve", "name": "x0", "knots": knots, "median": 0.5, "missing": False}]
    header["encoder"]["from_names"] = False
    header |= {"dim": 1, "indices": [0], "members": 1, "dtype": "float64", "parameters": {}, "sha256": ""}
    coef = np.concatenate([[0.0], np.arange(KNOTS, dtype=float) ** 2])[None, :, None]
    return header, {"coef": coef, "start": np.zeros(1), "weights": np.ones(1)}


def peak(call):
    """Bytes that Python and NumPy have at most during a call, after one that filled all caches."""
    call()
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("requested", [{}, {"monotonic_cst": [1]}, {"shape": "convex"}], ids=lambda own: "".join(own))
def test_proving_a_column_of_many_knots_takes_no_matrix_of_all_their_pairs(parts, requested):
    header, tensors = parts
    header["parameters"] = requested
    header["encoder"]["clamp"] = "shape" not in requested
    blueprint = Blueprint.read(header, None)
    assert peak(lambda: blueprint.build(tensors)) < SQUARE / 4


def test_the_bound_per_unit_takes_no_matrix_of_all_pairs_of_knots(parts):
    (readout,) = readouts(Blueprint.read(parts[0], None).build(parts[1]).model)
    assert peak(lambda: per_unit(readout, 0)) < SQUARE / 4
    assert per_unit(readout, 0).bound == pytest.approx(readout.scale * ((KNOTS - 1) ** 2 - (KNOTS - 2) ** 2))


@pytest.mark.parametrize(
    ("column", "sign", "shape"),
    [
        (Curve("x0", 1, knots=np.arange(float(KNOTS))), 0, None),
        (Curve("x0", 1, knots=np.arange(float(KNOTS))), 1, None),
        (Curve("x0", 1, knots=np.arange(float(KNOTS)), clamp=False), 0, "convex"),
        (Category("x0", 1, levels=tuple(range(KNOTS))), 0, None),
    ],
    ids=["curve", "monotone", "convex", "levels"],
)
def test_the_sizes_of_a_training_state_are_counted_without_the_coordinates_themselves(parts, column, sign, shape):
    model = Blueprint.read(parts[0], None).build(parts[1]).model
    encoder = TableEncoder("auto", None, clamp=shape is None, columns=(column,))
    promises = Promises.requested([column], {0: sign}, None, shape)
    own = model.replace(encoder=encoder, promises=promises, coef=np.zeros((1, 1 + column.width, 8)))
    moments = Moments(np.zeros(1 + column.width), np.ones(1 + column.width))
    draft = Draft.of(own, TrainedColumns.of(encoder.columns))
    assert peak(lambda: planned(draft, moments).sizes) < SQUARE / 4
