"""A signature that travels in the file: who answers for these bytes, since when, and with which key.

It is one more entry of the header of the safetensors file, beside the model's own: JSON with signer, time, public key
and an Ed25519 signature. What is signed are signer, time, public key and the SHA-256 of the file as it is without that
entry, behind a line that no other signature has. The header is laid out in one way only, so every byte of the file is
either signed or follows from what is signed. Whoever has no public key that they trust learns nothing from a signature:
anybody can create a key, and sign with any name and any time.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from lambdak import atomic
from lambdak.store._fields import ModelFileError, damaged, fields, shown, text
from lambdak.store._keys import fingerprint, read_private_key, read_public_key
from lambdak.store._tensors import (
    CHECKSUM,
    METADATA,
    MOST_BYTES,
    MOST_HEADER_BYTES,
    Head,
    Tensors,
    check_digest,
    opened,
    read_head,
    read_tensors,
)
from lambdak.store._text import canonical, parse
from lambdak.table.shown import Shown

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from lambdak.store._keys import PrivateKey, PublicKey

KEY = "lambdak-signature"
_DOMAIN = b"lambdak model file, signature 1\n"
_FIELDS = ("public_key", "signature", "signer", "time")
_HEX_LENGTHS = {"public_key": 64, "signature": 128}
_MOST_SIGNER = 200  # characters
_ALIGNMENT = 8  # of the header, which safetensors fills up with spaces


class SignatureError(ModelFileError):
    """A file is not signed, or not by this key, or it has changed since."""


@dataclass(frozen=True, repr=False)
class ClaimedSignature(Shown):
    """What a file says about its signature. Nobody has verified it, and anybody could have written it."""

    signer: str
    time: datetime
    fingerprint: str


@dataclass(frozen=True, repr=False)
class Signature(Shown):
    """A signature that was verified with a public key.

    Attributes
    ----------
    signer, time : str, datetime
        As whoever holds the private key said; the time is in UTC.
    fingerprint : str
        SHA-256 of the public key.
    checksum : str
        SHA-256 of the model, as its file holds it and as it was computed again.
    """

    signer: str
    time: datetime
    fingerprint: str
    checksum: str


def sign_file(
    path: str | os.PathLike[str], private_key: PrivateKey, signer: str, *, passphrase: str | None = None
) -> Signature:
    """Add a signature to a file that ``model.save`` wrote, in place of one that is there already.

    ``private_key`` is the path of a PEM file with an Ed25519 key (or its bytes), ``signer`` the name that is signed.
    """
    key = read_private_key(private_key, passphrase)
    _check_signer(signer)
    head, tensors = _read(path)
    public = key.public_key()
    entry = {"public_key": public.public_bytes_raw().hex(), "signer": signer, "time": _now().isoformat()}
    outer = _unsigned(head.outer)
    signed = entry | {"signature": key.sign(_message(entry, _file_digest(outer, head, tensors))).hex()}
    header = _header_bytes({**outer, METADATA: {**outer[METADATA], KEY: canonical(signed)}})
    data = header + b"".join(_in_order(head, tensors))
    if len(header) > MOST_HEADER_BYTES or len(data) > MOST_BYTES:
        raise ValueError(f"{os.fspath(path)!r} has no room for a signature: fit fewer columns")
    atomic.write_bytes(path, data)
    return Signature(signer, datetime.fromisoformat(entry["time"]), fingerprint(public), head.header[CHECKSUM])


def verify_file(path: str | os.PathLike[str], public_key: PublicKey) -> Signature:
    """The signature of a file, verified with the public key of somebody you trust.

    It raises :class:`SignatureError` unless the file is signed with this key and every byte of it is as it was then.
    """
    key = read_public_key(public_key)
    try:
        return check_signature(*_contents(path), key)
    except ModelFileError as error:
        raise SignatureError(f"{os.fspath(path)!r} has no valid signature: {error}") from None


def claimed_signature(path: str | os.PathLike[str]) -> ClaimedSignature | None:
    """What a file says about its signature, without any proof of it; None if it has none."""
    with opened(path) as (file, length):
        entry = _entry(read_head(file, length))
    if entry is None:
        return None
    return ClaimedSignature(entry["signer"], datetime.fromisoformat(entry["time"]), _fingerprint(entry["public_key"]))


def check_signature(head: Head, tensors: Tensors, key: Ed25519PublicKey) -> Signature:
    """The signature of what was read from a file, verified."""
    from cryptography.exceptions import InvalidSignature

    entry = _entry(head)
    if entry is None:
        raise SignatureError("it is not signed")
    if entry["public_key"] != key.public_bytes_raw().hex():
        theirs, ours = _fingerprint(entry["public_key"]), fingerprint(key)
        raise SignatureError(f"it is signed with another key: {theirs} instead of {ours}")
    check_digest(head.header, tensors)
    outer = _unsigned(head.outer)
    signed = {name: value for name, value in entry.items() if name != "signature"}
    try:
        key.verify(bytes.fromhex(entry["signature"]), _message(signed, _file_digest(outer, head, tensors)))
    except InvalidSignature:
        raise SignatureError("its contents, signer or time have changed since it was signed") from None
    if _header_bytes(head.outer) != head.raw:
        raise SignatureError("its header is not laid out as it was signed")
    time = datetime.fromisoformat(entry["time"])
    return Signature(entry["signer"], time, fingerprint(key), head.header[CHECKSUM])


def _read(path: str | os.PathLike[str]) -> tuple[Head, Tensors]:
    """Head and tensors of a file, with a checksum that fits."""
    try:
        head, tensors = _contents(path)
        check_digest(head.header, tensors)
    except ModelFileError as error:
        raise ModelFileError(f"cannot sign {os.fspath(path)!r}: {error}") from None
    return head, tensors


def _contents(path: str | os.PathLike[str]) -> tuple[Head, Tensors]:
    with opened(path) as (file, length):
        head = read_head(file, length)
        return head, read_tensors(file, head)


def _entry(head: Head) -> dict[str, str] | None:
    """The signature as the file holds it, checked field by field; None if it has none."""
    if KEY not in head.outer[METADATA]:
        return None
    written = text(head.outer[METADATA][KEY], "its signature")
    entry = fields(parse(written, "its signature", len(_FIELDS) + 1), "its signature", _FIELDS)
    for name, value in entry.items():
        text(value, f"{name} of its signature")
    for name, length in _HEX_LENGTHS.items():
        if len(entry[name]) != length or entry[name].strip("0123456789abcdef"):
            raise damaged(f"{name} of its signature must be {length} digits of hexadecimal")
    try:
        _check_signer(entry["signer"])
        _check_time(entry["time"])
    except ValueError as error:
        raise damaged(f"its signature is invalid: {error}") from None
    if canonical(entry) != written:
        raise damaged("its signature is not laid out as it was signed")
    return entry


def _check_signer(signer: str) -> None:
    if not isinstance(signer, str) or not signer.strip() or len(signer) > _MOST_SIGNER or not signer.isprintable():
        raise ValueError(f"signer must be a name of 1 to {_MOST_SIGNER} characters on one line; got {shown(signer)}")


def _check_time(time: str) -> None:
    parsed = datetime.fromisoformat(time)
    if parsed.tzinfo != UTC or parsed.isoformat() != time:
        raise ValueError(f"time must be in UTC; got {shown(time)}")


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _fingerprint(public_key: str) -> str:
    """The fingerprint of a key by its bytes in hexadecimal."""
    prefix = bytes.fromhex("302a300506032b6570032100")  # of every Ed25519 key in DER (RFC 8410)
    return hashlib.sha256(prefix + bytes.fromhex(public_key)).hexdigest()


def _message(entry: dict[str, str], digest: str) -> bytes:
    """What is signed."""
    return _DOMAIN + canonical({**entry, "file": digest}).encode()


def _unsigned(outer: dict[str, Any]) -> dict[str, Any]:
    """The header of a file without its signature."""
    return {**outer, METADATA: {name: value for name, value in outer[METADATA].items() if name != KEY}}


def _file_digest(outer: dict[str, Any], head: Head, tensors: Tensors) -> str:
    """SHA-256 of the file with this header."""
    result = hashlib.sha256(_header_bytes(outer))
    for data in _in_order(head, tensors):
        result.update(data)
    return result.hexdigest()


def _header_bytes(outer: dict[str, Any]) -> bytes:
    """The one way to lay out a header, which is also that of the safetensors library."""
    plain = json.dumps(outer, separators=(",", ":")).encode()
    padded = plain + b" " * (-len(plain) % _ALIGNMENT)
    return len(padded).to_bytes(8, "little") + padded


def _in_order(head: Head, tensors: Tensors) -> list[bytes]:
    """The bytes of the tensors in their order in the file."""
    arrays = (tensors[name] for name in sorted(head.starts, key=lambda name: head.starts[name]))
    return [np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes() for array in arrays]
