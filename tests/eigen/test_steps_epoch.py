"""A whole epoch in one call: the kernel against the reference, for every loss, and what it refuses.

Tests ``row_loss``.
"""

from __future__ import annotations

import numpy as np
import pytest
from epoch_cases import LOSSES, arrays, copied, epoch_arguments, taken

from lambdak.eigen import steps
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)


def assert_close(ours, reference):
    np.testing.assert_allclose(ours[0], reference[0], rtol=1e-5)
    for part, wanted in zip(arrays(ours[1]), arrays(reference[1]), strict=True):
        np.testing.assert_allclose(part, wanted, atol=1e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("models", [1, 2, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_epoch_is_that_of_the_reference(loss, models, weighted):
    arguments = epoch_arguments(loss, models, weighted=weighted)
    assert arguments["basis"].thin.shape[1], "the test needs directions that are whitened jointly"
    assert_close(taken(kernel, arguments), taken(steps, arguments))


@pytest.mark.parametrize("models", [1, 2, 5])
@pytest.mark.parametrize("loss", ["squared_error", "softmax"])
def test_an_epoch_of_constrained_columns_is_that_of_the_reference(loss, models):
    arguments = epoch_arguments(loss, models, constrained=True)
    ours = taken(kernel, arguments)
    assert_close(ours, taken(steps, arguments))
    moved = ours[1][4].theta - arguments["state"][4].theta
    assert np.abs(moved).max(axis=(0, 2)).min() > 1e-3, "all steps of all columns move"


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("constrained", [False, True])
def test_an_epoch_is_that_of_the_reference_on_every_instruction_set(constrained):
    arguments = epoch_arguments("log_loss", 3, constrained=constrained)
    assert_close(taken(kernel, arguments), taken(steps, arguments))


@pytest.mark.parametrize("numbers", [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], ids=["poisson", "gamma", "tweedie"])
def test_the_half_deviances_are_those_of_the_reference(numbers):
    arguments = epoch_arguments("half_deviance", 2, numbers)
    assert_close(taken(kernel, arguments), taken(steps, arguments))


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("models", [1, 2, 5, 8])
@pytest.mark.parametrize("loss", ["squared_error", "softmax"])
def test_threads_do_not_change_a_bit(loss, models, constrained):
    arguments = epoch_arguments(loss, models, constrained=constrained)
    losses, state = taken(kernel, arguments, 1)
    for threads in (2, 3, 16):
        others, there = taken(kernel, arguments, threads)
        np.testing.assert_array_equal(others, losses)
        for part, wanted in zip(arrays(there), arrays(state), strict=True):
            np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("constrained", [False, True])
def test_two_epochs_are_one_of_all_their_steps(constrained):
    arguments = epoch_arguments(batches=7, constrained=constrained)  # of 21 rows each
    ids, weights, order = arguments["design"]
    pace, (losses, state) = arguments["pace"], taken(kernel, arguments)
    halves, between = [], arguments
    for rates, rows in ((slice(0, 3), slice(0, 63)), (slice(3, 7), slice(63, None))):
        own = pace._replace(rates=pace.rates[rates], steps_before=pace.steps_before + rates.start)
        given = {**between, "design": (ids, weights, np.ascontiguousarray(order[:, rows])), "pace": own}
        half, there = taken(kernel, given)
        halves.append(half * len(own.rates))
        between = {**between, "state": there}
    np.testing.assert_allclose(sum(halves) / 7, losses, rtol=1e-12)
    for part, wanted in zip(arrays(between["state"]), arrays(state), strict=True):
        np.testing.assert_array_equal(part, wanted)


def changed(name, position, value):
    arguments = epoch_arguments()
    group = list(arguments[name])
    group[position] = value(group[position])
    arguments[name] = type(arguments[name])(*group) if hasattr(arguments[name], "_fields") else tuple(group)
    return arguments


def with_last(value):
    def change(array):
        array = array.copy()
        array.flat[-1] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("design", 0, with_last(-1)),
        ("design", 0, with_last(10_000)),
        ("design", 2, with_last(-1)),
        ("design", 2, with_last(10_000)),
        ("design", 1, lambda weights: weights.astype(np.float64)),
        ("target", 0, lambda y: y[:-1]),
        ("target", 1, lambda weight: weight.astype(np.float32)),
        ("head", 0, lambda dim: dim + 5),
        ("head", 1, lambda index: 6),
        ("head", 2, lambda pencils: 2),
        ("head", 5, lambda loss: "unknown"),
        ("state", 0, lambda theta: theta[:, 1:]),
        ("state", 3, lambda coef: coef[:, ::2]),
        ("basis", 1, with_last(10_000)),
        ("basis", 3, with_last(10_000)),
        ("basis", 4, lambda thin: thin[:, 1:]),
        ("basis", 7, lambda which: [5, 0]),
        ("basis", 7, lambda which: [0]),
        ("pace", 0, lambda rates: []),
        ("pace", 0, lambda rates: [0.1] * 1000),
        ("pace", 1, lambda decays: decays[1:]),
    ],
)
def test_an_epoch_refuses_what_does_not_fit(name, position, value):
    arguments = changed(name, position, value)
    with pytest.raises(ValueError, match=r"must|has|holds|bad"):
        taken(kernel, arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("theta", lambda theta: theta[:, 1:]),
        ("first", lambda first: first.astype(np.float64)),
        ("second", lambda second: second[..., ::2]),
        ("spread", lambda spread: spread[1:]),
        ("spread_spans", with_last(10_000)),
        ("back", lambda back: back[:, 1:]),
        ("back_spans", with_last(-1)),
        ("constant", lambda constant: constant[1:]),
    ],
)
def test_an_epoch_refuses_constrained_columns_that_do_not_fit(name, value):
    arguments = epoch_arguments(constrained=True)
    *parts, cones = copied(arguments["state"])
    arguments["state"] = (*parts, cones._replace(**{name: value(getattr(cones, name))}))
    with pytest.raises(ValueError, match=r"must|has"):
        kernel.epoch(*arguments.values(), 1)


def test_an_epoch_refuses_a_class_that_does_not_exist():
    arguments = epoch_arguments("softmax")
    y, *rest = arguments["target"]
    arguments["target"] = (np.where(np.arange(len(y)) == 7, 3.0, y), *rest)
    with pytest.raises(ValueError, match="class"):
        taken(kernel, arguments)
