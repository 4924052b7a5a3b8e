"""What the environment chooses: the build of the kernel and the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import lambdak
from lambdak.eigen import runtime
from lambdak.eigen.runtime import _kernel


def run_python(code, **env):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True)


def test_show_config_names_the_kernel_in_use(capsys):
    lambdak.show_config()
    printed = capsys.readouterr().out
    assert f"kernel   {_kernel.isa()}" in printed
    assert "threads" in printed


@pytest.mark.slow
def test_the_environment_chooses_threads_and_instruction_set():
    code = "import lambdak; print(lambdak.get_num_threads(), lambdak.eigen.runtime.get_isa())"
    assert run_python(code, LAMBDAK_NUM_THREADS="3", LAMBDAK_ISA="baseline").stdout.split() == ["3", "baseline"]
    for name, value in (("LAMBDAK_NUM_THREADS", "many"), ("LAMBDAK_ISA", "avx1024")):
        done = run_python(code, **{name: value})
        assert done.returncode == 1
        assert f"{name} must be" in done.stderr
        assert value in done.stderr


@pytest.mark.slow
def test_the_environment_can_leave_the_kernel_out_to_debug():
    code = (
        "import lambdak, numpy as np; from lambdak.eigen import runtime; print(runtime.get_isa(), runtime.native());"
        "print(lambdak.eigenvalue(np.array([1.0, 0.0, 3.0]), dim=2, index=1))"
    )
    done = run_python(code, LAMBDAK_ISA="none")
    assert done.stdout.splitlines() == ["none None", "3.0"], done.stderr


@pytest.mark.parametrize(
    ("said", "expected"), [("3", 3), (" 2, 4", 2), ("99999", 1024), ("0", 7), ("many", 7), ("", 7)]
)
def test_openmps_number_of_threads_holds_where_it_makes_sense(said, expected, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    monkeypatch.setattr("joblib.cpu_count", lambda: 7)
    assert runtime.most_threads() == expected
    assert runtime.thread_count(-1) == expected


@pytest.mark.slow
def test_our_own_variable_comes_before_openmps():
    code = "import lambdak; print(lambdak.get_num_threads())"
    assert run_python(code, OMP_NUM_THREADS="1").stdout == "1\n"
    assert run_python(code, OMP_NUM_THREADS="1", LAMBDAK_NUM_THREADS="3").stdout == "3\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks")
def test_by_default_only_the_cpus_of_the_affinity_mask_are_used():
    limit = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    code = f"{limit}; import lambdak; print(lambdak.get_num_threads())"
    assert run_python(code, OMP_NUM_THREADS="").stdout == "1\n"


@pytest.mark.slow
def test_without_the_compiled_kernel_lapack_does_the_work():
    code = """
import sys
sys.modules["lambdak.eigen._kernel"] = None
import numpy as np, lambdak
lambdak.show_config()
lambdak.set_num_threads(2)
print(lambdak.eigenvalue(np.array([2.0, 0.0, 5.0]), 2, 1))
try:
    lambdak.eigenvalue(np.array([2.0, 0.0, 5.0]), 2, 1, backend="native")
except ValueError as error:
    print(error)
"""
    printed = run_python(code).stdout
    assert "not compiled" in printed
    assert "5.0" in printed
    assert "this install has no compiled kernel" in printed
