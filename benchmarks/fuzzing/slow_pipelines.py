"""Pipeline files that name nodes, arrays and references often, deep in one another, and claim what is not there."""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lambdak
from lambdak import SpectralRegressor

_MOST_BYTES = 1 << 20  # about, of what is tried to be made

PIPELINE_COUNTS = {
    "names": (1, 3000), "depth": (0, 120), "twice": (1, 4), "numbers": (1, 100_000), "claimed": (0, 1 << 40),
    "kind": (0, 7), "nodes": (0, 8000), "loader": (0, 5), "text": (0, 200_000), "made": (0, 4),
}  # fmt: skip
LOADERS = ("JsonNode", "ListNode", "FunctionNode", "TypeNode", "ObjectNode", "DictNode")
DTYPES = ("<f8", "|S1", "<U1", "|u1", "|b1", "<f4", "<U9", "|V1")


Counts = dict[str, int]


@cache
def honest_pipeline() -> tuple[str, bytes]:
    """A fitted pipeline: reading one first imports all that reading takes, which is no file's cost."""
    path = Path(tempfile.gettempdir()) / f"lambdak-honest-{os.getpid()}.skops"
    model = SpectralRegressor(effort="fast", max_iter=1, dim=2, n_estimators=1, random_state=0)
    fitted = make_pipeline(StandardScaler(), model).fit(np.arange(40.0)[:, None], np.arange(40.0))
    lambdak.save(fitted, path)
    data = path.read_bytes()
    path.unlink()
    return "honest.skops", data


def pipeline_file(counts: Counts, seed: int) -> tuple[str, bytes] | None:
    """A pipeline whose steps hold nodes, arrays and references as often as the counts say; None if it is too large."""
    item = np.dtype(DTYPES[counts["kind"]]).itemsize
    text = 100 * (counts["names"] + counts["nodes"]) + 3 * counts["text"] + 120 * counts["depth"] * counts["twice"]
    if text + counts["numbers"] * item > _MOST_BYTES:
        return None
    files = {"a.npy": _array(counts)}
    content: list[Any] = [_node("JsonNode", '"x"', "str")]
    named = [{**_node("NdArrayNode", None, "ndarray", "numpy"), "type": "numpy", "file": "a.npy"}] * counts["names"]
    if seed % 2:
        named = [{**own, "__id__": 1 + i * (seed % 4 > 1)} for i, own in enumerate(named)]
    content += named
    plain = {"JsonNode": '"' + "x" * (counts["text"] % 7) + '"', "DictNode": {}, "ListNode": []}
    loader = LOADERS[counts["loader"]]
    content += [_node(loader, plain.get(loader), "list" if loader == "ListNode" else "exp", "numpy")] * counts["nodes"]
    content += _made(counts, files)
    content.append(_node("JsonNode", "[" + "[]," * counts["text"] + "1]", "str"))
    inner: dict[str, Any] = _node("ListNode", content, "list")
    for i in range(counts["depth"]):
        inner = {**_node("ListNode", [inner, *[{"__id__": 10**6 + i - 1}] * (counts["twice"] - 1)], "list"),
                 "__id__": 10**6 + i}  # fmt: skip
        inner["content"] = inner["content"][: 1 if i == 0 else None]
    if seed % 3 == 0:
        shape = _node("TupleNode", [], "tuple")
        inner = {**_node("NdArrayNode", [inner] * counts["twice"], "ndarray", "numpy"), "type": "json", "shape": shape}
    return "pipeline.skops", _pipeline({**inner, "protocol": 2}, files)


def _node(loader: str, content: Any, kind: str, module: str = "builtins") -> dict[str, Any]:
    return {"__class__": kind, "__module__": module, "__loader__": loader, "content": content}


def _made(counts: Counts, files: dict[str, bytes]) -> list[dict[str, Any]]:
    """Nodes that make more of what they hold than its bytes: zeros, padded texts, a pool of entropy."""
    many, made = counts["claimed"], counts["made"]
    if made in (1, 2):
        stream = BytesIO()
        np.save(stream, np.array(many))
        files["number.npy"] = stream.getvalue()
        scalar = _node("NdArrayNode", None, ("void", "bytes_")[made - 1], "numpy")
        return [{**scalar, "type": "numpy", "file": "number.npy"}]
    if made == 3:
        texts = _node("JsonNode", json.dumps(["x" * counts["text"], *[""] * (counts["text"] // 3)]), "list")
        return [_node("MaskedArrayNode", {"data": texts, "mask": texts}, "MaskedArray", "numpy.ma")]
    if made == 4:
        state = {"entropy": _node("JsonNode", "0", "int"), "pool_size": _node("JsonNode", str(many), "int")}
        types = _node("ListNode", [_node("TypeNode", None, "str")] * 2, "list")
        seed = {**_node("DictNode", state, "dict"), "key_types": types}
        name = {**_node("DictNode", {"bit_generator": _node("JsonNode", '"PCG64"', "str")}, "dict"), "key_types": types}
        both = {"bit_generator": name, "seed_seq": seed}
        return [_node("RandomGeneratorNode", both, "Generator", "numpy.random._generator")]
    return []


def _array(counts: Counts) -> bytes:
    stream, dtype = BytesIO(), np.dtype(DTYPES[counts["kind"]])
    shape = (counts["claimed"] or counts["numbers"],)
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype.str, "fortran_order": False, "shape": shape})
    return stream.getvalue() + bytes(counts["numbers"] * dtype.itemsize)


def _pipeline(schema: Any, files: dict[str, bytes]) -> bytes:
    inner, outer = BytesIO(), BytesIO()
    with ZipFile(inner, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr("schema.json", json.dumps(schema))
    with ZipFile(outer, "w") as archive:
        archive.writestr("steps.skops", inner.getvalue())
        archive.writestr("model.safetensors", _small())
    return outer.getvalue()


def _small() -> bytes:
    path = Path(tempfile.gettempdir()) / f"lambdak-small-{os.getpid()}.safetensors"
    if not path.exists():
        settings = {"effort": "fast", "max_iter": 1, "dim": 2, "n_estimators": 1, "random_state": 0}
        SpectralRegressor(**settings).fit(np.arange(40.0)[:, None], np.arange(40.0)).save(path)
    return path.read_bytes()
