"""The engines, compiled and reference, are the same to a caller: names of arguments, groups, outputs, refusals."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from step_cases import read_only

from lambdak.eigen import engine, lapack, records, runtime, steps
from lambdak.eigen.engine import AdamConstants

STUB = Path(runtime.__file__).with_name("_kernel.pyi")
EIGEN, STEPS = (
    ("solve", "outer", "vjp"),
    ("forward", "backward", "band_gradient", "multiply", "adam", "shared_epoch", "descend"),
)
MOST_PARAMETERS = 7


def stub_arguments():
    """Names of the arguments of every function of the stub."""
    functions = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {function.name: [argument.arg for argument in function.args.args] for function in functions}


def protocol_arguments(protocol, name):
    return list(inspect.signature(getattr(protocol, name)).parameters)[1:]


def kernel_arguments(function):
    """Names of the arguments of a compiled function, which its docstring begins with."""
    return re.findall(r"(\w+): ", function.__doc__.splitlines()[0])


@pytest.mark.parametrize(("module", "protocol", "names"), [
    (lapack, engine.EigenEngine, EIGEN), (steps, engine.StepEngine, STEPS)
], ids=["lapack", "steps"])  # fmt: skip
def test_references_protocols_and_the_stub_name_the_same_arguments(module, protocol, names):
    for name in names:
        wanted = stub_arguments()[name]
        assert list(inspect.signature(getattr(module, name)).parameters) == wanted
        assert protocol_arguments(protocol, name) == wanted
        assert wanted[-1] == "threads"


def test_the_protocol_of_the_kernel_names_what_the_stub_names():
    stub = stub_arguments()
    assert {name for name in dir(engine.CompiledEngine) if not name.startswith("_")} == set(stub)
    for name, arguments in stub.items():
        assert protocol_arguments(engine.CompiledEngine, name) == arguments
        assert len(arguments) <= MOST_PARAMETERS


needs_kernel = pytest.mark.skipif(runtime.native() is None, reason="this install has no compiled kernel")


@needs_kernel
@pytest.mark.parametrize("name", stub_arguments())
def test_the_kernel_takes_the_arguments_that_its_stub_names(name):
    assert kernel_arguments(getattr(runtime.native(), name)) == stub_arguments()[name]


@needs_kernel
def test_the_kernel_is_the_engine_of_steps_and_the_reference_without_it(monkeypatch):
    assert steps.step_engine() is runtime.native()
    monkeypatch.setattr(steps, "native", lambda: None)
    assert steps.step_engine() is steps


# ---- what the eigen functions of the kernel refuse -------------------------------------------------------------


@needs_kernel
def test_the_kernel_itself_refuses_arrays_that_do_not_fit():
    kernel, packed, value = runtime.native(), np.empty((4, 15)), np.empty((4, 1))
    with pytest.raises(ValueError, match="wrong shape"):
        kernel.solve((np.empty((4, 14)), None, 5), [2], (value, None), 0)
    with pytest.raises(ValueError, match="wrong shape"):
        kernel.solve((packed, None, 5), [2], (np.empty((3, 1)), None), 0)
    with pytest.raises(ValueError, match="index"):
        kernel.solve((packed, None, 5), [5], (value, None), 0)
    with pytest.raises(ValueError, match="index"):
        kernel.solve((packed, None, 5), [2, 1], (np.empty((4, 2)), None), 0)
    with pytest.raises(ValueError, match="dim"):
        kernel.solve((packed, None, 50_000), [2], (value, None), 0)
    vector, diagonal = np.empty((4, 1, 5)), np.empty((4, 5))
    with pytest.raises(ValueError, match="grad_off"):
        kernel.vjp((diagonal, np.empty((4, 4)), 5), (value, vector), (value, vector), 0.0, (diagonal.copy(), None), 0)


def calls(packed, value, vector, grad):
    """Every eigen function of the kernel, with these outputs."""
    kernel, given = runtime.native(), (np.ones((4, 1)), np.ones((4, 1, 5)))
    return {
        "solve": lambda: kernel.solve((packed, None, 5), [2], (value, vector), 0),
        "outer": lambda: kernel.outer(given[1], given[0], (grad, None), 0),
        "vjp": lambda: kernel.vjp((packed, None, 5), given, given, 0.0, (grad, None), 0),
    }


def outputs():
    return {"value": np.zeros((4, 1)), "vector": np.zeros((4, 1, 5)), "grad": np.zeros((4, 15))}


@needs_kernel
@pytest.mark.parametrize(("function", "name"), [
    ("solve", "value"), ("solve", "vector"), ("outer", "grad"), ("vjp", "grad")
])  # fmt: skip
def test_an_output_within_a_group_is_filled_itself_or_refused_but_never_a_converted_copy(function, name):
    packed, given = np.random.default_rng(0).standard_normal((4, 15)), outputs()
    calls(packed, **given)[function]()
    assert np.isfinite(given[name]).all()
    assert given[name].any()
    wrong = {
        "of another dtype": given[name].astype(np.float32),
        "of ints": given[name].astype(np.int64),
        "read-only": read_only(given[name]),
        "a list": given[name].tolist(),
    }
    for output in wrong.values():
        with pytest.raises((ValueError, TypeError)):
            calls(packed, **(given | {name: output}))[function]()


@needs_kernel
@pytest.mark.parametrize("group", [None, (), (np.zeros((4, 1)),), np.zeros((4, 1)), 5])
def test_a_group_of_another_length_is_refused(group):
    kernel, packed = runtime.native(), np.zeros((4, 15))
    with pytest.raises(TypeError):
        kernel.solve((packed, None, 5), [2], group, 0)
    with pytest.raises(TypeError):
        kernel.solve(group, [2], (np.zeros((4, 1)), None), 0)


@needs_kernel
def test_a_value_that_is_none_is_refused_where_a_vector_may_be():
    with pytest.raises(TypeError):
        runtime.native().solve((np.zeros((4, 15)), None, 5), [2], (None, np.zeros((4, 1, 5))), 0)
    with pytest.raises(TypeError):
        runtime.native().solve((None, None, 5), [2], (np.zeros((4, 1)), None), 0)


# ---- Adam's constants ------------------------------------------------------------------------------------------


def test_the_corrections_of_adam_undo_that_moments_start_at_zero():
    constants, first, second = AdamConstants(0.9, 0.99, 1e-8), 0.0, 0.0
    for step in range(1, 8):
        first, second = 0.9 * first + 0.1 * 3.0, 0.99 * second + 0.01 * 3.0**2
        beta1, beta2, correct, tiny = constants.rule(step)
        assert (beta1, beta2, tiny) == (0.9, 0.99, 1e-8)
        assert first / constants.rate_correction(step) == pytest.approx(3.0)
        assert second * correct == pytest.approx(9.0)


# ---- a kernel job, as "Where do I add …" has it ------------------------------------------------------------------


NATIVE = STUB.parent / "native"
ONLY_COMPILED = {"solve_plain", "curve", "one_row"}  # whose callers do without
ABOUT_THE_KERNEL = {"isa", "use_isa", "available_isas", "num_threads", "set_num_threads"}


def test_every_function_of_the_kernel_is_bound_and_has_a_reference():
    bound = {name for path in NATIVE.glob("*.cpp") for name in re.findall(r'm\.def\("(\w+)"', path.read_text())}
    assert bound == set(stub_arguments())
    references = {name for module in (lapack, steps, records) for name in vars(module)}
    assert bound - ONLY_COMPILED - ABOUT_THE_KERNEL <= references


def test_every_job_of_the_builds_is_declared_filled_in_and_called():
    header, kernel = (NATIVE / "kernel.hpp").read_text(), (NATIVE / "kernel.cpp").read_text()
    jobs = re.findall(r"\(\*(\w+)(?:\[2\])?\)\(", header.partition("struct Kernel {")[2])
    filled = re.findall(r"^    (?:build::|\{build::)", kernel.partition("const Kernel ")[2], re.MULTILINE)
    assert len(jobs) == len(filled) > 10
    bindings = "".join(
        path.read_text() for path in NATIVE.glob("*.[ch]pp") if path.name not in ("kernel.hpp", "kernel.cpp")
    )
    for job in jobs:
        assert re.search(rf"(?:\.|->|Kernel::){job}\b", bindings), f"nothing calls the job {job}"


def test_every_file_of_bindings_is_compiled():
    recipe = (STUB.parents[3] / "CMakeLists.txt").read_text()
    for path in NATIVE.glob("*.cpp"):
        assert f"/{path.name}" in recipe, f"CMakeLists.txt does not compile {path.name}"
