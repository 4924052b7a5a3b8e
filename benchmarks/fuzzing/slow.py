"""Files that load slowly or take much memory: a search that climbs towards them, by counts, sizes and exponents.

What may be reached is drawn: columns, levels, knots, dims, members, outputs, how far exponents spread, promises;
in pipeline files how often something is named, how deep, and what arrays claim. Each round starts somewhere, changes
one count after the other, and keeps a change that made loading slower (or larger) for a byte of the file. A file fails
if it takes more CPU seconds, or more memory beside what the process had, than the aim allows.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

import lambdak
from fuzzing.models import FOLDER, described
from fuzzing.trial import TooMuchError, Trial, WrongError
from lambdak import SpectralRegressor
from lambdak.store import ModelFileError
from lambdak.store._tensors import as_safetensors, digest

LARGEST = 1 << 20  # bytes of a file that the aim is about
SECONDS = 10.0  # of CPU
SPARE, TIMES = 48 << 20, 10  # bytes that any file may take, and this many times its length
STEPS = 5  # changes of one climb
GIVE_UP = 1.5 * SECONDS  # CPU seconds after which a child is stopped

Counts = dict[str, int]


class Cost(NamedTuple):
    """What loading a file took."""

    seconds: float
    memory: int
    outcome: str

    def share(self, size: int) -> float:
        """The larger part of what is allowed."""
        return max(self.seconds / SECONDS, self.memory / (SPARE + TIMES * size))


# ---- what a load takes ---------------------------------------------------------------------------------------------


def cost(load: Callable[[], Any]) -> Cost:
    """CPU seconds and peak memory of a call in a forked child, beside what the process had before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _measure_in_child(load, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return Cost(*pickle.loads(answer)) if answer else Cost(GIVE_UP, 0, "stopped")


def _measure_in_child(load: Callable[[], Any], writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + GIVE_UP), resource.RLIM_INFINITY))
    _forget_peak()
    before, began = _peak(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load()
        outcome = "read"
    except ModelFileError as error:
        outcome = "not proven" if "is not proven" in str(error) else "refused"
    except BaseException as error:
        outcome = f"wrong: {type(error).__name__}: {str(error)[:200]}"
    answer = pickle.dumps((time.process_time() - began, max(0, _peak() - before), outcome))
    os.write(writing, answer)
    os._exit(0)


def _forget_peak() -> None:
    """A forked child starts with its parent's peak; Linux forgets it on request."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Bytes that the process had in memory at most."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ---- model files ---------------------------------------------------------------------------------------------------

MODEL_COUNTS = {
    "dim": (1, 128), "columns": (1, 6000), "knots": (1, 4000), "levels": (1, 60_000), "members": (1, 64),
    "spread": (0, 900), "rank": (0, 128), "categories": (0, 2000), "outputs": (1, 300), "kind": (0, 4),
    "promise": (0, 6), "form": (0, 3),
}  # fmt: skip


def model_parts(counts: Counts, seed: int) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Header and tensors of a model with these counts; None if it would be too large."""
    rng, base = np.random.default_rng(seed), described()[(0, 2, 4, 5, 7)[counts["kind"]]]
    header, dim = json.loads(json.dumps(base[0])), counts["dim"]
    numbers = [_curve(i, counts["knots"], header["encoder"]["clamp"]) for i in range(counts["columns"])]
    words = [_category(len(numbers) + i, counts["levels"]) for i in range(counts["categories"])]
    header["columns"] = numbers + words
    header["encoder"]["from_names"] = False
    header |= {"dim": dim, "members": counts["members"], "indices": [dim - 1 if counts["kind"] == 1 else 0]}
    header["dtype"] = "float64" if counts["spread"] > 60 else "float32"
    outputs, levels = _outputs(header, counts)
    pencils = counts["members"] * (outputs if counts["kind"] == 3 else 1)
    width = dim * (dim + 1) // 2
    design = 1 + len(numbers) * counts["knots"] + len(words) * counts["levels"] + levels
    if 8 * pencils * design * width > LARGEST * (1 if counts["form"] < 2 else 0.2):
        return None
    header["parameters"] = _settings(header, counts, len(numbers), len(header["columns"]))
    coef = np.zeros((pencils, design, width))
    for own in coef:
        _fill(rng, own, counts)
    weights = np.full(counts["members"], 1 / counts["members"])
    coef = coef.astype(header["dtype"])
    return header, {"coef": coef, "start": np.zeros(outputs), "weights": weights}


def _curve(i: int, knots: int, clamp: bool) -> dict[str, Any]:
    return {
        "kind": "curve", "name": f"x{i}", "knots": [float(j) for j in range(knots)], "median": 0.0, "missing": False
    }  # fmt: skip


def _category(i: int, levels: int) -> dict[str, Any]:
    return {"kind": "category", "name": f"x{i}", "levels": list(range(levels))}


def _outputs(header: dict[str, Any], counts: Counts) -> tuple[int, int]:
    """How many outputs, and matrices of levels; the loss and the classes say the same."""
    several = counts["outputs"] + 1
    if counts["kind"] == 2:
        header["loss"]["quantiles"] = [(i + 1) / (several + 1) for i in range(several)]
        return several, several
    if counts["kind"] in (3, 4):
        classes = several + 1
        header["loss"]["n_classes"] = classes
        header["classes"] = {"array": {"dtype": "i8", "values": list(range(classes))}}
        return (classes, 0) if counts["kind"] == 3 else (several, several)
    return 1, 0


def _settings(header: dict[str, Any], counts: Counts, numbers: int, columns: int) -> dict[str, Any]:
    """What is promised; all other settings would only have to fit."""
    kept = {key: value for key, value in header["parameters"].items() if key in ("loss", "shape")}
    signs = {"array": {"dtype": "i8", "values": [1] * numbers + [0] * (columns - numbers)}}
    names = {"tuple": [f"x{i}" for i in range(columns)]}
    more: dict[str, Any] = [
        {}, {"monotonic_cst": signs}, {"max_influence": 1e30}, {"max_influence": {"dict": [[names, 1e30]]}},
        {"interaction_cst": "no_interactions"}, {"interaction_cst": [[f"x{i}"] for i in range(columns)]},
        {"monotonic_cst": signs, "max_influence": 1e30},
    ][counts["promise"]]  # fmt: skip
    return {**kept, **more}


def _fill(rng: np.random.Generator, own: np.ndarray, counts: Counts) -> None:
    """Rising steps of a given rank whose entries spread over so many powers of two, row by row."""
    dim, rank = counts["dim"], min(counts["rank"], counts["dim"])
    rows, cols = np.tril_indices(dim)
    total = np.zeros(len(rows))
    for row in own:
        factor = rng.integers(-9, 10, (dim, max(rank, 1))).astype(float)
        scale = np.ldexp(1.0, -rng.integers(0, counts["spread"] // 2 + 1, dim))
        factor *= scale[:, None]
        full = factor @ factor.T if rank else np.zeros((dim, dim))
        total = total + np.where(rows == cols, full[rows, cols], np.sqrt(2) * full[rows, cols])
        row[:] = total


def model_file(counts: Counts, seed: int) -> Callable[[], Any] | None:
    """Loading a model with these counts, as a file or as a text, with or without what training needs."""
    parts = model_parts(counts, seed)
    if parts is None:
        return None
    header, tensors = parts
    if counts["form"] in (1, 3):
        header, tensors = _with_training(header, tensors, counts)
    header["sha256"] = digest(header, tensors)
    if counts["form"] < 2:
        return Loading(bytes(as_safetensors(tensors, {"lambdak": json.dumps(header)})), "model.safetensors")
    listed = {name: array.tolist() for name, array in tensors.items()}
    return Loading(json.dumps({**header, "tensors": listed}).encode(), "model.json")


def _with_training(header: Any, tensors: Any, counts: Counts) -> tuple[Any, Any]:
    """A training state whose arrays claim to be as long as the counts say."""
    arrays = {"effects": np.zeros(len(header["columns"])), "mean": np.zeros(tensors["coef"].shape[1])}
    design = min(tensors["coef"].shape[1], 300)
    arrays["covariance"] = np.zeros(design * (design + 1) // 2)
    arrays |= {f"theta {i}": np.zeros((1, 1, 1), np.float32) for i in range(min(counts["outputs"], 300))}
    described_ = {name: {"dtype": own.dtype.name, "shape": list(own.shape)} for name, own in arrays.items()}
    values = {"regularisations": [[1.0, 0.0]] * counts["members"], "quantile_shift": None, "factor": 0.5,
              "dropped": list(range(len(header["columns"]))), "rewritten": []}  # fmt: skip
    training = {"arrays": described_, "values": values}
    return {**header, "training": training}, {**tensors, **{f"training.{name}": own for name, own in arrays.items()}}


# ---- pipeline files ------------------------------------------------------------------------------------------------

PIPELINE_COUNTS = {
    "names": (1, 3000), "depth": (0, 120), "twice": (1, 4), "numbers": (1, 100_000), "claimed": (0, 1 << 40),
    "kind": (0, 7), "nodes": (0, 8000), "loader": (0, 5), "text": (0, 200_000),
}  # fmt: skip
LOADERS = ("JsonNode", "ListNode", "FunctionNode", "TypeNode", "ObjectNode", "DictNode")
DTYPES = ("<f8", "|S1", "<U1", "|u1", "|b1", "<f4", "<U9", "|V1")


def pipeline_file(counts: Counts, seed: int) -> Callable[[], Any] | None:
    """Loading a pipeline whose steps hold nodes, arrays and references as often as the counts say."""
    files = {"a.npy": _array(counts)}
    content: list[Any] = [_node("JsonNode", '"x"', "str")]
    named = [{**_node("NdArrayNode", None, "ndarray", "numpy"), "type": "numpy", "file": "a.npy"}] * counts["names"]
    if seed % 2:
        named = [{**own, "__id__": 1 + i * (seed % 4 > 1)} for i, own in enumerate(named)]
    content += named
    plain = {"JsonNode": '"' + "x" * (counts["text"] % 7) + '"', "DictNode": {}, "ListNode": []}
    loader = LOADERS[counts["loader"]]
    content += [_node(loader, plain.get(loader), "list" if loader == "ListNode" else "exp", "numpy")] * counts["nodes"]
    content.append(_node("JsonNode", "[" + "[]," * counts["text"] + "1]", "str"))
    inner: dict[str, Any] = _node("ListNode", content, "list")
    for i in range(counts["depth"]):
        inner = {**_node("ListNode", [inner, *[{"__id__": 10**6 + i - 1}] * (counts["twice"] - 1)], "list"),
                 "__id__": 10**6 + i}  # fmt: skip
        inner["content"] = inner["content"][: 1 if i == 0 else None]
    if seed % 3 == 0:
        shape = _node("TupleNode", [], "tuple")
        inner = {**_node("NdArrayNode", [inner] * counts["twice"], "ndarray", "numpy"), "type": "json", "shape": shape}
    data = _pipeline({**inner, "protocol": 2}, files)
    return Loading(data, "pipeline.skops") if len(data) <= LARGEST else None


def _node(loader: str, content: Any, kind: str, module: str = "builtins") -> dict[str, Any]:
    return {"__class__": kind, "__module__": module, "__loader__": loader, "content": content}


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


# ---- the search ----------------------------------------------------------------------------------------------------


class Loading:
    """Loading one file or text."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name

    def __call__(self) -> Any:
        """Load it as its users do."""
        if self.name.endswith(".json"):
            return lambdak.from_json(self.data.decode())
        path = FOLDER / f"slow-{os.getpid()}-{self.name}"
        path.write_bytes(self.data)
        return lambdak.load(path)


FAMILIES: dict[str, tuple[dict[str, tuple[int, int]], Callable[[Counts, int], Any]]] = {
    "model": (MODEL_COUNTS, model_file),
    "pipeline": (PIPELINE_COUNTS, pipeline_file),
}


def target(trial: Trial) -> str:
    """Climb from one file to slower and larger ones; none may take more than the aim."""
    family = trial.pick(["model", "model", "model", "pipeline"])
    ranges, make = FAMILIES[family]
    rng = np.random.default_rng(trial.seed())
    counts, seed = _drawn(rng, ranges), int(rng.integers(1 << 30))
    best, outcome = -1.0, "too large"
    for _ in range(STEPS):
        other = _changed(rng, counts, ranges) if best >= 0 else counts
        loading = make(other, seed)
        for _ in range(30):
            if loading is not None:
                break
            other = _smaller(rng, other, ranges)
            loading = make(other, seed)
        if loading is None:
            continue
        took = cost(loading)
        _check(trial, loading, took, other)
        if (share := took.share(len(loading.data))) > best:
            best, counts, outcome = share, other, f"{family} {took.outcome}"
    trial.notes |= {"best": best, "counts": counts}
    return outcome


def _check(trial: Trial, loading: Any, took: Cost, counts: Counts) -> None:
    size = len(loading.data)
    trial.kept[loading.name], trial.notes["cost"] = loading.data, took._asdict()
    if took.seconds > SECONDS or took.memory > SPARE + TIMES * size:
        words = f"{took.seconds:.1f} s and {took.memory / 1e6:.0f} MB for {size:,} bytes"
        raise TooMuchError(f"{words}, {took.outcome}: {counts}")
    if took.outcome.startswith("wrong") or took.outcome == "stopped":
        raise WrongError(f"{took.outcome}: {counts}")


def _drawn(rng: np.random.Generator, ranges: dict[str, tuple[int, int]]) -> Counts:
    """Counts of any order of magnitude."""
    return {name: _any(rng, *ends) for name, ends in ranges.items()}


def _any(rng: np.random.Generator, low: int, high: int) -> int:
    """Small or large, and often an end of the range."""
    if high - low < 9 or rng.random() < 0.1:
        return int(rng.integers(low, high + 1)) if high - low < 9 else int(rng.choice([low, high]))
    return int(min(high, low - 1 + np.exp(rng.uniform(0, np.log(high - low + 2)))))


def _changed(rng: np.random.Generator, counts: Counts, ranges: dict[str, tuple[int, int]]) -> Counts:
    """One or two counts drawn again, or made larger."""
    names = rng.choice(sorted(ranges), 1 + int(rng.random() < 0.4), replace=False)
    more = {
        name: _any(rng, *ranges[name]) if rng.random() < 0.5 else min(ranges[name][1], 3 * counts[name] // 2 + 1)
        for name in map(str, names)
    }
    return {**counts, **more}


def _smaller(rng: np.random.Generator, counts: Counts, ranges: dict[str, tuple[int, int]]) -> Counts:
    """Some count halved, so that the file may become small enough."""
    name = str(rng.choice(sorted(ranges)))
    return {**counts, name: max(ranges[name][0], counts[name] // 2)}
