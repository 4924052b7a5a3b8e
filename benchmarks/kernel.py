"""Speed of the eigenpair kernel against torch.linalg, both sides measured in one run.

usage: python benchmarks/kernel.py [--batch 8192] [--repeats 5] [--threads 2] [--crossover | --stages]

With --stages everything is CPU time on one thread, the best of all rounds, which other programs disturb least: ratios,
the stages of one eigenpair, and the rate of the reduction as a share of that of sgemm in the same run.

Every other figure is a median over two blocks of consecutive calls, as in a training loop; the two sides of a ratio
take turns block by block, after a pause in which the other side's idle threads stop spinning. The kernel finds one
eigenvalue or eigenpair, torch.linalg all of them: it has no call for one. Floors are the bars that the kernel must
not fall below.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import ssytrd

import lambdak
import torch
from lambdak import eigenpair, eigenvalue, eigenvalue_vjp, sym, tridiagonal_eigenpair, tridiagonal_eigenvalue

DIMS = (5, 9, 15, 31, 63)
PAUSE = 0.25  # seconds: OpenMP's threads spin for up to 0.2 after a parallel region
FLOORS = {
    ("float32", "eigenpair"): (45, 65, 65, 70, 55),
    ("float32", "eigenvalue"): (25, 35, 40, 35, 25),
    ("float64", "eigenpair"): (17, 25, 33, 30, 30),
}
AIMS = {("float32", "eigenpair"): (70, 100, 100, 100, 80)}


def seconds(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median time of each call, over two blocks of `repeats` that begin with an untimed one."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(2):
        for call, taken in zip(calls, times, strict=True):
            time.sleep(PAUSE)
            call()
            for _ in range(repeats):
                start = time.perf_counter()
                call()
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def use_threads(count: int) -> None:
    torch.set_num_threads(count)
    lambdak.set_num_threads(count)


def rows(batch: int, dim: int, dtype: type[np.floating]) -> np.ndarray:
    return np.random.default_rng(dim).standard_normal((batch, dim * (dim + 1) // 2)).astype(dtype)


def gemm_rate(dtype: type[np.floating], size: int = 2048) -> float:
    """GFLOP/s of a square matrix product."""
    a = torch.from_numpy(np.random.default_rng(0).standard_normal((size, size)).astype(dtype))
    return 2e-9 * size**3 / seconds([lambda: a @ a], 7)[0]


def contest(kind: str, dtype: type[np.floating], batch: int, repeats: int) -> list[tuple[float, float]]:
    """(our seconds, torch's seconds) per dim."""
    result = []
    for dim in DIMS:
        packed = rows(batch, dim, dtype)
        full = torch.from_numpy(sym(packed))
        ours, theirs = {
            "eigenpair": (
                lambda p=packed, d=dim: eigenpair(p, d, d // 2),
                lambda f=full: torch.linalg.eigh(f),
            ),
            "eigenvalue": (
                lambda p=packed, d=dim: eigenvalue(p, d, d // 2),
                lambda f=full: torch.linalg.eigvalsh(f),
            ),
        }[kind]
        mine, peer = seconds([ours, theirs], repeats)
        result.append((mine, peer))
    return result


def print_contests(batch: int, repeats: int, threads: int, floors: bool) -> None:
    use_threads(threads)
    print(f"\n## {threads} thread(s) on each side, batch {batch}: microseconds per matrix, ours / torch\n")
    print("| | " + " | ".join(f"d={dim}" for dim in DIMS) + " |\n|---" + "|---" * len(DIMS) + "|")
    for name, kind in (("float32", "eigenpair"), ("float32", "eigenvalue"), ("float64", "eigenpair")):
        dtype = np.dtype(name).type
        times = contest(kind, dtype, batch, repeats)
        ratios = [peer / mine for mine, peer in times]
        cells = [f"{1e6 * mine / batch:.3f} / {1e6 * peer / batch:.2f}" for mine, peer in times]
        print(f"| {name} {kind} | " + " | ".join(cells) + " |")
        print("| **ratio** | " + " | ".join(f"**{ratio:.0f}x**" for ratio in ratios) + " |")
        if floors:
            for label, table in (("floor", FLOORS), ("aim", AIMS)):
                for bar in [table[name, kind]] if (name, kind) in table else []:
                    marks = [f"{b}x {'ok' if r >= b else 'BELOW'}" for r, b in zip(ratios, bar, strict=True)]
                    print(f"| {label} | " + " | ".join(marks) + " |")


def print_share(batch: int, repeats: int, threads: int) -> None:
    use_threads(threads)
    print(f"\n## Share of the matrix-product rate, {threads} thread(s) (4/3 d³ operations per eigenvalue)\n")
    print("| | gemm GFLOP/s | " + " | ".join(f"d={dim}" for dim in DIMS) + " |\n|---|---" + "|---" * len(DIMS) + "|")
    for dtype in (np.float32, np.float64):
        peak = gemm_rate(dtype)
        cells = []
        for dim in DIMS:
            packed = rows(batch, dim, dtype)
            taken = seconds([lambda p=packed, d=dim: eigenvalue(p, d, d // 2)], repeats)[0]
            rate = 4e-9 / 3 * dim**3 * batch / taken
            cells.append(f"{rate:.0f} ({rate / peak:.0%})")
        print(f"| {dtype.__name__} | {peak:.0f} | " + " | ".join(cells) + " |")


def print_growth(batch: int, repeats: int) -> None:
    dims = (2, 3, 5, 7, 9, 15, 21, 31, 45, 63, 90, 127)
    print(f"\n## Growth with d: nanoseconds per matrix, float32, batch {batch}\n")
    print("| d | " + " | ".join(map(str, dims)) + " |\n|---" + "|---" * len(dims) + "|")
    table: dict[str, list[float]] = {}
    for dim in dims:
        packed = rows(batch, dim, np.float32)
        columns = np.asfortranarray(packed)
        vector = eigenpair(packed, dim, dim // 2).vector
        diagonal, off = packed[:, :dim].copy(), packed[:, 1:dim].copy()
        factor = np.ones(batch, np.float32)
        calls = {
            "eigenvalue": lambda p=packed, d=dim: eigenvalue(p, d, d // 2),
            "eigenpair": lambda p=packed, d=dim: eigenpair(p, d, d // 2),
            "eigenpair, (D, batch) layout": lambda p=columns, d=dim: eigenpair(p, d, d // 2),
            "packed gradient v vᵀ": lambda v=vector, f=factor: eigenvalue_vjp(v, f),
            "tridiagonal eigenvalue": lambda a=diagonal, b=off, d=dim: tridiagonal_eigenvalue(a, b, d // 2),
            "tridiagonal eigenpair": lambda a=diagonal, b=off, d=dim: tridiagonal_eigenpair(a, b, d // 2),
        }
        for name, taken in zip(calls, seconds(list(calls.values()), repeats), strict=True):
            table.setdefault(name, []).append(1e9 * taken / batch)
    for name, cells in table.items():
        print(f"| {name} | " + " | ".join(f"{cell:.0f}" for cell in cells) + " |")


def print_latency(repeats: int) -> None:
    print("\n## One matrix at a time (batch 1): microseconds per call, ours / torch\n")
    print("| | " + " | ".join(f"d={dim}" for dim in DIMS) + " |\n|---" + "|---" * len(DIMS) + "|")
    for dtype in (np.float32, np.float64):
        cells = []
        for dim in DIMS:
            packed = rows(1, dim, dtype)
            full = torch.from_numpy(sym(packed))
            mine, peer = seconds(
                [lambda p=packed, d=dim: eigenpair(p, d, d // 2), lambda f=full: torch.linalg.eigh(f)], 100 * repeats
            )
            cells.append(f"{1e6 * mine:.1f} / {1e6 * peer:.1f} ({peer / mine:.1f}x)")
        print(f"| {dtype.__name__} eigenpair | " + " | ".join(cells) + " |")


def cpu_seconds(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """CPU time of each call of this thread, the best of all; they take turns, four consecutive calls each."""
    best = [float("inf")] * len(calls)
    for place, call in [(place, call) for _ in range(repeats) for place, call in enumerate(calls) for _ in range(4)]:
        start = time.thread_time()
        call()
        best[place] = min(best[place], time.thread_time() - start)
    return best


def reduced(packed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals and off-diagonals of the tridiagonal matrices that LAPACK makes of the rows."""
    found = [ssytrd(full)[1:3] for full in sym(packed)]
    return np.stack([diagonal for diagonal, _ in found]), np.stack([off for _, off in found])


def stage_seconds(batch: int, dim: int, repeats: int) -> dict[str, float]:
    """CPU time per matrix; a stage is what a call with it takes longer than the call without it."""
    packed, k = rows(batch, dim, np.float32), dim // 2
    some = min(batch, 512)
    bands = [np.tile(part, (-(-batch // some), 1))[:batch] for part in reduced(packed[:some])]
    full = torch.from_numpy(sym(packed[:some]))  # enough of them to be slow
    pair, value, narrow_pair, narrow_value, eigh, eigvalsh = cpu_seconds(
        [
            lambda: eigenpair(packed, dim, k),
            lambda: eigenvalue(packed, dim, k),
            lambda: tridiagonal_eigenpair(*bands, k),
            lambda: tridiagonal_eigenvalue(*bands, k),
            lambda: torch.linalg.eigh(full),
            lambda: torch.linalg.eigvalsh(full),
        ],
        repeats,
    )
    parts = {
        "eigenpair": pair / batch,
        "eigenvalue": value / batch,
        "load and reduce": (value - narrow_value) / batch,
        "search for λ": narrow_value / batch,
        "vector": (narrow_pair - narrow_value) / batch,
        "transform back": (pair - value - narrow_pair + narrow_value) / batch,
    }
    return parts | {"eigh": eigh / some, "eigvalsh": eigvalsh / some}


def print_stages(batch: int, repeats: int) -> None:
    use_threads(1)
    square = torch.from_numpy(np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32))
    peak = 2e-9 * 1024**3 / cpu_seconds([lambda: square @ square], 5 * repeats)[0]
    print(f"\n## Stages, float32, batch {batch}, one thread: nanoseconds of CPU time per matrix\n")
    print("| | " + " | ".join(f"d={dim}" for dim in DIMS) + " |\n|---" + "|---" * len(DIMS) + "|")
    table = {dim: stage_seconds(batch, dim, repeats) for dim in DIMS}
    for name in next(iter(table.values())):
        print(f"| {name} | " + " | ".join(f"{1e9 * parts[name]:.0f}" for parts in table.values()) + " |")
    for ours, theirs in (("eigenpair", "eigh"), ("eigenvalue", "eigvalsh")):
        ratios = [f"**{parts[theirs] / parts[ours]:.0f}x**" for parts in table.values()]
        print(f"| **{ours} against {theirs}** | " + " | ".join(ratios) + " |")
    shares = [4e-9 / 3 * dim**3 / parts["load and reduce"] / peak for dim, parts in table.items()]
    print(f"| reduction, of sgemm's {peak:.0f} GFLOP/s | " + " | ".join(f"{share:.0%}" for share in shares) + " |")


def print_crossover(repeats: int) -> None:
    """Native against LAPACK's range solver for large matrices: where SIMD across the batch stops paying."""
    dims = (48, 64, 96, 128, 160, 192, 256, 384, 512)
    print("\n## Crossover: milliseconds per matrix, native / LAPACK syevr (eigenpair)\n")
    print("| | " + " | ".join(f"d={dim}" for dim in dims) + " |\n|---" + "|---" * len(dims) + "|")
    for dtype in (np.float32, np.float64):
        for batch in (1, 8, 64):
            cells = []
            for dim in dims:
                packed = rows(batch, dim, dtype)
                pair = [lambda b=b, p=packed, d=dim: eigenpair(p, d, d // 2, backend=b) for b in ("native", "lapack")]
                mine, peer = seconds(pair, repeats)
                cells.append(f"{1e3 * mine / batch:.3f} / {1e3 * peer / batch:.3f} ({peer / mine:.1f}x)")
            print(f"| {dtype.__name__}, batch {batch} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--crossover", action="store_true", help="only measure native against LAPACK for large d")
    parser.add_argument("--stages", action="store_true", help="only CPU time: ratios, stages, and the share of sgemm")
    arguments = parser.parse_args()
    lambdak.show_config()
    print(f"torch    {torch.__version__}")
    if arguments.stages:
        print_stages(arguments.batch, arguments.repeats)
        return
    use_threads(arguments.threads)
    if arguments.crossover:
        print_crossover(arguments.repeats)
        return
    print_contests(arguments.batch, arguments.repeats, arguments.threads, floors=True)
    print_contests(arguments.batch, max(3, arguments.repeats // 2), 1, floors=False)
    print_share(arguments.batch, arguments.repeats, arguments.threads)
    print_growth(arguments.batch, arguments.repeats)
    print_latency(arguments.repeats)


if __name__ == "__main__":
    main()
