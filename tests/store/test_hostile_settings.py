"""Files with settings that no estimator would accept: refused at load, with the setting named."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hostile_cases import CLASSES, MONOTONE, refuse, sealed


def array(dtype, *values):
    return {"array": {"dtype": dtype, "values": list(values)}}


def named(*pairs):
    return {"dict": [list(pair) for pair in pairs]}


NAN, MINUS_INF, OTHER = {"float": "nan"}, {"float": "-inf"}, {"level": "other"}
LONG = "x" * 5000

# For a model of four columns, x0 to x3.
NEITHER = [
    10**400, -(10**400), "x", "1", LONG, NAN, MINUS_INF, OTHER,
    [], [1], [1] * 3, [1] * 5, [[1] * 4], [[1], [1], [1], [1]], [[1, 2], [1], 1, 1], [[], [], [], []],
    [1, 1, 1, "x"], [1, 1, 1, None], [1, 1, 1, NAN], [1, 1, 1, 10**400], [1, 1, 1, named()], [1, 1, 1, OTHER],
    [LONG] * 4, [array("f8", 1.0), 1, 1, 1], [array("f8", 1.0)] * 4, {"tuple": []}, {"tuple": [1, 1]},
    named(("z", 1)), named((LONG, 1)), named(*((f"c{i}", 1) for i in range(5000))), named((9, 1)), named((-1, 1)),
    named((True, 1)), named((None, 1)), named((0.5, 1)), named((OTHER, 1)), named(({"tuple": [1]}, 1)),
    named((0, 1), ("x0", 1)), named(("x0", named())), named(("x0", [])), named(("x0", [1])), named(("x0", "1")),
    named(("x0", array("f8", 1.0))), named(("x0", 10**400)), named(("x0", NAN)), named(("x0", OTHER)),
    array("O"), array("f8", 1.0), array("f8", *[NAN] * 4), array("U1", *"1111"), array("O", 1, 1, 1, None),
    array("O", 1, 1, 1, 10**400), array("f2", *[1e9] * 4), array("f4", *[1e300] * 4),
]  # fmt: skip
CAPS = [
    -1, -1e-9, True, False, [1, 1, 1, True], [1, 1, 1, -1], named(("x0", -1)),
    named(("x0", True)), named(("x0", MINUS_INF)), array("i1", 1, 1, 1, -1), array("b1", *[True] * 4),
]  # fmt: skip
SIGNS = [1, 0.5, [1, 1, 1, 2], [1, 1, 1, 1], named(("x0", 2)), named(("x3", 1)), "up", array("i1", 1, 1, 1, 2)]
CASES = [
    *(("max_influence", value, MONOTONE) for value in NEITHER + CAPS),
    *(("monotonic_cst", value, CLASSES) for value in NEITHER + SIGNS),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}={case[1]}"[:60])
def test_a_nonsense_setting_is_refused_at_load_and_named(tmp_path, case):
    name, value, model = case
    header, tensors = deepcopy(model)
    header["parameters"][name] = value
    refuse(tmp_path, sealed(header, tensors), f": {name} ")
