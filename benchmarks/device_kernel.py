"""The device kernel without a device: what docs/guide/devices.md says of it.

usage: TRITON_INTERPRET=1 python benchmarks/device_kernel.py accuracy
       TRITON_INTERPRET=1 python benchmarks/device_kernel.py operations
       python benchmarks/device_kernel.py compile
       python benchmarks/device_kernel.py xla

accuracy: hard matrices of every family in Triton's interpreter, LAPACK's test ratios, and agreement with the kernel of
the CPU in units of its bound. operations: what one lane executes, counted there, and what follows from it on paper for
two GPUs. compile: registers, spills and instructions of the binaries for GPUs that are not here. xla: JAX without a
callback on the CPU, its ratios and its time. For someone who has a GPU: device_speed.py.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import lambdak
import torch
from lambdak.eigen.rounding import eigenvalue_error

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "cases"))
from eigen_cases import lapack_ratios, orthogonality_ratio
from matrices import FACTORIES

TYPES = (np.float32, np.float64)
SHOWN = (2, 3, 5, 9, 16, 24, 32)
COMPILED_DIMS = (2, 3, 5, 7, 9, 12, 16, 24, 32)
DIMS = (*range(2, 13), 14, 16, 18, 20, 24, 28, 32)  # an interpreter's time grows with the cube
# Multiprocessors, clock in GHz, warps of float32 and of float64 arithmetic per clock, cycles of a load from L1 and L2.
GPUS = {"A100": (108, 1.41, 2, 1, 33, 200), "H100": (132, 1.755, 4, 2, 33, 260)}


def hard_rows(dim: int, dtype: type[np.floating], each: int) -> np.ndarray:
    """Packed rows of every family of hard matrices."""
    rng = np.random.default_rng(dim)
    rows = [lambdak.unsym(factory(rng, each, dim)) for factory in FACTORIES.values()]
    return np.ascontiguousarray(np.concatenate(rows).astype(dtype))


def judged(rows: np.ndarray, dim: int, index: list[int], value: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Residual, eigenvalue, length, orthogonality, and distance from the CPU's kernel in units of its bound."""
    dtype = rows.dtype
    norm = np.maximum(np.linalg.norm(rows.astype(np.float64), axis=1), np.finfo(dtype).tiny)[:, None]
    apart = np.abs(value - lambdak.eigenvalue(rows, dim, index)) / norm / eigenvalue_error(dim, dtype)
    ratios = lapack_ratios(rows, dim, index, value, vector)
    return np.array([*ratios, orthogonality_ratio(vector), apart.max()])


def several(dim: int) -> list[int]:
    return sorted({0, dim // 2, min(dim // 2 + 1, dim - 1), dim - 1})


def accuracy() -> None:
    """Three matrices of every family, dimension and precision; several indices of the smaller ones."""
    from device_cases import as_a_device

    from lambdak.torch import eigenpair

    count = 0
    for dtype in TYPES:
        worst = {"one": np.zeros(5), "several": np.zeros(5)}
        for dim in DIMS:
            rows = hard_rows(dim, dtype, 3)
            count += len(rows)
            for kind, index in (("one", [(0, dim // 2, dim - 1)[dim % 3]]), ("several", several(dim))):
                if kind == "several" and dim > 6:
                    continue  # the interpreter takes minutes for whole spectra
                with as_a_device():
                    pair = eigenpair(torch.from_numpy(rows), dim, index)
                found = judged(rows, dim, index, *(part.numpy() for part in pair))
                worst[kind] = np.maximum(worst[kind], found)
            print(f"# {dtype.__name__} {dim}: {worst['one'].round(2)} {worst['several'].round(2)}", flush=True)
        for kind, ratios in worst.items():
            print(f"| {dtype.__name__} | {kind} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)
    print(f"{count} matrices")


def executed(dim: int, dtype: type[np.floating]) -> Counter[str]:
    """Operations of a warp of 32 random matrices for one eigenpair: what every lane executes."""
    from device_cases import interpreter
    from triton.runtime.interpreter import InterpreterBuilder

    from lambdak.torch.device import launch

    kinds = {
        "load": ("create_masked_load",),  # of which the plain ones are made
        "store": ("create_masked_store",),
        "divide": ("create_fdiv", "create_precise_divf"), "root": ("create_sqrt", "create_precise_sqrt"),
        "float": ("create_fadd", "create_fsub", "create_fmul"),
    }  # fmt: skip
    counts: Counter[str] = Counter()

    def counted(kind: str, real: object) -> object:
        def call(self: object, *args: object, **kwargs: object) -> object:
            counts[kind] += 1
            return real(self, *args, **kwargs)  # type: ignore[operator]

        return call

    before = {name: getattr(InterpreterBuilder, name) for names in kinds.values() for name in names}
    try:
        for kind, names in kinds.items():
            for name in names:
                setattr(InterpreterBuilder, name, counted(kind, before[name]))
        rows = np.random.default_rng(dim).standard_normal((32, dim * (dim + 1) // 2)).astype(dtype)
        with interpreter():
            launch.solve(torch.from_numpy(rows), dim, [dim // 2], False, True)
    finally:
        for name, real in before.items():
            setattr(InterpreterBuilder, name, real)
    return counts


def operations() -> None:
    """Per dimension: operations of one lane, and millions of eigenpairs a second on paper."""
    print(
        "| d | precision | loads and stores | + - × | ÷ and √ | " + " | ".join(f"{name}, M/s" for name in GPUS) + " |"
    )
    for dtype in TYPES:
        for dim in SHOWN:
            done = executed(dim, dtype)
            memory, slow = done["load"] + done["store"], done["divide"] + done["root"]
            cells = [on_paper(memory, done["float"], slow, gpu, dtype) for gpu in GPUS]
            print(
                f"| {dim} | {dtype.__name__} | {memory} | {done['float']} | {slow} | " + " | ".join(cells) + " |",
                flush=True,
            )


def on_paper(memory: int, plain: int, slow: int, gpu: str, dtype: type[np.floating]) -> str:
    """Millions of eigenpairs a second: at most, and where each access to memory is waited for, in L1 and in L2.

    Assumed: 16 warps a multiprocessor (128 registers a thread), one access of a warp of float32 per clock and half of
    one of float64, 10 instructions for a division or a root, two for the address of an access, four issued per clock.
    """
    units, clock, single, double, near, far = GPUS[gpu]
    wide = dtype == np.float64
    bound = max(
        memory * (2 if wide else 1), (plain + 10 * slow) / (double if wide else single), (3 * memory + plain) / 4
    )
    arithmetic = (plain + 10 * slow) * 4 / 16  # four cycles each, hidden by 16 warps
    rate = [32 * units * clock * 1e3 / cycles for cycles in (
        bound, max(bound, memory * near / 16 + arithmetic), max(bound, memory * far / 16 + arithmetic)
    )]  # fmt: skip
    return " / ".join(f"{value:.3g}" for value in rate)


def built(kernel: object, dtype: str, target: object, block: int, flags: dict[str, bool]) -> object:
    """The binary of a kernel for a GPU."""
    import triton
    from triton.compiler import ASTSource

    from lambdak.torch.device.launch import OPTIONS

    pointer = "*fp64" if dtype == "float64" else "*fp32"
    plain = {"rows": "i32", "n": "i32", "count": "i32", "slots": "i32", "index": "*i32"}
    constants = {"BLOCK": block, **flags}
    signature = {name: "constexpr" if name in constants else plain.get(name, pointer) for name in kernel.arg_names}  # type: ignore[attr-defined]
    return triton.compile(
        ASTSource(fn=kernel, signature=signature, constexprs=constants), target=target, options=OPTIONS
    )


def instructions(binary: object) -> str:
    """Registers, spilled accesses, all instructions, and those that matter, of NVIDIA's machine code."""
    import triton

    tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(binary.asm["cubin"])  # type: ignore[attr-defined]
        usage = subprocess.run(
            [tools / "cuobjdump", "-res-usage", file.name], capture_output=True, text=True, check=True
        )
        code = subprocess.run([tools / "cuobjdump", "-sass", file.name], capture_output=True, text=True, check=True)
    registers, stack = re.search(r"REG:(\d+) STACK:(\d+)", usage.stdout).groups()  # type: ignore[union-attr]
    names = Counter(re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+ )?([A-Z0-9]+)", code.stdout, re.MULTILINE))
    spilled, flops = (
        names["LDL"] + names["STL"],
        sum(names[f"{kind}{op}"] for kind in "FD" for op in ("FMA", "ADD", "MUL")),
    )
    ftz = binary.asm["ptx"].count(".ftz") + binary.asm["ptx"].count("div.full")  # type: ignore[attr-defined]
    cells = (registers, stack, spilled, names.total() - names["NOP"], names["LDG"] + names["STG"], flops, ftz)
    return " | ".join(map(str, cells))


def compiled() -> None:
    """Every kernel in both precisions, for GPUs that are not here."""
    from triton.backends.compiler import GPUTarget

    from lambdak.torch.device.kernels import solve_kernel, vjp_kernel

    kernels = {
        "eigenvalue": (solve_kernel, {"TRIDIAGONAL": False, "VECTORS": False, "SEVERAL": False}),
        "eigenpair": (solve_kernel, {"TRIDIAGONAL": False, "VECTORS": True, "SEVERAL": False}),
        "several pairs": (solve_kernel, {"TRIDIAGONAL": False, "VECTORS": True, "SEVERAL": True}),
        "tridiagonal pair": (solve_kernel, {"TRIDIAGONAL": True, "VECTORS": True, "SEVERAL": False}),
        "derivative of values": (vjp_kernel, {"TRIDIAGONAL": False, "PAIR": False}),
        "derivative of pairs": (vjp_kernel, {"TRIDIAGONAL": False, "PAIR": True}),
    }
    print("| kernel | precision | GPU | registers | stack | spills | instructions | memory | floats | approximate |")
    targets = [GPUTarget("cuda", 80, 32), GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)]
    for name, (kernel, flags) in kernels.items():
        for dtype in ("float32", "float64"):
            for target in targets:
                binary = built(kernel, dtype, target, target.warp_size, flags)
                row = f"| {name} | {dtype} | {target.arch} | "
                if target.backend == "cuda":
                    row += instructions(binary)
                else:
                    text = binary.asm["amdgcn"]  # type: ignore[attr-defined]
                    found = dict(
                        re.findall(r"\.(vgpr_count|vgpr_spill_count|private_segment_fixed_size):\s+(\d+)", text)
                    )
                    count = len(re.findall(r"^\t[vs]_|^\tglobal_|^\tbuffer_|^\tflat_", text, re.MULTILINE))
                    memory = len(re.findall(r"^\t(?:global|buffer|flat|scratch)_", text, re.MULTILINE))
                    cells = (
                        found["vgpr_count"],
                        found["private_segment_fixed_size"],
                        found["vgpr_spill_count"],
                        count,
                        memory,
                    )
                    row += " | ".join(map(str, cells)) + " | | "
                print(row + " |", flush=True)


def xla() -> None:
    """JAX without a callback: ratios over all families, and CPU time beside that of the callback."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from lambdak.jax.device.solve import solve

    count = 0
    for dtype in TYPES:
        worst = {"one": np.zeros(5), "several": np.zeros(5)}
        for dim in COMPILED_DIMS:
            rows = hard_rows(dim, dtype, 6)
            count += len(rows)
            for kind, index in (("one", [(0, dim // 2, dim - 1)[dim % 3]]), ("several", several(dim))):
                if kind == "several" and dim > 9:
                    continue  # XLA's compiler takes its time, too
                pair = solve(jax.numpy.asarray(rows), dim, tuple(index), False, True)
                worst[kind] = np.maximum(worst[kind], judged(rows, dim, index, *map(np.asarray, pair)))
            print(f"# {dtype.__name__} {dim}: {worst['one'].round(2)} {worst['several'].round(2)}", flush=True)
            jax.clear_caches()
        for kind, ratios in worst.items():
            print(f"| {dtype.__name__} | {kind} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)
    print(f"{count} matrices")
    print("| d | precision | XLA, µs of CPU time each | callback | ratio |")
    for dim in (5, 9, 16, 32):
        for dtype in TYPES:
            rows = np.random.default_rng(0).standard_normal((2048, dim * (dim + 1) // 2)).astype(dtype)
            array = jax.numpy.asarray(rows)
            times = [
                cpu_time(
                    lambda array=array, dim=dim: jax.block_until_ready(solve(array, dim, (dim // 2,), False, True))
                ),
                cpu_time(lambda rows=rows, dim=dim: lambdak.eigenpair(rows, dim, dim // 2)),
            ]
            each = [1e6 * seconds / len(rows) for seconds in times]
            print(f"| {dim} | {dtype.__name__} | {each[0]:.2f} | {each[1]:.2f} | {each[0] / each[1]:.1f} |", flush=True)


def cpu_time(call: object, repeats: int = 5) -> float:
    """The least CPU time of a call after one that compiles."""
    call()  # type: ignore[operator]
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()  # type: ignore[operator]
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "operations", "compile", "xla"))
    args = parser.parse_args()
    match args.what:
        case "accuracy":
            accuracy()
        case "operations":
            operations()
        case "compile":
            compiled()
        case "xla":
            xla()


if __name__ == "__main__":
    main()
