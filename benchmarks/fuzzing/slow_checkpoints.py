"""Checkpoints that hold long stages, deep values, many scalars and large arrays, with a checksum that fits."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from lambdak.training import checkpoint_file as format_
from lambdak.training.checkpoint_file import CheckpointFile

CHECKPOINT_COUNTS = {
    "stages": (0, 4000), "values": (0, 300_000), "value": (0, 6), "depth": (0, 100_000), "arrays": (0, 4000),
    "numbers": (0, 200_000), "scalars": (0, 100_000), "digits": (1, 20_000), "training": (0, 1),
}  # fmt: skip
_VALUES: tuple[Any, ...] = (0, 1.5, "x", [], {}, None, [[1, 2]])
_CALL = {"X": "1"}


def checkpoint_file(counts: dict[str, int], seed: int) -> tuple[str, bytes] | None:
    """A checkpoint of a fit, whose stages and training hold as much as the counts say; None if it is too large."""
    lengths = ("values", "depth", "scalars", "digits")
    if 4 * sum(counts[name] for name in lengths) + 300 * counts["stages"] + 8 * counts["numbers"] > 1 << 20:
        return None
    rng = np.random.default_rng(0).bit_generator.state
    result = [_VALUES[counts["value"]]] * counts["values"]
    stages = {f"stage {i}": {"result": result if i == 0 else 1, "rng": rng} for i in range(counts["stages"])}
    about: dict[str, Any] = {
        "format": 1,
        "call": {"lambdak": version("lambdak"), **_CALL},
        "start": rng,
        "stages": stages,
    }
    arrays = {}
    if counts["training"]:
        scalars: dict[str, Any] = {"epoch": [1] * counts["scalars"], "rate": int("9" * min(counts["digits"], 4000))}
        about["training"] = {"name": "members", "rng": rng, "scalars": scalars}
        each = counts["numbers"] // max(counts["arrays"], 1)
        arrays = {f"theta {i}": np.zeros(each, np.float32) for i in range(counts["arrays"])}
    text = json.dumps(about)
    if seed % 2:  # what json.dumps would not write
        deep = "[" * counts["depth"] + "]" * counts["depth"]
        text = text.replace('"stages": {', f'"more": {deep}, "digits": {"9" * counts["digits"]}, "stages": {{', 1)
    data = save(arrays, {"lambdak checkpoint": text, "sha256": "0" * 64})
    place = format_._place(data)
    return "fit.checkpoint", data[:place] + format_._checksum(data, place).encode() + data[place + 64 :]


def take_up(path: Path) -> str:
    """What becomes of a fit that finds it: it continues, or names the file in its error."""
    rng = np.random.default_rng(0)
    checkpoint = CheckpointFile(path, 60.0)
    try:
        checkpoint.begin(lambda: _CALL, rng)
    except ValueError as error:
        return "refused" if str(path) in str(error) else f"wrong: {error!r:.100}"
    checkpoint.restored("members")
    return "read"
