"""Hermitian eigenvalues in PyTorch and eigenvalues in JAX beside those of either.

usage: python benchmarks/research_speed.py

PyTorch and the kernel use one thread each, JAX as many as it likes. Times are the fastest of 40 calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

import jax
import lambdak
import torch
from lambdak.jax import eigenvalue, sym
from lambdak.torch import hermitian, hermitian_eigenvalue

ROWS = 4096


def milliseconds(call: Callable[[], object], tries: int = 40) -> str:
    """The fastest of some calls, after one that compiles."""
    times = []
    for _ in range(tries + 1):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return f"{1e3 * min(times[1:]):.1f}"


def complex_matrices() -> None:
    print(f"Value and gradient of {ROWS} Hermitian matrices, float32, ms\n")
    print("| d | hermitian_eigenvalue | torch.linalg.eigvalsh, complex |\n|---|---|---|")
    for dim in (4, 8, 16):
        coords = torch.randn(ROWS, dim * dim, requires_grad=True)
        ours = milliseconds(lambda c=coords, d=dim: hermitian_eigenvalue(c, d, d // 2).sum().backward())
        theirs = milliseconds(
            lambda c=coords, d=dim: torch.linalg.eigvalsh(hermitian(c, d))[:, d // 2].sum().backward()
        )
        print(f"| {dim} | {ours} | {theirs} |", flush=True)


def jax_front() -> None:
    print(f"\nJAX under jit, {ROWS} matrices, float32, ms\n")
    print("| d | value | of jnp.linalg.eigvalsh | value and gradient | of eigvalsh |\n|---|---|---|---|---|")
    for dim in (5, 9, 15, 31):
        rows = np.random.default_rng(0).standard_normal((ROWS, dim * (dim + 1) // 2))
        packed = jnp.asarray(rows, jnp.float32)

        def ours(a, d=dim):
            return eigenvalue(a, d, d // 2)

        def theirs(a, d=dim):
            return jnp.linalg.eigvalsh(sym(a, d))[:, d // 2]

        calls = [jax.jit(f) for f in (ours, theirs)]
        calls += [jax.jit(jax.value_and_grad(lambda a, f=f: f(a).sum())) for f in (ours, theirs)]
        times = [milliseconds(lambda c=call, p=packed: jax.block_until_ready(c(p))) for call in calls]
        print(f"| {dim} | {times[0]} | {times[1]} | {times[2]} | {times[3]} |", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    lambdak.set_num_threads(1)
    complex_matrices()
    jax_front()


if __name__ == "__main__":
    main()
