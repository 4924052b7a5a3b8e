"""Small files in the formats of HIGGS and Criteo, for the tests of the paper's real data."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa


def higgs_lines(rows: int, seed: int = 0) -> list[bytes]:
    rng = np.random.default_rng(seed)
    x = rng.normal(2.0, 3.0, (rows, 28))
    y = x[:, 0] * x[:, 1] + rng.normal(0, 2, rows) > 4.0
    return [b",".join(b"%.18e" % v for v in (label, *row)) for label, row in zip(y, x, strict=True)]


def criteo_lines(rows: int, seed: int = 0) -> list[bytes]:
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        integers = [b"" if rng.random() < 0.2 else b"%d" % rng.integers(-2, 5000) for _ in range(13)]
        level = rng.integers(0, 30, 26)
        categories = [b"" if rng.random() < 0.1 else b"%08x" % (int(v) * 0x9E3779B1 % 2**32) for v in level]
        label = b"1" if rng.random() < (0.7 if level[0] < 10 else 0.2) else b"0"
        lines.append(b"\t".join([label, *integers, *categories]))
    return lines


def write(path: Path, lines: list[bytes]) -> Path:
    """Write lines as plain text, or compressed as the ending says."""
    data = b"".join(line + b"\n" for line in lines)
    if path.suffix == ".gz":
        data = gzip.compress(data, 1)
    elif path.suffix == ".zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    return path
