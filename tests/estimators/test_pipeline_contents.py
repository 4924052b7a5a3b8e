"""Steps of a pipeline file that are small on disk and would be large in memory are refused before they are read."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import lambdak
from lambdak import SpectralRegressor
from lambdak.estimators.pipeline_contents import check_contents
from lambdak.store import ModelFileError

pytest.importorskip("skops.io")
SMALL = {"effort": "fast", "max_iter": 1, "dim": 2, "n_estimators": 1, "random_state": 0, "n_jobs": 1}
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=400), "b": [f"level {i % 150}" for i in range(400)]})
Y = X["a"].to_numpy()


def node(loader, content=None, module="builtins", kind="list", **more):
    return {"__class__": kind, "__module__": module, "__loader__": loader, "content": content, **more}


def listed(content, **more):
    return node("ListNode", content, **more)


def array_node(file, **more):
    return node("NdArrayNode", None, "numpy", "ndarray", type="numpy", file=file, **more)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def claimed(shape, dtype="<f8"):
    """The header of an array without its numbers."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def compressed(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def steps(schema, **files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr("schema.json", json.dumps({**schema, "protocol": 2}))
    return stream.getvalue()


def scalar(kind):
    return array_node("a.npy") | {"__class__": kind}


def masked(data):
    return node("MaskedArrayNode", {"data": data, "mask": data}, "numpy.ma", "MaskedArray")


def pool(words):
    return node("JsonNode", words, kind="int")


def generator(words, seed=None):
    """A random generator whose seed sequence has a pool of so many words."""
    types = listed([node("TypeNode", kind="str")] * 4)
    name = node("DictNode", {"bit_generator": node("JsonNode", '"PCG64"', kind="str")}, kind="dict", key_types=types)
    if seed is None:
        seed = node("DictNode", {"entropy": pool("0"), "pool_size": words}, kind="dict", key_types=types)
    both = {"bit_generator": name, "seed_seq": seed}
    return node("RandomGeneratorNode", both, "numpy.random._generator", "Generator")


def doubled(depth):
    """A list that is twice in a list, which is twice in a list …"""
    inner = listed([], __id__=1)
    for i in range(2, depth + 2):
        inner = listed([inner, {"__id__": i - 1}], __id__=i)
    return inner


def doubled_before(depth):
    """References that come before what they refer to, in keys that skops reads first."""
    return node(
        "DictNode", {"a": {"__id__": 7}, "b": {"__id__": 7}}, kind="dict", key_types=doubled(depth) | {"__id__": 7}
    )


ZEROS, MEGABYTE = npy(np.zeros(1 << 20)), npy(np.zeros(1 << 17))
LETTERS = npy(np.full(1 << 19, b"x", "S1"))
HOSTILE = {
    "an array named a hundred times": lambda: steps(
        listed([array_node("a.npy", __id__=i) for i in range(1, 101)]), **{"a.npy": ZEROS}
    ),
    "an array named without a name for its node": lambda: steps(
        listed([array_node("a.npy") for _ in range(100)]), **{"a.npy": ZEROS}
    ),
    "bytes named a hundred times": lambda: steps(
        listed([node("BytesNode", kind="bytes", file="a.bin") for _ in range(100)]), **{"a.bin": bytes(1 << 22)}
    ),
    "an array as objects": lambda: steps(
        node("NdArrayNode", [array_node("a.npy", __id__=1), *[{"__id__": 1}] * 20], "numpy", "ndarray", type="json",
             shape=node("TupleNode", [], kind="tuple")), **{"a.npy": LETTERS}
    ),
    "a list twice in a list": lambda: steps(doubled(40)),
    "a list twice in a list, named before": lambda: steps(doubled_before(30)),
    "a claimed shape": lambda: steps(array_node("a.npy"), **{"a.npy": claimed((1 << 40,))}),
    "numbers of no size": lambda: steps(array_node("a.npy"), **{"a.npy": claimed((1 << 40,), "|V0")}),
    "a compressed array": lambda: steps(
        node("SparseMatrixNode", None, "scipy.sparse", "csr_matrix", type="scipy", file="a.npz"),
        **{"a.npz": compressed(data=np.zeros(1 << 24))},
    ),
    "a claimed shape of a compressed array": lambda: steps(
        node("SparseMatrixNode", None, "scipy.sparse", "csr_matrix", type="scipy", file="a.npz"),
        **{"a.npz": zipped(**{"data.npy": claimed((1 << 40,))})},
    ),
    "nodes that know many types": lambda: steps(
        listed([node("FunctionNode", None, "numpy", "exp")] * 20_000)
    ),
    "brackets in a text": lambda: steps(listed([node("JsonNode", "[" + "[]," * 600_000 + "[]]", kind="str")])),
    "deep brackets": lambda: steps(deep(300)),
    "zeros from a number": lambda: steps(scalar("void"), **{"a.npy": npy(np.array(1 << 28))}),
    "text from a number": lambda: steps(scalar("bytes_"), **{"a.npy": npy(np.array(1 << 28))}),
    "texts as long as the longest": lambda: steps(masked(node("JsonNode", json.dumps(["x" * 20_000, *[""] * 20_000])))),
    "texts by their name": lambda: steps(
        listed([node("JsonNode", json.dumps(["x" * 20_000, *[""] * 20_000]), __id__=3), masked({"__id__": 3})])
    ),
    "a pool of entropy that takes its square": lambda: steps(generator(pool("100000"))),
    "a pool by its name": lambda: steps(listed([node("JsonNode", "100000", __id__=3), generator({"__id__": 3})])),
    "a pool in a text": lambda: steps(generator(None, node("JsonNode", '{"entropy": 0, "pool_size": 100000}'))),
    "itself": lambda: steps(listed([{"__id__": 5}], __id__=5)),
}  # fmt: skip


def zipped(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def deep(levels):
    inner = listed([])
    for _ in range(levels):
        inner = listed([inner])
    return inner


@pytest.fixture(scope="module")
def pipeline_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("pipeline") / "pipeline.skops"
    lambdak.save(make_pipeline(StandardScaler(), SpectralRegressor(**SMALL)).fit(X[["a"]], Y), path)
    return path.read_bytes()


def forged(data, new):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        model = archive.read("model.safetensors")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("steps.skops", new)
        archive.writestr("model.safetensors", model)
    return stream.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_expands_is_refused_in_little_memory(name, pipeline_file, tmp_path):
    path = tmp_path / "pipeline.skops"
    path.write_bytes(forged(pipeline_file, HOSTILE[name]()))
    size = path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(
            ModelFileError, match=r"too much for the|as its shape|nested deeper|refer to something|its steps must be"
        ) as caught:
            lambdak.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * size + (1 << 24)
    assert len(str(caught.value)) < 600


def overlapping(count):
    """An archive whose directory lists one entry again and again, under other names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("schema.json", json.dumps({**listed([]), "protocol": 2}))
        archive.writestr("a.npy", ZEROS)
        info = archive.getinfo("a.npy")
        for i in range(count):
            other = zipfile.ZipInfo(f"b{i}.npy")
            other.file_size, other.compress_size, other.CRC = info.file_size, info.compress_size, info.CRC
            other.header_offset = info.header_offset
            archive.filelist.append(other)
    return stream.getvalue()


def test_entries_that_are_the_same_bytes_are_refused():
    with pytest.raises(ModelFileError, match="must not overlap"):
        check_contents(overlapping(5))


HONEST = {
    "categories": lambda: make_pipeline(OneHotEncoder(sparse_output=False)).fit(X[["b"]]),
    "codes": lambda: make_pipeline(OrdinalEncoder()).fit(X[["b"]]),
    "words": lambda: make_pipeline(TfidfVectorizer()).fit(X["b"]),
    "components": lambda: make_pipeline(StandardScaler(), PCA()).fit(RNG.normal(size=(300, 120))),
    "columns in pipelines in pipelines": lambda: make_pipeline(
        make_pipeline(
            ColumnTransformer([
                ("a", make_pipeline(make_pipeline(SimpleImputer(), StandardScaler())), ["a"]),
                ("b", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["b"]),
            ])
        )
    ).fit(X),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_steps_are_far_from_the_limits(name, monkeypatch):
    """Nothing is spared for small files here, so that these count as large ones do."""
    skops = pytest.importorskip("skops.io")
    monkeypatch.setattr("lambdak.estimators.pipeline_contents._SPARE", 0)
    check_contents(skops.dumps(HONEST[name]()))


def test_scalars_masked_arrays_and_random_generators_of_honest_steps_are_read():
    skops = pytest.importorskip("skops.io")
    honest = {
        "numbers": [np.float32(1), np.datetime64(3, "D"), np.longdouble(2), 4],
        "bytes": [np.void(b"abc"), np.bytes_(b"abc"), np.str_("abc"), np.zeros(1, "i4,f8")[0]],
        "masked": [np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0]), np.ma.array([2])],
        "random": [np.random.default_rng(0), np.random.Generator(np.random.MT19937(1)), np.random.RandomState(2)],
    }
    check_contents(skops.dumps(honest))


def test_sparse_matrices_of_honest_steps_are_read():
    skops = pytest.importorskip("skops.io")
    check_contents(
        skops.dumps({"idf": sparse.diags_array(np.ones(5000)).tocsr(), "words": sparse.csr_matrix((3, 10**9))})
    )
