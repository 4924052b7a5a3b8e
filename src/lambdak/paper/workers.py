"""Processes that work at the same time, on this machine or on a Dask cluster; they end with the one that began them."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import joblib

_LOOK = 0.5  # seconds


def run_calls(
    function: Callable[..., None], arguments: Iterable[tuple[Any, ...]], workers: int, dask: str | None
) -> Iterator[None]:
    """Call a function with each of the arguments, yielding whenever a call is finished, in whichever order."""
    options = {} if dask or workers == 1 else {"initializer": end_with_parent, "initargs": (os.getpid(),)}
    with _backend(dask), _workers_alive():
        calls = (joblib.delayed(function)(*each) for each in arguments)
        yield from joblib.Parallel(n_jobs=workers, return_as="generator_unordered", **options)(calls)


@contextmanager
def _backend(dask: str | None) -> Iterator[None]:
    if dask is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("a Dask cluster needs dask: pip install 'lambdak[dask]'") from None
    with Client(dask), joblib.parallel_config(backend="dask"):
        yield


@contextmanager
def _workers_alive() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a worker was killed (out of memory?): take fewer --workers; the same command continues where it stopped"
        ) from error


def end_with_parent(parent: int) -> None:
    """Let this process end when the one that started it does, in whatever way: nobody would take its results."""
    threading.Thread(target=_outlive, args=(parent,), daemon=True).start()


def _outlive(parent: int) -> None:
    if sys.platform == "win32":  # where the number of a dead parent stays
        process = multiprocessing.parent_process()
        if process is not None:
            process.join()
    else:
        while os.getppid() == parent:
            time.sleep(_LOOK)
    os._exit(1)
