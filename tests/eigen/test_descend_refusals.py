"""What descend refuses: arrays that do not fit, that it must not write, or ids that do not exist."""

from __future__ import annotations

import numpy as np
import pytest
from step_cases import N_IDS, call_descend, descent, read_only, with_entry

from lambdak.eigen import steps as _steps
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)


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
