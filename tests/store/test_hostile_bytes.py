"""Files that were cut, changed or invalid: a clear error within a second and bounded memory."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import threading
import tracemalloc
from copy import deepcopy
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hostile_cases import CLASSES, MONOTONE, refuse, sealed
from safetensors.numpy import save as as_safetensors

import lambdak
from lambdak.store import ModelFileError, claimed_signature, verify_file
from lambdak.store._tensors import MOST_BYTES, MOST_HEADER_BYTES

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()


def framed(outer, data=b""):
    """A safetensors file with this JSON header, given as a value or as bytes."""
    head = outer if isinstance(outer, bytes) else json.dumps(outer).encode()
    return len(head).to_bytes(8, "little") + head + data


DEEP = b"[" * 10**6 + b"]" * 10**6
RAW = {
    "empty": (b"", "it is not a model file"),
    "short": (b"\x05\x00", "it is not a model file"),
    "csv": (b"age,income,town\n31,2.5,north\n", r"safetensors': it is not a model file: give the path of a file that"),
    "pickle": (b"\x80\x04\x95cos\nsystem\n(S'true'\ntR.", "it is not a model file: give the path"),
    "huge header": (
        (10**12).to_bytes(8, "little") + b"{}",
        "not a whole model file: it has 10 bytes, but declares a header of 1,000,000,000,000 bytes",
    ),
    "long header": (framed(b" " * (MOST_HEADER_BYTES + 1)), "of which at most 16,777,216 are read"),
    "not text": (framed(b"\xff\xfe"), "its header is not text"),
    "not json": (framed(b"{]"), "its header is not JSON"),
    "constants": (framed(b'{"a": NaN}'), "holds NaN, which JSON does not know"),
    "twice": (framed(b'{"a": 1, "a": 2}'), "holds the field 'a' twice"),
    "digits": (framed(b"[" + b"9" * 10_000 + b"]"), "a number with too many digits"),
    "deep lists": (framed(DEEP), "nested deeper than 32 levels"),
    "deep objects": (framed(b'{"a":' * 10**5 + b"1" + b"}" * 10**5), "nested deeper than 32 levels"),
    "open string": (framed(b'"' + b'\\"' * 10**6), "is not JSON"),
    "deep inner header": (framed({"__metadata__": {"lambdak": DEEP.decode()}}), "nested deeper than 32 levels"),
    "many lists": (
        framed(b"[" + b"[]," * 5_000_000 + b"[]]"),
        "holds 10,000,002 values, of which at most 1,048,576 are read",
    ),
    "other safetensors": (as_safetensors({"a": np.zeros(3)}), "not a safetensors file with a header of lambdak"),
    "metadata": (
        as_safetensors({"a": np.zeros(3)}, {"format": "pt"}),
        "the header 'lambdak' must be a string; got None",
    ),
    "inner list": (framed({"__metadata__": {"lambdak": "[]"}}), "the header 'lambdak' must be an object"),
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_model_file_is_refused(tmp_path, name):
    refuse(tmp_path, *RAW[name])


def outer(data):
    """The safetensors header of a file and the rest of it."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"data_offsets": [0, 10**12], "shape": [10**11], "dtype": "F64"}, "shape of tensor 'coef' must be an int in"),
        ({"shape": [2**31, 2**31, 2**31]}, "tensor 'coef' must take .* bytes"),
        ({"shape": [1, 1]}, "tensor 'coef' must take 8 bytes"),
        ({"shape": [-1, 1]}, "shape of tensor 'coef' must be an int"),
        ({"shape": [1.5]}, "shape of tensor 'coef' must be an int"),
        ({"shape": "ab"}, "shape of tensor 'coef' must be a list"),
        ({"dtype": "BOOL"}, "dtype of tensor 'coef' must be one of"),
        ({"dtype": None}, "dtype of tensor 'coef' must be a string"),
        ({"data_offsets": [8, 4]}, "tensor 'coef' must take"),
        ({"data_offsets": [4]}, "data_offsets of tensor 'coef' must have 2 to 2 items"),
        ({"code": 1}, "tensor 'coef' has an unknown field 'code'"),
    ],
)
def test_declared_sizes_are_compared_with_the_file(tmp_path, entry, match):
    head, data = outer(sealed(*MONOTONE))
    head["coef"].update(entry)
    refuse(tmp_path, framed(head, data), match)


def test_gaps_overlaps_and_rests_are_refused(tmp_path):
    head, data = outer(sealed(*MONOTONE))
    refuse(tmp_path, framed(head, data + b"x"), "must take .* bytes as declared")
    refuse(tmp_path, framed(head, data[:-1]), "must take .* bytes as declared")
    shifted = deepcopy(head)
    shifted["start"]["data_offsets"] = [place - 8 for place in head["start"]["data_offsets"]]
    refuse(tmp_path, framed(shifted, data), "overlap or leave gaps")


def test_entries_that_are_swapped_break_the_checksum(tmp_path):
    header, tensors = deepcopy(CLASSES)
    tensors["weights"] = np.array([0.25, 0.75])
    data = sealed(header, tensors)
    refuse(tmp_path, data.replace(tensors["weights"].tobytes(), tensors["weights"][::-1].tobytes()), "its checksum")
    refuse(tmp_path, data.replace(b"SpectralClassifier", b"SpectralClassifieR"), "estimator must be one of")
    refuse(tmp_path, data.replace(b"red", b"rad"), "its checksum does not fit")


def test_a_terabyte_is_neither_read_nor_allocated(tmp_path):
    path = tmp_path / "sparse"
    head = deepcopy(outer(sealed(*MONOTONE))[0])
    head["coef"] = {"dtype": "F64", "shape": [1, 2**16, 2**16], "data_offsets": [0, 2**35]}
    path.write_bytes(framed(head))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="data_offsets of tensor 'coef' must be an int in"):
            lambdak.load(path)
        for length in (10**12, MOST_BYTES):
            os.truncate(path, length)
            with pytest.raises(ModelFileError):
                lambdak.load(path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
@pytest.mark.parametrize("read", [lambdak.load, claimed_signature, partial(verify_file, public_key=KEY)])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        paths = ["pipe", "socket", "loop", "file/below", "a" * 300, "zero\0byte", "", "/dev/zero", "/dev/null"]
        for path in [*paths, *(["/proc/self/mem"] if sys.platform == "linux" else [])]:
            with pytest.raises(ModelFileError, match=r"it cannot be read \(.*\): give the path of a file that model"):
                read(tmp_path / path)


def test_a_file_that_has_nothing_to_read_yet_is_refused_and_not_waited_for(tmp_path, monkeypatch):
    """As /proc/kmsg, which says that it is regular: the system answers that there may be more later."""
    pipe, _writing = os.pipe()
    os.set_blocking(pipe, False)
    (tmp_path / "model").touch()
    about, opened = os.stat(tmp_path / "model"), os.open
    monkeypatch.setattr(os, "open", lambda path, *how: os.dup(pipe) if "model" in str(path) else opened(path, *how))
    monkeypatch.setattr(os, "fstat", lambda _: about)
    with pytest.raises(ModelFileError, match=r"it cannot be read \(it has nothing to read now\): give the path"):
        lambdak.load(tmp_path / "model")


def test_a_file_that_cannot_be_opened_or_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "model").write_bytes(sealed(*MONOTONE))
    for error in (PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EIO, "Input/output error")):
        monkeypatch.setattr(os, "open", Mock(side_effect=error))
        with pytest.raises(ModelFileError, match=rf"'.*model': it cannot be read \({error.strerror.lower()}\): give"):
            lambdak.load(tmp_path / "model")


def test_depth_does_not_depend_on_the_stack_that_is_left(tmp_path):
    """Python's own limit may be set too high for a small stack: the text is measured before it is followed."""
    path, errors = tmp_path / "deep", []
    path.write_bytes(framed(DEEP))

    def attempt():
        try:
            lambdak.load(path)
        except ModelFileError as error:
            errors.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert len(errors) == 1
