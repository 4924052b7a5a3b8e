"""A signature in a file: it stands for every byte, for the signer and the time, and for one key."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from copy import deepcopy
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hostile_cases import CLASSES, MONOTONE, X, sealed
from safetensors.numpy import load as safetensors_load

import lambdak
from lambdak.store import ModelFileError, SignatureError, claimed_signature, sign_file, verify_file
from lambdak.store._tensors import digest, to_bytes

OURS, THEIRS = (Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in (1, 2))
SIGNER = "Jané Doe <jane@example.org>"
ENTRY = "lambdak-signature"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(sealed(*MONOTONE))
    return tmp_path / "model.safetensors"


@pytest.fixture
def signed(path):
    sign_file(path, OURS, SIGNER)
    return path


def parts(data):
    """Header and tensors of a file."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def whole(header, tensors):
    """The file of a header and tensors, as safetensors lays it out."""
    plain = json.dumps(header, separators=(",", ":")).encode()
    plain += b" " * (-len(plain) % 8)
    return len(plain).to_bytes(8, "little") + plain + tensors


def entry_of(data):
    return json.loads(parts(data)[0]["__metadata__"][ENTRY])


def with_entry(data, **changes):
    """The file with another signature in it."""
    header, tensors = parts(data)
    entry = {**json.loads(header["__metadata__"][ENTRY]), **changes}
    header["__metadata__"][ENTRY] = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    return whole(header, tensors)


def refused(path, match, key=OURS):
    with pytest.raises(ModelFileError, match=match) as caught:
        verify_file(path, key.public_key())
    assert str(caught.value).startswith(f"{str(path)!r} has no valid signature: ")
    with pytest.raises(ModelFileError, match="cannot load"):
        lambdak.load(path, public_key=key.public_key())


def test_a_signature_tells_who_when_with_which_key_and_of_which_model(path):
    before = datetime.now(UTC).replace(microsecond=0)
    signature = sign_file(path, OURS, SIGNER)
    assert verify_file(path, OURS.public_key()) == signature
    assert signature.signer == SIGNER
    assert before <= signature.time <= before + timedelta(minutes=5)
    der = bytes.fromhex("302a300506032b6570032100") + OURS.public_key().public_bytes_raw()
    assert signature.fingerprint == hashlib.sha256(der).hexdigest()
    assert signature.checksum == digest(*MONOTONE)
    claimed = claimed_signature(path)
    assert (claimed.signer, claimed.time, claimed.fingerprint) == (SIGNER, signature.time, signature.fingerprint)


def test_what_is_signed_is_the_file_as_it_was_before_with_signer_time_and_key(path):
    before = path.read_bytes()
    sign_file(path, OURS, SIGNER)
    entry = entry_of(path.read_bytes())
    signature = bytes.fromhex(entry.pop("signature"))
    entry["file"] = hashlib.sha256(before).hexdigest()
    message = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    OURS.public_key().verify(signature, b"lambdak model file, signature 1\n" + message)
    with pytest.raises(InvalidSignature):  # without the line that says what it is for
        OURS.public_key().verify(signature, message)


def test_a_signed_file_is_the_same_model_for_everyone(path):
    before, wanted = path.read_bytes(), lambdak.load(path)
    sign_file(path, OURS, SIGNER)
    for model in (lambdak.load(path), lambdak.load(path, public_key=OURS.public_key())):
        assert model.predict(X).tobytes() == wanted.predict(X).tobytes()
        assert model.to_json() == wanted.to_json()
    for name, array in safetensors_load(before).items():
        np.testing.assert_array_equal(safetensors_load(path.read_bytes())[name], array)
    lambdak.load(path).save(path)  # a file that is saved again is not the one that was signed
    assert path.read_bytes() == before
    assert claimed_signature(path) is None


def test_files_that_are_not_signed_have_the_same_bytes_as_ever():
    header, tensors = MONOTONE
    assert set(parts(to_bytes(header, tensors))[0]["__metadata__"]) == {"lambdak"}
    assert whole(*parts(to_bytes(header, tensors))) == to_bytes(header, tensors)


def test_signing_again_replaces_the_signature(signed, monkeypatch):
    first = signed.read_bytes()
    sign_file(signed, THEIRS, "Somebody Else")
    assert verify_file(signed, THEIRS.public_key()).signer == "Somebody Else"
    refused(signed, "signed with another key")
    monkeypatch.setattr("lambdak.store._signature._now", lambda: datetime.fromisoformat(entry_of(first)["time"]))
    sign_file(signed, OURS, SIGNER)
    assert signed.read_bytes() == first


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_a_change_of_any_byte_is_refused(signed, step):
    data, rng = signed.read_bytes(), random.Random(0)
    key, size = OURS.public_key(), int.from_bytes(data[:8], "little") + 8
    places = {*range(0, size, step), *range(size, len(data), 7 * step), *range(8), *range(size - 16, size)}
    for place in sorted(places):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        signed.write_bytes(changed)
        with pytest.raises(ModelFileError):
            verify_file(signed, key)


def test_bytes_that_change_no_meaning_are_refused_too(signed):
    data = signed.read_bytes()
    header, tensors = parts(data)
    length = int.from_bytes(data[:8], "little")
    text = data[8 : 8 + length].rstrip(b" ")
    tab = text + b"\t" * (-len(text) % 8 or 8)
    spaces = text + b" " * (-len(text) % 8 + 8)
    accent = text.replace(b"u00e9", b"u00E9")
    spaced = text.replace(b'","', b'", "', 1)
    for other in (tab, spaces, accent + b" " * (-len(accent) % 8), spaced + b" " * (-len(spaced) % 8)):
        signed.write_bytes(len(other).to_bytes(8, "little") + other + tensors)
        assert lambdak.load(signed).predict(X) is not None
        refused(signed, "not laid out as it was signed")
    header["__metadata__"]["more"] = "text"
    signed.write_bytes(whole(header, tensors))
    refused(signed, "have changed since it was signed")
    signed.write_bytes(whole(dict(reversed(parts(data)[0].items())), tensors))
    refused(signed, "have changed since it was signed")


def test_a_forged_model_with_a_fitting_checksum_is_refused(signed):
    entry = parts(signed.read_bytes())[0]["__metadata__"][ENTRY]
    header, tensors = deepcopy(MONOTONE)
    tensors["start"][0] += 1e-9
    for forged in (sealed(header, tensors), sealed(*CLASSES)):
        outer, rest = parts(forged)
        outer["__metadata__"][ENTRY] = entry
        signed.write_bytes(whole(outer, rest))
        assert lambdak.load(signed)
        refused(signed, "its contents, signer or time have changed since it was signed")


def test_the_checksum_is_computed_again_and_not_trusted(path):
    header, tensors = deepcopy(MONOTONE)
    header["sha256"] = "0" * 64
    path.write_bytes(to_bytes(header, tensors))
    with pytest.raises(ModelFileError, match=r"cannot sign .* its checksum does not fit its contents"):
        sign_file(path, OURS, SIGNER)
    # A key owner who signs such a file by other means convinces nobody.
    path.write_bytes(sealed(*MONOTONE))
    sign_file(path, OURS, SIGNER)
    outer, rest = parts(path.read_bytes())
    outer["__metadata__"]["lambdak"] = outer["__metadata__"]["lambdak"].replace(digest(*MONOTONE), "0" * 64)
    path.write_bytes(whole(outer, rest))
    refused(path, "its checksum does not fit its contents")


CHANGES = {
    "signer": ({"signer": "Jane Doe"}, "signer or time have changed"),
    "time": ({"time": "2001-01-01T00:00:00+00:00"}, "signer or time have changed"),
    "key": ({"public_key": THEIRS.public_key().public_bytes_raw().hex()}, "signed with another key"),
    "signature": ({"signature": "0" * 128}, "signer or time have changed"),
    "capitals": ({"public_key": OURS.public_key().public_bytes_raw().hex().upper()}, "64 digits of hexadecimal"),
    "short": ({"signature": "00"}, "128 digits of hexadecimal"),
    "no text": ({"signer": 1}, "signer of its signature must be a string"),
    "no name": ({"signer": " "}, "signer must be a name"),
    "two lines": ({"signer": "Jane\nDoe"}, "signer must be a name"),
    "escapes": ({"signer": "Jane\x1b[2J"}, "signer must be a name"),
    "long name": ({"signer": "J" * 5000}, "signer must be a name"),
    "local time": ({"time": "2001-01-01T00:00:00"}, "time must be in UTC"),
    "other zone": ({"time": "2001-01-01T00:00:00+01:00"}, "time must be in UTC"),
    "no time": ({"time": "yesterday"}, "its signature is invalid"),
    "another field": ({"more": "1"}, "unknown field 'more'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_signature_in_the_file_is_refused_and_ignored_without_a_key(signed, name):
    changes, match = CHANGES[name]
    signed.write_bytes(with_entry(signed.read_bytes(), **changes))
    refused(signed, match)
    assert lambdak.load(signed)


@pytest.mark.parametrize("value", ["", "{}", "[]", "null", '{"signer": ', "[" * 9000, 7, None, {}])
def test_nonsense_in_the_place_of_a_signature_is_refused(signed, value):
    header, tensors = parts(signed.read_bytes())
    header["__metadata__"][ENTRY] = value
    signed.write_bytes(whole(header, tensors))
    refused(signed, "its signature")
    with pytest.raises(ModelFileError, match="its signature"):
        claimed_signature(signed)
    assert lambdak.load(signed)


def test_a_file_without_a_signature_is_refused_where_one_is_requested(path):
    with pytest.raises(SignatureError, match=r"has no valid signature: it is not signed"):
        verify_file(path, OURS.public_key())
    with pytest.raises(SignatureError, match=r"cannot load .* it is not signed"):
        lambdak.load(path, public_key=OURS.public_key())
    assert claimed_signature(path) is None


@pytest.mark.parametrize("signer", ["", " ", "a\nb", "a\x00", "\u202eenod", "x" * 201, None, 7])
def test_a_signer_must_be_a_name(path, signer):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="signer must be a name of 1 to 200 characters"):
        sign_file(path, OURS, signer)
    assert path.read_bytes() == before


def test_the_longest_name_has_room(path):
    sign_file(path, OURS, "𝕁" * 200)
    assert verify_file(path, OURS.public_key()).signer == "𝕁" * 200
    assert len(path.read_bytes()) - len(sealed(*MONOTONE)) < 4096 - 500


def test_only_model_files_are_signed(tmp_path):
    (tmp_path / "note.txt").write_text("pay me")
    with pytest.raises(ModelFileError, match=r"cannot sign .*note\.txt"):
        sign_file(tmp_path / "note.txt", OURS, SIGNER)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        sign_file(tmp_path / "nothing", OURS, SIGNER)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        verify_file(tmp_path / "nothing", OURS.public_key())


@pytest.mark.parametrize(("old", "new"), [('"sha256"', '"sha257"'), ('"scale":', '"scale":1e999,"other":')])
def test_a_header_that_no_model_has_is_refused(signed, old, new):
    header, tensors = parts(signed.read_bytes())
    header["__metadata__"]["lambdak"] = header["__metadata__"]["lambdak"].replace(old, new)
    signed.write_bytes(whole(header, tensors))
    refused(signed, "sha256 must be a string|a number that is not finite")


def test_an_interrupted_signing_leaves_the_old_file(signed, monkeypatch):
    before = signed.read_bytes()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        sign_file(signed, THEIRS, "Somebody Else")
    assert signed.read_bytes() == before


def test_without_the_library_it_says_what_to_install_and_all_else_works(signed, monkeypatch):
    key = OURS.public_key()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.setitem(sys.modules, name, None)
    for call in (
        lambda: sign_file(signed, "key.pem", SIGNER),
        lambda: verify_file(signed, "key.pub.pem"),
        lambda: lambdak.load(signed, public_key=key),
        lambda: lambdak.store.create_keys("key.pem"),
    ):
        with pytest.raises(ImportError, match=r'pip install "lambdak\[sign\]"'):
            call()
    assert claimed_signature(signed).signer == SIGNER
    lambdak.load(signed).save(signed)


def test_a_signature_covers_the_training_state(tmp_path):
    path = tmp_path / "model.safetensors"
    lambdak.SpectralRegressor(effort="fast", dim=3, max_iter=1, random_state=0).fit(X, np.arange(len(X))).save(
        path, training_state=True
    )
    sign_file(path, OURS, SIGNER)
    loaded = lambdak.load(path, public_key=OURS.public_key())
    assert loaded.partial_fit(X, np.arange(len(X))).n_iter_
    header, tensors = parts(path.read_bytes())
    inner = json.loads(header["__metadata__"]["lambdak"])
    inner["training"]["values"]["factor"] *= 0.5
    arrays = safetensors_load(path.read_bytes())
    header["__metadata__"]["lambdak"] = json.dumps(
        {**inner, "sha256": digest(inner, arrays)}, sort_keys=True, separators=(",", ":")
    )
    path.write_bytes(whole(header, tensors))
    assert lambdak.load(path)._state.factor < 1
    with pytest.raises(SignatureError, match="have changed since it was signed"):
        lambdak.load(path, public_key=OURS.public_key())
