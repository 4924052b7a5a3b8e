"""Twelve thousand mutated files: each is refused with a ModelFileError, or is a model that predicts finite numbers."""

from __future__ import annotations

import json
import time
from collections import Counter
from copy import deepcopy

import numpy as np
import pytest

import lambdak
from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.store import ModelFileError
from lambdak.store._header import describe
from lambdak.store._tensors import digest, to_bytes

FILES = 12_000
TEXTS = 1_000
SMALL = {"effort": "fast", "dim": 3, "max_iter": 1, "n_estimators": 2, "n_knots": 4, "random_state": 0}
ODD = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**30, 0.0, -0.0, 0.5, 1.5, -2.5, 1e-320, 1e-9, 1e30, 1.7e308,
    "", "x0", "other", "auto", "convex", "curve", "linear", "category", "float32", "float64", "F32", "F64", "Poisson",
    "SpectralRegressor", "SpectralClassifier", "increasing", "\ud800", "a" * 300, [], {}, [[]], [1, 2], ["x"],
    {"float": "nan"}, {"float": "inf"}, {"tuple": [1]}, {"dict": [[1, 2]]}, {"dict": [[[], 1]]}, {"level": "other"},
    {"array": {"dtype": "i8", "values": [1]}}, {"array": {"dtype": "O", "values": [None, "a"]}},
]  # fmt: skip
NUMBERS = [0.0, -1.0, 1e-300, 1e-30, 1e20, 1e38, 1e300, np.nan, np.inf, -np.inf]


def table():
    rng = np.random.default_rng(0)
    X = np.empty((60, 3), object)
    X[:, 0], X[:, 1] = rng.uniform(0, 9, (2, 60))
    X[:, 2] = rng.choice(["red", "green", "blue"], 60)
    X[::9, 1], X[::11, 2] = None, None
    return X, X[:, 0].astype(float) + (X[:, 2] == "red")


X, Y = table()
NAMES_APPEAR = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # from a header that says so
CLASS = np.digitize(Y, [3, 6])


def fitted():
    models = [
        SpectralRegressor(**SMALL, monotonic_cst={"x0": 1}, max_influence=[5.0, np.inf, 2.0]).fit(X, Y),
        SpectralRegressor("huber", **{**SMALL, "n_knots": 0}).fit(X, Y),
        SpectralRegressor("tweedie", **SMALL, shape="convex").fit(X, Y),
        SpectralQuantileRegressor((0.1, 0.5, 0.9), **SMALL).fit(X, Y),
        SpectralClassifier(**SMALL, class_weight={"a": 1, "b": 2.0, "c": 1}).fit(X, np.array(["a", "b", "c"])[CLASS]),
        SpectralClassifier(**SMALL).fit(X, CLASS > 0),
        SpectralOrdinalClassifier(**SMALL, monotonic_cst="decreasing").fit(X, CLASS),
    ]
    return [describe(model._saved()) for model in models]


def pick(rng, choices):
    return choices[rng.integers(len(choices))]


def places(value, path=()):
    """Paths to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def edit(rng, value):
    """Replace, remove, repeat or move one thing in a JSON value."""
    every = list(places(value))
    path = pick(rng, every)
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    match rng.integers(8):
        case 0:
            parent.pop(path[-1])
        case 1 if isinstance(parent, list):
            parent.insert(0, deepcopy(parent[path[-1]]))
        case 1:
            parent[pick(rng, ["new", "name", "__class__", "kind"])] = 1
        case 2 | 3:
            other = value
            for key in pick(rng, every):
                other = other[key]
            parent[path[-1]] = deepcopy(other)
        case 4 if isinstance(parent[path[-1]], float):
            parent[path[-1]] *= pick(rng, [-1, 1 + 1e-9, 0.5, 1e10, 1e-10])
        case _:
            parent[path[-1]] = deepcopy(pick(rng, ODD))
    return value


def bent(rng, tensors):
    """Change numbers, shape, dtype, names or number of the tensors."""
    name = pick(rng, sorted(tensors))
    array = tensors[name] = tensors[name].copy()
    match rng.integers(8):
        case 0:
            tensors.pop(name)
        case 1:
            tensors["extra"] = array
        case 2:
            other = pick(rng, sorted(tensors))
            tensors[name], tensors[other] = tensors[other], tensors[name]
        case 3:
            tensors[name] = pick(rng, [array[:-1], array.ravel(), array[None], array[..., ::-1]])
        case 4:
            tensors[name] = array.astype(pick(rng, [np.float32, np.float64, np.float16, np.int64]))
        case _:
            with np.errstate(over="ignore"):
                array.ravel()[rng.integers(array.size)] = pick(rng, NUMBERS)
    return tensors


def sealed(header, tensors):
    """A file whose checksum fits."""
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return to_bytes({**header, "sha256": digest(header, tensors)}, tensors)


def flipped(rng, data):
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        changed[place] = pick(rng, [changed[place] ^ (1 << rng.integers(8)), 0, 255, int(rng.integers(256))])
    return bytes(changed)


def cut(rng, data):
    start, stop = np.sort(rng.integers(0, len(data) + 1, 2))
    return pick(rng, [data[:start], data[start:], data[:start] + data[stop:], data + data[start:stop], data[:stop] * 2])


def resized(rng, data):
    size = int.from_bytes(data[:8], "little")
    wrong = pick(
        rng, [size - 1, size + 1, size + 8, 0, len(data), 2**40, 2**63, 2**64 - 1, int(rng.integers(2 * size))]
    )
    return wrong.to_bytes(8, "little") + data[8:]


def outer_edit(rng, data):
    """Change the header of the file, not of the model, and keep it JSON."""
    size = int.from_bytes(data[:8], "little")
    head = json.dumps(edit(rng, json.loads(data[8 : 8 + size]))).encode()
    return len(head).to_bytes(8, "little") + head + data[8 + size :]


def mutated(rng, model):
    header, tensors = deepcopy(model)
    data = to_bytes(header, tensors)
    match rng.integers(10):
        case 0 | 1:
            return "flip", flipped(rng, data)
        case 2:
            return "cut", cut(rng, data)
        case 3:
            return "size", resized(rng, data)
        case 4 | 5:
            return "outer", outer_edit(rng, data)
        case 6:
            return "unsealed", to_bytes(edit(rng, header), tensors)
        case 7:
            return "tensors", sealed(header, bent(rng, tensors))
        case _:
            return "header", sealed(edit(rng, header), tensors)


def outcome(load):
    """Whether something was refused; if not, the model must predict finite numbers."""
    began = time.process_time()
    try:
        model = load()
    except ModelFileError as error:
        return "refused" if len(str(error)) < 800 else "refused at length"
    finally:
        assert time.process_time() - began < 1
    for name in ("predict_proba", "predict_quantiles", "predict"):
        if hasattr(model, name):
            assert np.isfinite(getattr(model, name)(X)).all()
            return "loaded"
    raise AssertionError("a model that predicts nothing")


@pytest.fixture(scope="module")
def models():
    before = lambdak.get_num_threads()
    lambdak.set_num_threads(1)  # for such small models more of them only wait for one another
    yield fitted()
    lambdak.set_num_threads(before)


@pytest.mark.slow
@NAMES_APPEAR
def test_mutated_files_are_refused_or_harmless(tmp_path, models):
    rng, seen = np.random.default_rng(0), Counter()
    path = tmp_path / "model.safetensors"
    for _ in range(FILES):
        kind, data = mutated(rng, pick(rng, models))
        path.write_bytes(data)
        seen[kind, outcome(lambda: lambdak.load(path))] += 1
    assert {result for _, result in seen} == {"loaded", "refused"}, seen
    for kind in ("flip", "cut", "size", "unsealed"):  # nearly nothing of these can be harmless
        assert seen[kind, "loaded"] <= 0.1 * seen[kind, "refused"], seen
    assert min(seen["header", result] for result in ("loaded", "refused")) > 100, seen


@pytest.mark.slow
@NAMES_APPEAR
def test_mutated_texts_are_refused_or_harmless(models):
    rng, seen = np.random.default_rng(1), Counter()
    texts = [lambdak.store.layout({**h, "tensors": {n: a.tolist() for n, a in t.items()}}) for h, t in models]
    for _ in range(TEXTS):
        text = pick(rng, texts)
        if rng.random() < 0.5:
            text = json.dumps(edit(rng, json.loads(text)))
        else:
            text = flipped(rng, text.encode()).decode("utf-8", "surrogateescape")
        seen[outcome(lambda text=text: lambdak.from_json(text))] += 1
    assert seen["refused"] > 0.8 * TEXTS, seen
