"""Keys are created once, for their owner alone, and what is no Ed25519 key is named."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from hostile_cases import MONOTONE, sealed

from lambdak.store import create_keys, is_encrypted, public_path, sign_file, verify_file
from lambdak.store._keys import read_private_key, read_public_key

PEM = serialization.Encoding.PEM
PKCS8, SUBJECT = serialization.PrivateFormat.PKCS8, serialization.PublicFormat.SubjectPublicKeyInfo


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model").write_bytes(sealed(*MONOTONE))
    return tmp_path / "model"


def test_a_new_key_signs_and_verifies(tmp_path, model):
    fingerprint = create_keys(tmp_path / "key.pem")
    assert sorted(os.listdir(tmp_path)) == ["key.pem", "key.pub.pem", "model"]
    signature = sign_file(model, tmp_path / "key.pem", "Jane Doe")
    assert signature.fingerprint == fingerprint
    for key in (str(tmp_path / "key.pub.pem"), (tmp_path / "key.pub.pem").read_bytes()):
        assert verify_file(model, key) == signature
    again = sign_file(model, (tmp_path / "key.pem").read_bytes(), "Jane Doe")
    assert again.fingerprint == fingerprint


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_only_its_owner_can_read_a_private_key(tmp_path):
    before = os.umask(0)
    try:
        create_keys(tmp_path / "key.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "key.pub.pem").stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["key.pem", "key.pub.pem"])
def test_no_file_is_overwritten_by_a_key(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match=rf"{name} exists already, and a key is never overwritten"):
        create_keys(tmp_path / "key.pem")
    assert (tmp_path / name).read_text() == "mine"
    assert os.listdir(tmp_path) == [name]


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path):
    (tmp_path / "key.pem").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        create_keys(tmp_path / "key.pem")
    assert os.listdir(tmp_path) == ["key.pem"]


def test_a_key_whose_other_half_cannot_be_written_is_not_left(tmp_path, monkeypatch):
    from lambdak import atomic

    create = atomic.create_bytes

    def fail(path, data, mode):
        if path.name.endswith(".pub.pem"):
            raise OSError("no space")
        create(path, data, mode)

    monkeypatch.setattr(atomic, "create_bytes", fail)
    with pytest.raises(OSError, match="no space"):
        create_keys(tmp_path / "key.pem")
    assert not os.listdir(tmp_path)


def test_a_passphrase_protects_a_key(tmp_path, model):
    create_keys(tmp_path / "key.pem", "correct horse")
    create_keys(tmp_path / "open.pem")
    assert is_encrypted(tmp_path / "key.pem")
    assert not is_encrypted(tmp_path / "open.pem")
    with pytest.raises(ValueError, match=r"key\.pem is encrypted: give its passphrase"):
        sign_file(model, tmp_path / "key.pem", "Jane Doe")
    for wrong in ("battery", ""):
        with pytest.raises(ValueError, match="the passphrase is wrong"):
            sign_file(model, tmp_path / "key.pem", "Jane Doe", passphrase=wrong)
    assert model.read_bytes() == sealed(*MONOTONE)
    sign_file(model, tmp_path / "key.pem", "Jane Doe", passphrase="correct horse")
    verify_file(model, tmp_path / "key.pub.pem")
    sign_file(model, tmp_path / "open.pem", "Jane Doe", passphrase="not needed")
    with pytest.raises(ValueError, match="passphrase must not be empty"):
        create_keys(tmp_path / "other.pem", "")


OTHERS = {
    "RSA": rsa.generate_private_key(65537, 2048),
    "EllipticCurve": ec.generate_private_key(ec.SECP256R1()),
    "Ed448": ed448.Ed448PrivateKey.generate(),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_key_of_another_kind_is_named(tmp_path, model, kind):
    key = OTHERS[kind]
    (tmp_path / "key.pem").write_bytes(key.private_bytes(PEM, PKCS8, serialization.NoEncryption()))
    (tmp_path / "key.pub.pem").write_bytes(key.public_key().public_bytes(PEM, SUBJECT))
    words = "must hold an Ed25519 key; got one of"
    with pytest.raises(ValueError, match=rf"key\.pem {words} .*: create one with lambdak sign --new-key"):
        sign_file(model, tmp_path / "key.pem", "Jane Doe")
    with pytest.raises(ValueError, match=rf"key\.pub\.pem {words}"):
        verify_file(model, tmp_path / "key.pub.pem")


def test_what_is_no_key_is_named(tmp_path):
    create_keys(tmp_path / "key.pem")
    files = {
        "text": b"hello",
        "empty": b"",
        "nul": b"\0" * 100,
        "cut": (tmp_path / "key.pem").read_bytes()[:40],
        "cut.pub": (tmp_path / "key.pub.pem").read_bytes()[:40],
        "certificate": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "openssh": b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        for read in (read_private_key, read_public_key):
            with pytest.raises(ValueError, match=rf"{name} (is not a PEM file|holds )"):
                read(tmp_path / name)
    for read in (read_private_key, read_public_key):
        with pytest.raises(FileNotFoundError, match=r"there is no key file .*none: create one"):
            read(tmp_path / "none")
        with pytest.raises(ValueError, match=r"cannot be read \(it is a folder\): give the path of a PEM file"):
            read(tmp_path)
        with pytest.raises(ValueError, match=r"cannot be read \(it is not a file\): give the path of a PEM file"):
            read(os.devnull)
        with pytest.raises(TypeError, match="a key must be the path of a PEM file, or its bytes; got int"):
            read(7)


def test_the_halves_of_a_key_are_not_mistaken_for_each_other(tmp_path, model):
    create_keys(tmp_path / "key.pem")
    with pytest.raises(ValueError, match=r"key\.pub\.pem holds a public key: signing needs the private one"):
        sign_file(model, tmp_path / "key.pub.pem", "Jane Doe")
    with pytest.raises(ValueError, match=r"key\.pem holds a private key: give the public one"):
        verify_file(model, tmp_path / "key.pem")
    with pytest.raises(TypeError, match="public_key must be a public key"):
        verify_file(model, read_private_key(tmp_path / "key.pem"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_keys_of_openssl_work_and_fingerprints_agree(tmp_path, model):
    private, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    command = ["openssl", "pkey", "-in", private, "-pubout"]
    subprocess.run([*command, "-out", public], check=True, capture_output=True)
    der = subprocess.run([*command, "-outform", "DER"], check=True, capture_output=True).stdout
    hashed = subprocess.run(["openssl", "dgst", "-sha256", "-r"], input=der, check=True, capture_output=True).stdout
    sign_file(model, private, "Jane Doe")
    assert verify_file(model, public).fingerprint == hashed.split()[0].decode()


@pytest.mark.parametrize(
    ("name", "other"), [("key.pem", "key.pub.pem"), ("key", "key.pub"), ("a.b.pem", "a.b.pub.pem")]
)
def test_the_public_key_is_beside_the_private_one(name, other):
    assert public_path(f"folder/{name}").as_posix() == f"folder/{other}"
