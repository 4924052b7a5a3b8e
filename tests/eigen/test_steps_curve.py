"""The kernel fills the entries of curves that NumPy finds, and refuses arrays that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import DTYPES, read_only

from lambdak.eigen.runtime import native
from lambdak.table import curve_column as curve
from lambdak.table.curve_column import Curve
from lambdak.table.encoder import TableEncoder

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("knots", [[0.0, 1.0], [-1.0, 0.0, 0.5], list(np.arange(17.0) ** 2)])
def test_curve_fills_the_entries_that_numpy_finds(knots, clamp, monkeypatch):
    rng = np.random.default_rng(0)
    knots = np.array(knots)
    x = np.concatenate([knots, rng.uniform(knots[0] - 3, knots[-1] + 3, 200), [-np.inf, np.inf] if clamp else []])
    column = Curve("x", 5, knots=knots, clamp=clamp)
    for dtype in DTYPES:
        results = []
        for kernel_of in (lambda: kernel, lambda: None):
            monkeypatch.setattr(curve, "native", kernel_of)
            ids, weights = np.zeros((len(x), 4), np.int32), np.zeros((len(x), 4), dtype)
            column._write_numbers_(x, ids[:, 1:3], weights[:, 1:3], 1)
            results.append((ids, weights))
        for got, wanted in zip(*results, strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("clamp", [True, False])
def test_curve_gives_the_same_bits_for_any_number_of_threads(clamp):
    rng, knots, rows = np.random.default_rng(0), np.arange(17.0) ** 2, 20_000  # several chunks
    x, results = rng.uniform(-3, 260, rows), []
    for threads in (1, 2, 5):
        out = np.zeros((rows, 2), np.int32), np.zeros((rows, 2), np.float32)
        kernel.curve(x, knots, 5, clamp, out, threads)
        results.append([part.tobytes() for part in out])
    assert results[0] == results[1] == results[2]


def test_the_encoder_hands_its_threads_to_the_kernel(monkeypatch):
    class Spy:
        seen = ()

        def curve(self, *arguments):
            self.seen = (*self.seen, arguments[-1])
            kernel.curve(*arguments)

    spy = Spy()
    monkeypatch.setattr(curve, "native", lambda: spy)
    encoder = TableEncoder(n_knots=3).fit([[0.0, 1.0], [1.0, 2.0], [4.0, 9.0]])
    rows = [[2.0, 3.0]] * 20  # fewer are read cell by cell
    encoder.transform(rows)
    encoder.transform(rows, threads=3)
    assert spy.seen == (0, 0, 3, 3)


# ---- what it refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [{"knots": np.zeros(1)}, {"x": np.zeros(3, np.float32)}, {"ids": np.zeros((2, 2), np.int32)}]
)
def test_curve_refuses(fault):
    arguments = {"x": np.zeros(3), "knots": np.arange(2.0), "start": 0, "clamp": True}
    arguments |= {"ids": np.zeros((3, 2), np.int32), "weights": np.zeros((3, 2), np.float32)}
    call_curve(arguments)
    with pytest.raises(ValueError, match="curve needs"):
        call_curve(arguments | fault)


def call_curve(arguments):
    given = (arguments[name] for name in ("x", "knots", "start", "clamp"))
    kernel.curve(*given, (arguments["ids"], arguments["weights"]), 0)


@pytest.mark.parametrize("name", ["ids", "weights"])
def test_curve_refuses_to_fill_what_is_read_only(name):
    arguments = {"x": np.zeros(3), "knots": np.arange(2.0), "start": 0, "clamp": True}
    arguments |= {"ids": np.zeros((3, 2), np.int32), "weights": np.zeros((3, 2), np.float32)}
    with pytest.raises(TypeError):
        call_curve(arguments | {name: read_only(arguments[name])})
