"""Which kernel runs here, on how many threads.

The compiled kernel is built for several instruction sets; the best one for this CPU is chosen at import.
It runs on the CPUs that this process may use, or on as many threads as ``OMP_NUM_THREADS`` says, which joblib, Dask
and torchrun set in their workers. ``LAMBDAK_NUM_THREADS`` and ``LAMBDAK_ISA`` override the choices, ``show_config``
prints them. ``LAMBDAK_ISA=none`` takes the references in Python instead of the kernel, to debug.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

import joblib
import numpy as np
import scipy

from lambdak._checks import check_int
from lambdak.eigen import lapack
from lambdak.eigen.engine import CompiledEngine, EigenEngine

NO_KERNEL = "none"  # as LAMBDAK_ISA: the references in Python do the work, which a debugger can follow

try:
    if os.environ.get("LAMBDAK_ISA") == NO_KERNEL:
        raise ImportError
    from lambdak.eigen import _kernel
except ImportError:  # no compiled kernel for this platform, or none wanted
    _kernel = None  # type: ignore[assignment]

MAX_THREADS = 1024  # of a call: a larger number is a slip, such as bytes in the place of threads

# Beyond these dims one LAPACK call per matrix is the better choice: benchmarks/kernel.py --crossover measures it.
DENSE_CROSSOVER = 128


def engine(backend: str, dim: int, tridiagonal: bool) -> EigenEngine:
    """Return the module whose ``solve``, ``outer`` and ``vjp`` do the work."""
    if backend not in ("auto", "native", "lapack"):
        raise ValueError(f"backend must be 'auto', 'native' or 'lapack'; got {backend!r}")
    if backend == "native" and _kernel is None:
        raise ValueError("backend must be 'auto' or 'lapack' here: this install has no compiled kernel")
    too_large = dim > DENSE_CROSSOVER and not tridiagonal
    if backend == "lapack" or _kernel is None or (backend == "auto" and too_large):
        return lapack
    return _kernel


def native() -> CompiledEngine | None:
    """Return the compiled kernel, or None without one."""
    return _kernel


def set_num_threads(threads: int) -> None:
    """Use at most this many threads per call; results do not depend on it, bit for bit."""
    threads = check_int(threads, "threads", 1, MAX_THREADS + 1)
    if _kernel is not None:
        _kernel.set_num_threads(threads)


def get_num_threads() -> int:
    """Return the number of threads a call may use."""
    return 1 if _kernel is None else _kernel.num_threads()


def thread_count(n_jobs: int | None) -> int:
    """The threads of one call, in scikit-learn's spelling of n_jobs: -1 is every CPU, -2 all but one.

    Where ``OMP_NUM_THREADS`` is set they are counted from that. None gives 0, which an engine takes for the process's
    setting.

    >>> thread_count(2), thread_count(None)
    (2, 0)
    """
    if n_jobs is None:
        return 0
    wanted = check_int(n_jobs, "n_jobs", -MAX_THREADS, MAX_THREADS + 1)
    if wanted == 0:
        raise ValueError("n_jobs must not be 0: None leaves the choice, -1 uses every CPU")
    return wanted if wanted > 0 else max(most_threads() + 1 + wanted, 1)


def most_threads() -> int:
    """The threads for this process alone: ``OMP_NUM_THREADS``, or the CPUs of its affinity mask and its container."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # one number for each level of nesting
    wanted = int(first) if first.isdecimal() and int(first) else joblib.cpu_count()
    return min(wanted, MAX_THREADS)


def get_isa() -> str:
    """Return the instruction set of the kernel in use: 'avx512', 'avx2', 'baseline', or 'none' without a kernel."""
    return NO_KERNEL if _kernel is None else _kernel.isa()


def show_config() -> None:
    """Print the kernel build, the instruction sets it could use here, the threads and the versions."""
    choices = "not compiled: LAPACK does the work" if _kernel is None else ", ".join(_kernel.available_isas())
    rows = {
        "lambdak": version("lambdak"),
        "kernel": f"{get_isa()} (available: {choices})",
        "threads": f"{get_num_threads()} (LAMBDAK_NUM_THREADS, OMP_NUM_THREADS or lambdak.set_num_threads)",
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    for name, text in rows.items():
        print(f"{name:8} {text}")


def _from_environment() -> None:
    """Apply LAMBDAK_NUM_THREADS and LAMBDAK_ISA; a value that makes no sense stops the import with its name."""
    threads, isa = os.environ.get("LAMBDAK_NUM_THREADS"), os.environ.get("LAMBDAK_ISA")
    if threads and not (threads.isdecimal() and 1 <= int(threads) <= MAX_THREADS):
        raise ValueError(f"LAMBDAK_NUM_THREADS must be an int in [1, {MAX_THREADS}]; got {threads!r}")
    set_num_threads(int(threads) if threads else most_threads())
    if isa and _kernel is not None:
        if isa not in _kernel.available_isas():
            choices = [*_kernel.available_isas(), NO_KERNEL]
            raise ValueError(f"LAMBDAK_ISA must be one of {choices} on this machine; got {isa!r}")
        _kernel.use_isa(isa)


_from_environment()
