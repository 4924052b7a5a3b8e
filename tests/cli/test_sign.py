"""``lambdak sign`` and ``lambdak verify-signature``: keys, signatures, exit codes, and what certify says of them.

Tests ``verify_signature``.
"""

from __future__ import annotations

import json

import pytest
from cli_cases import done, process, refused, run

import lambdak
from lambdak.store import create_keys, verify_file

JANE = ["--signer", "Jane Doe"]


@pytest.fixture
def folder(shelf, tmp_path, monkeypatch):
    """A folder with a model, and the keys of two people."""
    (tmp_path / "model.safetensors").write_bytes((shelf / "y.safetensors").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAMBDAK_PASSPHRASE", raising=False)
    for name in ("key.pem", "other.pem"):
        create_keys(name)
    return tmp_path


def test_a_new_key_signs_and_its_public_half_verifies(folder):
    made = done(["sign", "--new-key", "mine.pem"]).stdout
    assert "mine.pem: the private key; keep it secret" in made
    assert "mine.pub.pem: the public key" in made
    signed = done(["sign", "model.safetensors", "--key", "mine.pem", *JANE]).stdout
    signature = verify_file("model.safetensors", "mine.pub.pem")
    valid = run(["verify-signature", "model.safetensors", "--key", "mine.pub.pem"])
    assert valid.exit_code == 0
    for text in (signed, valid.stdout):
        for words in ("Jane Doe", signature.time.isoformat(), signature.fingerprint, signature.checksum):
            assert words in text
    assert signature.fingerprint in made
    assert "proves nothing: anybody can sign with any name" in valid.stderr


def test_the_model_is_that_of_the_other_commands_by_default(folder):
    done(["sign", "--key", "key.pem", *JANE])
    done(["verify-signature", "--key", "key.pub.pem"])
    lambdak.load("model.safetensors", public_key="key.pub.pem")


def test_json_of_both_commands(folder):
    made = json.loads(done(["sign", "--new-key", "mine.pem", "--json"]).stdout)
    assert made["private_key"] == "mine.pem"
    assert made["public_key"] == "mine.pub.pem"
    signed = json.loads(done(["sign", "--key", "mine.pem", *JANE, "--json"]).stdout)
    valid = json.loads(done(["verify-signature", "--key", "mine.pub.pem", "--json"]).stdout)
    assert valid.pop("valid") is True
    assert signed == valid
    assert valid["fingerprint"] == made["fingerprint"]
    result = run(["verify-signature", "--key", "key.pub.pem", "--json"])
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["valid"] is False
    assert "signed with another key" in answer["reason"]


def test_a_signature_that_is_not_valid_is_exit_code_1(folder):
    verify = ["verify-signature", "model.safetensors", "--key", "key.pub.pem"]
    assert "'model.safetensors' has no valid signature: it is not signed" in refused(verify)
    done(["sign", "--key", "other.pem", *JANE])
    assert "it is signed with another key" in refused(verify)
    done(["sign", "--key", "key.pem", *JANE])
    done(verify)
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    assert "has no valid signature" in refused(verify)


def test_without_a_key_a_signature_proves_nothing(folder):
    assert "model.safetensors is not signed" in refused(["verify-signature"])
    done(["sign", "--key", "key.pem", *JANE])
    message = refused(["verify-signature"])
    assert "claimed to be by Jane Doe" in message
    assert "not verified: without a public key that you trust, a signature proves nothing" in message


def test_certify_says_whether_a_file_is_signed_and_by_whom_it_claims_to_be(folder):
    assert done(["certify"]).stdout.splitlines()[-1] == "Signature: none."
    assert json.loads(done(["certify", "--json"]).stdout)["signature"] is None
    assert "it is not signed" in refused(["certify", "--public-key", "key.pub.pem"])
    signed = json.loads(done(["sign", "--key", "key.pem", *JANE, "--json"]).stdout)
    line = done(["certify"]).stdout.splitlines()[-1]
    assert line == f"Signature: claimed to be by Jane Doe, {signed['time']}; not verified: give --public-key."
    assert json.loads(done(["certify", "--json"]).stdout)["signature"]["verified"] is False
    line = done(["certify", "--public-key", "key.pub.pem"]).stdout.splitlines()[-1]
    assert line == f"Signature: by Jane Doe, {signed['time']}, verified with key {signed['fingerprint']}."
    done(["certify", "--public-key", "key.pub.pem", "--out", "certificate.json"])
    written = json.loads((folder / "certificate.json").read_text())["signature"]
    assert written["verified"]
    assert written["sha256"] == signed["sha256"]
    assert "it is signed with another key" in refused(["certify", "--public-key", "other.pub.pem"])


def test_certify_survives_nonsense_in_the_place_of_a_signature(folder):
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    with safe_open("model.safetensors", "np") as file:
        header = file.metadata()
    save_file(load_file("model.safetensors"), "model.safetensors", {**header, "lambdak-signature": "\x1b[2J"})
    assert "Signature: unreadable: " in done(["certify"]).stdout.splitlines()[-1]


WRONG = [
    (["sign", "--key", "none.pem", *JANE], "there is no key file none.pem", "lambdak sign --new-key"),
    (["sign", "--key", "key.pub.pem", *JANE], "key.pub.pem holds a public key"),
    (["sign", "--key", "model.safetensors", *JANE], "model.safetensors is not a PEM file"),
    (["sign", "--key", ".", *JANE], "is a folder"),
    (["sign", "--key", "key.pem", "--signer", "a\x1b[2Jb"], "signer must be a name", "\\x1b[2J"),
    (["sign", "--key", "key.pem", "--signer", ""], "signer must be a name"),
    (["sign", "none.safetensors", "--key", "key.pem", *JANE], "there is no model file none.safetensors"),
    (["sign", "key.pem", "--key", "key.pem", *JANE], "key.pem", "not a model file"),
    (["sign", "--new-key", "key.pem"], "key.pem exists already, and a key is never overwritten"),
    (["sign", "--new-key", "nowhere/key.pem"], "nowhere", "does not exist"),
    (["sign", "--new-key", "new.pem", "--passphrase"], "new.pem needs a passphrase", "LAMBDAK_PASSPHRASE"),
    (["verify-signature", "none.safetensors", "--key", "key.pub.pem"], "none.safetensors", "no such file"),
    (["verify-signature", "--key", "none.pem"], "there is no key file none.pem"),
    (["verify-signature", "--key", "key.pem"], "key.pem holds a private key: give the public one"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: " ".join(case[0]))
def test_what_is_wrong_is_one_message_and_nothing_is_written(folder, case):
    args, *words = case
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    message = refused(args)
    for each in words:
        assert each in message
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


MISUSED = [
    (["sign"], "--key", "lambdak sign --new-key key.pem creates a key"),
    (["sign", "--key", "key.pem"], "--signer"),
    (["sign", "--new-key", "new.pem", "--key", "key.pem"], "--key", "only creates a key"),
    (["sign", "--new-key", "new.pem", *JANE], "--signer", "only creates a key"),
    (["sign", "--key", "key.pem", "--passphrase", *JANE], "--passphrase", "belongs to --new-key"),
]


@pytest.mark.parametrize("case", MISUSED, ids=lambda case: " ".join(case[0]))
def test_wrong_usage_is_exit_code_2(folder, case):
    args, *words = case
    message = refused(args, code=2)
    assert all(each in message for each in words)
    assert not (folder / "new.pem").exists()


def test_a_passphrase_comes_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("LAMBDAK_PASSPHRASE", "correct horse")
    done(["sign", "--new-key", "mine.pem", "--passphrase"])
    assert b"ENCRYPTED" in (folder / "mine.pem").read_bytes()
    done(["sign", "--key", "mine.pem", *JANE])
    done(["verify-signature", "--key", "mine.pub.pem"])
    monkeypatch.setenv("LAMBDAK_PASSPHRASE", "battery")
    assert "the passphrase is wrong" in refused(["sign", "--key", "mine.pem", *JANE])
    monkeypatch.delenv("LAMBDAK_PASSPHRASE")
    assert "mine.pem needs a passphrase: set LAMBDAK_PASSPHRASE" in refused(["sign", "--key", "mine.pem", *JANE])


def test_a_passphrase_is_prompted_for_without_being_shown(folder, monkeypatch):
    prompts = []

    def answer(words, *, hide_input, confirmation_prompt, err):
        assert hide_input
        assert err
        prompts.append((words, confirmation_prompt))
        return "correct horse"

    monkeypatch.setattr("lambdak.cli.sign._at_a_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", answer)
    done(["sign", "--new-key", "mine.pem", "--passphrase"])
    done(["sign", "--key", "mine.pem", *JANE])
    done(["verify-signature", "--key", "mine.pub.pem"])
    assert prompts == [("Passphrase for mine.pem", True), ("Passphrase of mine.pem", False)]


@pytest.mark.slow
def test_without_cryptography_it_says_what_to_install(folder):
    for args in (
        ["sign", "--key", "key.pem", *JANE],
        ["sign", "--new-key", "new.pem"],
        ["verify-signature", "--key", "key.pub.pem"],
    ):
        shown = process("sys.modules['cryptography'] = None", *args, cwd=folder)
        assert shown.returncode == 1
        assert 'pip install "lambdak[sign]"' in shown.stderr
        assert "Traceback" not in shown.stderr
    assert process("sys.modules['cryptography'] = None", "certify", cwd=folder).returncode == 0
