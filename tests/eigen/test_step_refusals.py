"""What the kernel's steps refuse: arrays that do not fit, that it must not write, or that name what does not exist."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from step_cases import (
    BETA1,
    BETA2,
    N_DESIGN,
    N_IDS,
    N_ROWS,
    RULE,
    TINY,
    batch_of,
    call_descend,
    compact,
    descent,
    design,
    padded,
    read_only,
    spans_of,
)

from lambdak.eigen import steps as _steps
from lambdak.eigen.packing import PAD
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)

DESIGN = ("ids", "weights", "rows")

# Views of larger arrays keep a call inside of allocated memory even where the kernel fails to refuse it.


def step_arguments():
    rng = np.random.default_rng(0)
    ids, weights = design(rng, np.float32)
    rows = batch_of(rng, 2, 9)
    base = np.zeros((2, 3 * N_DESIGN, PAD), np.float32)
    return {
        "ids": ids,
        "weights": weights,
        "rows": rows,
        "coef": base[:, N_DESIGN : 2 * N_DESIGN, :15],
        "dim": 5,
        "index": [2],
        "value": np.zeros((18, 1), np.float32),
        "vector": np.zeros((18, 1, 5), np.float32),
        "grad_value": np.zeros((18, 1), np.float32),
    }


def call_forward(arguments):
    design, out = (tuple(arguments[name] for name in names) for names in (DESIGN, ("value", "vector")))
    kernel.forward(design, arguments["coef"], arguments["dim"], arguments["index"], out, 0)


def call_backward(arguments):
    given = (arguments[name] for name in ("vector", "grad_value", "dim", "coef"))
    kernel.backward(tuple(arguments[name] for name in DESIGN), *given, 0)


def with_entry(array, entry):
    changed = array.copy()
    changed[-1, -1] = entry
    return changed


SHARED_FAULTS = {
    "ids with one axis": lambda a: {"ids": a["ids"][0]},
    "ids of int64": lambda a: {"ids": a["ids"].astype(np.int64)},
    "ids of floats": lambda a: {"ids": a["ids"].astype(np.float32)},
    "ids with other slots than weights": lambda a: {"ids": a["ids"][:, 1:].copy()},
    "ids that are not contiguous": lambda a: {"ids": np.asfortranarray(a["ids"])},
    "weights of another dtype": lambda a: {"weights": a["weights"].astype(np.float64)},
    "weights with fewer rows": lambda a: {"weights": a["weights"][1:]},
    "weights that are not contiguous": lambda a: {"weights": a["weights"][:, ::-1]},
    "rows with one axis": lambda a: {"rows": a["rows"][0]},
    "rows for another number of models": lambda a: {"rows": a["rows"][:1]},
    "rows of int64": lambda a: {"rows": a["rows"].astype(np.int64)},
    "rows that are not contiguous": lambda a: {"rows": a["rows"][:, ::-1]},
    "rows after the last": lambda a: {"rows": with_entry(a["rows"], N_ROWS)},
    "rows before the first": lambda a: {"rows": with_entry(a["rows"], -1)},
    "ids after the last": lambda a: {"ids": np.where(a["ids"] == 3, np.int32(N_DESIGN), a["ids"])},
    "ids before the first": lambda a: {"ids": np.where(a["ids"] == 3, np.int32(-1), a["ids"])},
    "coef with two axes": lambda a: {"coef": a["coef"][0]},
    "coef of another width": lambda a: {"coef": a["coef"][..., :10]},
    "coef for another dim": lambda a: {"dim": 4},
    "coef that is not padded": lambda a: {"coef": a["coef"].copy()},
    "coef with reversed rows": lambda a: {"coef": a["coef"][:, ::-1]},
    "coef with reversed entries": lambda a: {"coef": a["coef"][..., ::-1]},
    "coef of another dtype": lambda a: {"coef": padded(a["coef"].astype(np.float64))},
    "a list instead of coef": lambda a: {"coef": a["coef"].tolist()},
    "None instead of weights": lambda a: {"weights": None},
    "a negative dim": lambda a: {"dim": -5},
    "dim 0": lambda a: {"dim": 0, "coef": a["coef"][..., :0], "index": [], **empty_results(dim=0)},
    "dim that is no int": lambda a: {"dim": 5.0},
    "ints for floats": lambda a: {
        name: a[name].astype(np.int32) if name != "coef" else padded(a[name].astype(np.int32))
        for name in ("weights", "coef", "value", "vector", "grad_value")
    },
    "vector of another dtype": lambda a: {"vector": a["vector"].astype(np.float64)},
    "vector of another dim": lambda a: {"vector": a["vector"][..., :4].copy()},
    "vector with fewer rows": lambda a: {"vector": a["vector"][1:]},
    "vector with two axes": lambda a: {"vector": a["vector"][:, 0]},
    "no index at all": lambda a: {"index": [], **empty_results(dim=5)},
}


def empty_results(dim):
    rows = 18
    return {
        "value": np.zeros((rows, 0), np.float32),
        "vector": np.zeros((rows, 0, dim), np.float32),
        "grad_value": np.zeros((rows, 0), np.float32),
    }


FORWARD_FAULTS = SHARED_FAULTS | {
    "an index that does not exist": lambda a: {"index": [5]},
    "a negative index": lambda a: {"index": [-1]},
    "indices that do not increase": lambda a: {"index": [3, 1], **two_results()},
    "an index twice": lambda a: {"index": [1, 1], **two_results()},
    "an index that is no int": lambda a: {"index": [1.5]},
    "more indices than values": lambda a: {"index": [1, 2]},
    "value with one axis": lambda a: {"value": a["value"][:, 0]},
    "value of another dtype": lambda a: {"value": a["value"].astype(np.float64)},
    "value with fewer rows": lambda a: {"value": a["value"][1:]},
    "a read-only value": lambda a: {"value": read_only(a["value"])},
    "a read-only vector": lambda a: {"vector": read_only(a["vector"])},
    "None instead of value": lambda a: {"value": None},
}


def two_results():
    return {"value": np.zeros((18, 2), np.float32), "vector": np.zeros((18, 2, 5), np.float32)}


BACKWARD_FAULTS = SHARED_FAULTS | {
    "factors of another dtype": lambda a: {"grad_value": a["grad_value"].astype(np.float64)},
    "factors with fewer rows": lambda a: {"grad_value": a["grad_value"][1:]},
    "factors for more indices": lambda a: {"grad_value": np.zeros((18, 2), np.float32)},
    "factors with one axis": lambda a: {"grad_value": a["grad_value"][:, 0]},
    "None instead of vector": lambda a: {"vector": None},
    "a read-only gradient": lambda a: {"coef": read_only(a["coef"])},
    "an empty batch and a gradient that is not padded": lambda a: {
        "rows": a["rows"][:, :0].copy(),
        "coef": a["coef"].base[:, :4, ::2][..., :6],
        "dim": 3,
        "vector": np.zeros((0, 1, 3), np.float32),
        "grad_value": np.zeros((0, 1), np.float32),
    },
}


@pytest.mark.parametrize("fault", FORWARD_FAULTS)
def test_forward_refuses(fault):
    arguments = step_arguments()
    call_forward(arguments)
    with pytest.raises((ValueError, TypeError)):
        call_forward(arguments | FORWARD_FAULTS[fault](arguments))


@pytest.mark.parametrize("fault", BACKWARD_FAULTS)
def test_backward_refuses(fault):
    arguments = step_arguments()
    call_backward(arguments)
    with pytest.raises((ValueError, TypeError)):
        call_backward(arguments | BACKWARD_FAULTS[fault](arguments))


def multiply_arguments():
    spans = spans_of([(4, 0, 2), (3, 2, 5)])
    left = compact(np.random.default_rng(0), spans, 6, np.float32)[2:4]
    right, out = np.zeros((2, 5, PAD), np.float32), np.zeros((2, 7, PAD), np.float32)
    return {"left": left, "which": [0, 1], "right": right, "spans": spans, "out": out, "threads": 0}


MULTIPLY_FAULTS = {
    "left with two axes": lambda a: {"left": a["left"][0]},
    "left of another dtype": lambda a: {"left": a["left"].astype(np.float64)},
    "left that is not contiguous": lambda a: {"left": a["left"][:, ::-1]},
    "left and right with reversed entries": lambda a: {"left": a["left"][..., ::-1], "right": a["right"][..., ::-1]},
    "a left factor after the last": lambda a: {"which": [0, 2]},
    "a left factor before the first": lambda a: {"which": [-1, 0]},
    "left factors for fewer models": lambda a: {"which": [0]},
    "left factors for more models": lambda a: {"which": [0, 1, 1]},
    "a left factor that is no int": lambda a: {"which": [0, 0.5]},
    "one left factor instead of a list": lambda a: {"which": 0},
    "right with two axes": lambda a: {"right": a["right"][0]},
    "right with fewer rows": lambda a: {"right": a["right"][:, 1:].copy()},
    "right for fewer models": lambda a: {"right": a["right"][:1]},
    "widths that are not padded": lambda a: {name: a[name][..., :15].copy() for name in ("right", "out")},
    "views of padded arrays": lambda a: {name: padded(a[name][..., :15]) for name in ("right", "out")},
    "out of another shape": lambda a: {"out": a["out"][:, 1:].copy()},
    "out that is not contiguous": lambda a: {"out": a["out"][:, ::-1]},
    "a read-only out": lambda a: {"out": read_only(a["out"])},
    "None instead of out": lambda a: {"out": None},
    "spans of int64": lambda a: {"spans": a["spans"].astype(np.int64)},
    "spans for fewer rows": lambda a: {"spans": a["spans"][1:]},
    "spans that are not contiguous": lambda a: {"spans": np.asfortranarray(a["spans"])},
    "spans after the last column": lambda a: {"spans": with_entry(a["spans"], 6)},
    "spans before the first column": lambda a: {"spans": a["spans"] - np.int32(1)},
    "spans longer than left": lambda a: {"spans": np.where(a["spans"] == 2, np.int32(1), a["spans"])},
    "ints for floats": lambda a: {name: a[name].astype(np.int32) for name in ("left", "right", "out")},
}


@pytest.mark.parametrize("fault", MULTIPLY_FAULTS)
def test_multiply_refuses(fault):
    arguments = multiply_arguments()
    kernel.multiply(**arguments)
    with pytest.raises((ValueError, TypeError)):
        kernel.multiply(**(arguments | MULTIPLY_FAULTS[fault](arguments)))


def adam_arguments():
    arrays = {name: np.ones((2, 32), np.float32) for name in ("theta", "grad", "first", "second")}
    numbers = {"beta1": BETA1, "beta2": BETA2, "correct": 1.0, "tiny": TINY, "spared": 16}
    return {**arrays, "rate": [0.1, 0.1], "keep": [1.0, 1.0], **numbers}


def call_adam(arguments):
    state = tuple(arguments[name] for name in ("theta", "grad", "first", "second"))
    rule = tuple(arguments[name] for name in RULE[1:])
    kernel.adam(state, arguments["rate"], arguments["keep"], rule, arguments["spared"], 0)


ADAM_FAULTS = {
    **{f"{name} of another dtype": functools.partial(
        lambda name, a: {name: a[name].astype(np.float64)}, name) for name in ("theta", "grad", "first", "second")},
    **{f"{name} of another size": functools.partial(
        lambda name, a: {name: a[name][:, :16].copy()}, name) for name in ("theta", "grad", "first", "second")},
    **{f"{name} that is not contiguous": functools.partial(
        lambda name, a: {name: a[name][:, ::-1]}, name) for name in ("theta", "grad", "first", "second")},
    **{f"a read-only {name}": functools.partial(
        lambda name, a: {name: read_only(a[name])}, name) for name in ("theta", "first", "second")},
    "a size that is not padded": lambda a: {n: a[n][:, :31].copy() for n in ("theta", "grad", "first", "second")},
    "ints for floats": lambda a: {n: a[n].astype(np.int32) for n in ("theta", "grad", "first", "second")},
    "theta with three axes": lambda a: {"theta": a["theta"][None]},
    "fewer rates than models": lambda a: {"rate": [0.1]},
    "fewer keeps than models": lambda a: {"keep": [1.0]},
    "one rate instead of a list": lambda a: {"rate": 0.1},
    "None instead of grad": lambda a: {"grad": None},
    "spared numbers that are not padded": lambda a: {"spared": 8},
    "spared numbers that are no int": lambda a: {"spared": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("fault", ADAM_FAULTS)
def test_adam_refuses(fault):
    arguments = adam_arguments()
    call_adam(arguments)
    with pytest.raises((ValueError, TypeError)):
        call_adam(arguments | ADAM_FAULTS[fault](arguments))


def descend_arguments():
    return descent(np.random.default_rng(0), 5, np.float32, rows=9)


def within(table, **room):
    """A view of the same shape inside of a larger array."""
    base = np.zeros([n + room.get(axis, 0) for axis, n in zip("abc", table.shape, strict=True)], table.dtype)
    return base[tuple(slice(n) for n in table.shape)]


DESCEND_FAULTS = {
    "ids with one axis": lambda a: {"ids": a["ids"][0]},
    "ids of int64": lambda a: {"ids": a["ids"].astype(np.int64)},
    "ids of floats": lambda a: {"ids": a["ids"].astype(np.float32)},
    "ids after the last": lambda a: {"ids": with_entry(a["ids"], N_IDS)},
    "ids before the first": lambda a: {"ids": with_entry(a["ids"], -1)},
    "ids with other slots than weights": lambda a: {"ids": a["ids"][:, 1:].copy()},
    "ids with fewer rows": lambda a: {"ids": a["ids"][1:]},
    "ids that are not contiguous": lambda a: {"ids": np.asfortranarray(a["ids"])},
    "weights of another dtype": lambda a: {"weights": a["weights"].astype(np.float64)},
    "weights with fewer rows": lambda a: {"weights": a["weights"][1:]},
    "weights that are not contiguous": lambda a: {"weights": a["weights"][:, ::-1]},
    "vector with two axes": lambda a: {"vector": a["vector"][:, 0]},
    "vector with fewer rows": lambda a: {"vector": a["vector"][1:]},
    "vector of another dim": lambda a: {"vector": a["vector"][..., 1:]},
    "vector of another dtype": lambda a: {"vector": a["vector"].astype(np.float64)},
    "no vectors": lambda a: {"vector": a["vector"][:, :0], "grad_value": a["grad_value"][:, :0]},
    "factors for fewer vectors": lambda a: {"grad_value": a["grad_value"][:, :1]},
    "factors with one axis": lambda a: {"grad_value": a["grad_value"][:, 0]},
    "factors of another dtype": lambda a: {"grad_value": a["grad_value"].astype(np.float64)},
    "another dim": lambda a: {"dim": 4},
    "dim 0": lambda a: {"dim": 0, "vector": a["vector"][..., :0], "table": a["table"][..., :0]},
    "a negative dim": lambda a: {"dim": -5},
    "a table with two axes": lambda a: {"table": a["table"][:, 0]},
    "a table without rows": lambda a: {"table": a["table"][:0]},
    "a table without moments": lambda a: {"table": a["table"][:, :1].copy()},
    "a table that is not padded": lambda a: {"table": a["table"][..., :15].copy()},
    "a table of another dtype": lambda a: {"table": a["table"].astype(np.float64)},
    "a table with its rows apart": lambda a: {"table": within(a["table"], b=1)},
    "a table with its entries apart": lambda a: {"table": within(a["table"], c=16)},
    "a reversed table": lambda a: {"table": a["table"][::-1]},
    "a table whose rows are one": lambda a: {"table": np.lib.stride_tricks.as_strided(a["table"], strides=(0, 64, 4))},
    "a read-only table": lambda a: {"table": read_only(a["table"])},
    "a list instead of the table": lambda a: {"table": a["table"][:20].tolist()},
    "None instead of weights": lambda a: {"weights": None},
    "ints for floats": lambda a: {n: a[n].astype(np.int32) for n in ("weights", "vector", "grad_value", "table")},
    "a rate that is no number": lambda a: {"rate": [0.1]},
}


@pytest.mark.parametrize("engine", [kernel, _steps], ids=["kernel", "reference"])
@pytest.mark.parametrize("fault", ["ids after the last", "ids before the first"])
def test_descend_says_that_an_id_does_not_exist(fault, engine):
    arguments = descend_arguments()
    before = arguments["table"].copy()
    with pytest.raises(ValueError, match="ids holds a row that does not exist"):
        call_descend(engine, arguments | DESCEND_FAULTS[fault](arguments))
    np.testing.assert_array_equal(arguments["table"], before)


@pytest.mark.parametrize("fault", DESCEND_FAULTS)
def test_descend_refuses_and_leaves_the_table_alone(fault):
    arguments = descend_arguments()
    call_descend(kernel, arguments)
    before = arguments["table"].copy()
    with pytest.raises((ValueError, TypeError)):
        call_descend(kernel, arguments | DESCEND_FAULTS[fault](arguments))
    np.testing.assert_array_equal(arguments["table"], before)


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
