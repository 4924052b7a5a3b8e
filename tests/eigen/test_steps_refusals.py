"""What forward and backward refuse: arrays that do not fit, that they must not write, or rows that do not exist."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import N_DESIGN, N_ROWS, batch_of, design, padded, read_only, with_entry

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
