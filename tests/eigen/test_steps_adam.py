"""Adam against scalar arithmetic and the reference, and arrays that it refuses."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from step_cases import BETA1, BETA2, DTYPES, RULE, TINY, read_only, run_adam, tolerance

from lambdak.eigen import steps as _steps
from lambdak.eigen.runtime import native

kernel = native()
if kernel is None:
    pytest.skip("this install has no compiled kernel", allow_module_level=True)


def scalar_adam(theta, grads, rate, keep):
    """Adam with decoupled weight decay on one number, as in Kingma and Ba with Loshchilov's and Hutter's decay."""
    m = v = 0.0
    for step, g in enumerate(grads, 1):
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g * g
        theta = keep * theta - rate * (m / (1 - BETA1**step)) / (math.sqrt(v / (1 - BETA2**step)) + TINY)
    return theta


@pytest.mark.parametrize("spared", [0, 16, 48])
@pytest.mark.parametrize("dtype", DTYPES)
def test_adam_moves_every_number_as_the_scalar_formula_does_and_decays_all_but_the_spared(dtype, spared, isa):
    rng = np.random.default_rng(0)
    models, size, steps = 3, 48, 6
    theta = rng.standard_normal((models, size)).astype(dtype)
    grads = (10.0 ** rng.uniform(-3, 3, size) * rng.standard_normal((steps, models, size))).astype(dtype)
    grads[:, :, -2:] = 0  # numbers that no gradient reaches only decay
    rate, keep = [0.1, 0.02, 0.0], [1.0, 0.9, 0.5]
    got, _, _ = run_adam(kernel, theta, grads, rate, keep, spared)
    for model in range(models):
        for i in range(size):
            kept = 1.0 if i < spared else keep[model]
            wanted = scalar_adam(float(theta[model, i]), grads[:, model, i].tolist(), rate[model], kept)
            assert got[model, i] == pytest.approx(wanted, rel=tolerance(dtype), abs=tolerance(dtype))


@pytest.mark.parametrize("spared", [0, 32])
@pytest.mark.parametrize("dtype", DTYPES)
def test_adam_and_its_moments_equal_the_reference_after_several_steps(dtype, spared, isa):
    rng = np.random.default_rng(1)
    theta = rng.standard_normal((5, 64)).astype(dtype)
    grads = rng.standard_normal((7, 5, 64)).astype(dtype)
    rate, keep = rng.uniform(0, 0.1, 5).tolist(), rng.uniform(0.9, 1, 5).tolist()
    runs = [run_adam(engine, theta, grads, rate, keep, spared) for engine in (kernel, _steps)]
    for got, wanted in zip(*runs, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=tolerance(dtype), atol=tolerance(dtype))


# ---- what it refuses -------------------------------------------------------------------------------------------


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
