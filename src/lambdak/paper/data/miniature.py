"""Small random files in the formats of HIGGS and Criteo: to try a pipeline in seconds, without the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lambdak.atomic import write_bytes

_HASH = 0x9E3779B1  # spreads level numbers over 32 bits
_LEVELS = 30


def higgs_lines(rows: int, seed: int = 0) -> list[bytes]:
    """Lines of HIGGS.csv whose label depends on the product of the first two features."""
    rng = np.random.default_rng(seed)
    x = rng.normal(2.0, 3.0, (rows, 28))
    y = x[:, 0] * x[:, 1] + rng.normal(0.0, 2.0, rows) > 4.0
    return [b",".join(b"%.18e" % cell for cell in (label, *row)) for label, row in zip(y, x, strict=True)]


def criteo_lines(rows: int, seed: int = 0) -> list[bytes]:
    """Lines of Criteo's train.txt whose label depends on the first category."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, _LEVELS, (rows, 26))
    integers = rng.integers(-2, 5000, (rows, 13))
    numbers = np.where(rng.random((rows, 13)) < 0.2, b"", np.char.mod(b"%d", integers))
    texts = np.where(rng.random((rows, 26)) < 0.1, b"", np.char.mod(b"%08x", level * _HASH % 2**32))
    clicked = rng.random(rows) < np.where(level[:, 0] < _LEVELS // 3, 0.9, 0.1)
    return [
        b"\t".join([b"%d" % label, *number, *text])
        for label, number, text in zip(clicked, numbers.tolist(), texts.tolist(), strict=True)
    ]


def write_miniature(name: str, folder: Path, rows: int = 2000) -> Path:
    """A small file in the format of "higgs" or "criteo"; it is left alone if it is there."""
    lines, file = {"higgs": (higgs_lines, "HIGGS.csv"), "criteo": (criteo_lines, "train.txt")}[name]
    path = folder / f"miniature-{file}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(path, b"".join(line + b"\n" for line in lines(rows)))
    return path
