"""Small files in the formats of HIGGS and Criteo, for the tests of the paper's real data."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa


def write(path: Path, lines: list[bytes]) -> Path:
    """Write lines as plain text, or compressed as the ending says."""
    data = b"".join(line + b"\n" for line in lines)
    if path.suffix == ".gz":
        data = gzip.compress(data, 1)
    elif path.suffix == ".zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    return path
