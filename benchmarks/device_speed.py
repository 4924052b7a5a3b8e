"""The device kernel on a GPU, which nobody has measured so far: the table that this prints is wanted.

usage: python benchmarks/device_speed.py [--device cuda]

First the check that the kernel must pass, then millions of eigenpairs a second, and of gradients through value and
vector, with the kernel and with torch.linalg.eigh.
"""

from __future__ import annotations

import argparse
import time

import lambdak
import torch
from lambdak.torch import device_kernel, eigenpair
from lambdak.torch.device.choice import chosen

DIMS = (2, 3, 5, 9, 16, 24, 32, 48, 64)


def measure(name: str) -> None:
    """The check at first use, then eigenpairs a second with and without the kernel, on a GPU."""
    device = torch.device(name, 0)
    module = torch.get_device_module(device)
    print(f"{module.get_device_name(device)}, PyTorch {torch.__version__}, lambdak {lambdak.__version__}")
    print("| d | precision | batch | kernel, M/s | its gradient | eigh, M/s | its gradient | largest difference |")
    for dtype in (torch.float32, torch.float64):
        print(f"# used in {dtype}: {chosen(torch.empty(1, dtype=dtype, device=device), 9) is not None}")
        for dim in DIMS:
            for batch in (1000, 100_000):
                rows = torch.randn(batch, dim * (dim + 1) // 2, dtype=dtype, device=device)
                columns: list[float] = []
                values = []
                for enabled in (True, False):
                    device_kernel(enabled)
                    if not enabled and batch * dim > 500_000:
                        rows = rows[:10_000]
                    leaf = rows.clone().requires_grad_()

                    def forward(rows: torch.Tensor = rows, dim: int = dim) -> torch.Tensor:
                        return eigenpair(rows, dim, dim // 2).value

                    def gradient(leaf: torch.Tensor = leaf, dim: int = dim) -> None:
                        pair = eigenpair(leaf, dim, dim // 2)
                        (pair.value.sum() + pair.vector[:, 0].square().sum()).backward()

                    values.append(forward())
                    seconds = [waited(call, module) for call in (forward, gradient)]
                    columns += [len(rows) / taken / 1e6 for taken in seconds]
                apart = (values[0][: len(values[1])] - values[1]).abs().max().item()
                cells = " | ".join(f"{value:.3g}" for value in (*columns, apart))
                print(f"| {dim} | {str(dtype)[6:]} | {batch} | {cells} |", flush=True)
    device_kernel(True)


def waited(call: object, module: object, repeats: int = 5) -> float:
    """Median wall time of a call and of the device's work for it, after one that compiles."""
    times = []
    for _ in range(repeats + 1):
        module.synchronize()  # type: ignore[attr-defined]
        start = time.perf_counter()
        call()  # type: ignore[operator]
        module.synchronize()  # type: ignore[attr-defined]
        times.append(time.perf_counter() - start)
    return sorted(times[1:])[repeats // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    measure(parser.parse_args().device)


if __name__ == "__main__":
    main()
