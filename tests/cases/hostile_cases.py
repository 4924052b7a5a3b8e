"""Descriptions of small models, files made of them whose checksum fits, and how a file is refused."""

from __future__ import annotations

import time

import numpy as np
import pytest

import lambdak
from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.store import ModelFileError
from lambdak.store._header import describe
from lambdak.store._tensors import digest, to_bytes

SMALL = {"effort": "fast", "dim": 3, "max_iter": 2, "n_estimators": 2, "random_state": 0}
RNG = np.random.default_rng(0)
X = np.empty((80, 4), object)
X[:, 0], X[:, 1], X[:, 2] = RNG.uniform(0, 9, (3, 80))
X[:, 3] = RNG.choice(["red", "green", "blue"], 80)
X[::9, 1] = None
Y = np.sqrt(X[:, 0].astype(float)) + (X[:, 3] == "red")


def made(model, y=Y):
    return describe(model.fit(X, y)._saved())


MONOTONE = made(SpectralRegressor(**SMALL, monotonic_cst=[1, 0, 0, 0]))
CLASSES = made(SpectralClassifier(**SMALL), np.array(["a", "b", "c"])[np.digitize(Y, [2, 3])])


def sealed(header, tensors):
    """A file whose checksum fits, whatever it holds."""
    return to_bytes({**header, "sha256": digest(header, tensors)}, tensors)


def of_format(header, number):
    """A header as it was before files held what is known of the target, and calibrations of quantiles."""
    later = ("target", "calibration")
    return {name: value for name, value in header.items() if name not in later} | {"format": number}


def refuse(tmp_path, data, match):
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    began = time.process_time()
    with pytest.raises(ModelFileError, match=match) as caught:
        lambdak.load(path)
    assert time.process_time() - began < 1
    assert str(caught.value).startswith(f"cannot load {str(path)!r}: ")
    assert len(str(caught.value)) < 600


def put(*path, value):
    """A change of the header: the field at this path becomes ``value``."""

    def change(header, tensors):
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


def fill(name, place, value):
    """A change of a tensor at one place."""

    def change(header, tensors):
        tensors[name][place] = value

    return change
