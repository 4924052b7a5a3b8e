"""Ed25519 keys in PEM files: created once, never overwritten, and readable by their owner alone."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lambdak import atomic
from lambdak.atomic import reason, regular_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    PrivateKey = str | os.PathLike[str] | bytes | Ed25519PrivateKey
    PublicKey = str | os.PathLike[str] | bytes | Ed25519PublicKey

_MOST_BYTES = 1 << 16
_LABEL = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----")
_NEW = "create one with lambdak sign --new-key key.pem"


def create_keys(path: str | os.PathLike[str], passphrase: str | None = None) -> str:
    """Write a new private key to ``path``, and its public key beside it; returns the fingerprint of the key.

    key.pem is for its owner alone (mode 0600), and encrypted if there is a passphrase; key.pub.pem is for everyone who
    verifies. A file that exists is never overwritten.
    """
    _, ed25519, _ = _cryptography()
    if passphrase == "":
        raise ValueError("passphrase must not be empty: give None for a key that is not encrypted")
    private, public = Path(path), public_path(path)
    for each in (private, public):
        if os.path.lexists(each):
            raise FileExistsError(f"{each} exists already, and a key is never overwritten: choose another name")
    key = ed25519.Ed25519PrivateKey.generate()
    atomic.create_bytes(private, _private_pem(key, passphrase), 0o600)
    try:
        atomic.create_bytes(public, _public_pem(key.public_key()), 0o644)
    except BaseException:
        private.unlink()  # nothing was signed with it yet
        raise
    return fingerprint(key.public_key())


def _private_pem(key: Any, passphrase: str | None) -> bytes:
    serialization, _, _ = _cryptography()
    hidden = serialization.NoEncryption()
    if passphrase is not None:
        hidden = serialization.BestAvailableEncryption(passphrase.encode())
    return bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden))


def _public_pem(key: Any) -> bytes:
    serialization, _, _ = _cryptography()
    return bytes(key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))


def public_path(path: str | os.PathLike[str]) -> Path:
    """Where the public key of a private one is.

    >>> public_path("key.pem").name
    'key.pub.pem'
    """
    private = Path(path)
    return private.with_name(f"{private.stem}.pub{private.suffix}")


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of a public key in DER: short enough to compare over the telephone."""
    serialization, _, _ = _cryptography()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def is_encrypted(path: str | os.PathLike[str]) -> bool:
    """Whether a private key needs a passphrase."""
    return b"ENCRYPTED" in _pem(path)[0]


def read_private_key(key: PrivateKey, passphrase: str | None = None) -> Ed25519PrivateKey:
    """The private key in a PEM file, or in the bytes of one."""
    serialization, ed25519, unsupported = _cryptography()
    result: Ed25519PrivateKey
    if isinstance(key, ed25519.Ed25519PrivateKey):
        result = key
        return result
    data, name = _pem(key)
    if b"PUBLIC KEY" in _label(data, name):
        raise ValueError(f"{name} holds a public key: signing needs the private one")
    secret = b"ENCRYPTED" in data
    if secret and passphrase is None:
        raise ValueError(f"{name} is encrypted: give its passphrase")
    try:
        loaded = serialization.load_pem_private_key(data, passphrase.encode() if secret and passphrase else None)
    except (ValueError, TypeError, unsupported) as error:
        reason = "the passphrase is wrong, or the file is damaged" if secret else "it is damaged or of another format"
        raise ValueError(f"{name} holds no private key that can be read: {reason}; {_NEW}") from error
    result = _of_type(loaded, ed25519.Ed25519PrivateKey, name)
    return result


def read_public_key(key: PublicKey) -> Ed25519PublicKey:
    """The public key in a PEM file, or in the bytes of one."""
    serialization, ed25519, unsupported = _cryptography()
    result: Ed25519PublicKey
    if isinstance(key, ed25519.Ed25519PublicKey):
        result = key
        return result
    if isinstance(key, ed25519.Ed25519PrivateKey):
        raise TypeError("public_key must be a public key; got a private one: give key.public_key()")
    data, name = _pem(key)
    if b"PRIVATE KEY" in _label(data, name):
        raise ValueError(f"{name} holds a private key: give the public one, such as {public_path('key.pem')}")
    try:
        loaded = serialization.load_pem_public_key(data)
    except (ValueError, TypeError, unsupported) as error:
        raise ValueError(f"{name} holds no public key that can be read: it is damaged or of another format") from error
    result = _of_type(loaded, ed25519.Ed25519PublicKey, name)
    return result


def _pem(key: Any) -> tuple[bytes, str]:
    """The bytes of a key, and what to call it in an error."""
    if isinstance(key, bytes):
        return key, "the key"
    if not isinstance(key, str | os.PathLike):
        raise TypeError(f"a key must be the path of a PEM file, or its bytes; got {type(key).__name__}")
    name = os.fspath(key)
    try:
        with regular_file(key) as (file, _):
            return file.read(_MOST_BYTES), name
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no key file {name}: {_NEW}") from None
    except OSError as error:
        raise ValueError(
            f"{name} cannot be read ({reason(error)}): give the path of a PEM file, or its bytes"
        ) from None


def _label(data: bytes, name: str) -> bytes:
    match = _LABEL.search(data)
    if match is None:
        raise ValueError(f"{name} is not a PEM file, which has a line such as -----BEGIN PUBLIC KEY-----: {_NEW}")
    return match[1]


def _of_type(key: Any, wanted: type[Any], name: str) -> Any:
    if not isinstance(key, wanted):
        kind = re.sub(r"^_|_?(Private|Public)Key$", "", type(key).__name__)
        raise ValueError(f"{name} must hold an Ed25519 key; got one of {kind}: {_NEW}")
    return key


def _cryptography() -> tuple[Any, Any, type[Exception]]:
    """The parts of the library that are needed here; it is optional."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ImportError('signatures need the library cryptography: pip install "lambdak[sign]"') from error
    return serialization, ed25519, UnsupportedAlgorithm
