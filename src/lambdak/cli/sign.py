"""``lambdak sign``: put a name to a model file, with a key that only its owner has."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from lambdak.cli.errors import InputError
from lambdak.cli.models import as_data, print_signature, read_model
from lambdak.cli.options import DEFAULT_MODEL, AsJson
from lambdak.cli.outputs import print_json, say

EXAMPLES = (
    "lambdak sign --new-key key.pem",
    'lambdak sign model.safetensors --key key.pem --signer "Jane Doe"',
)
PASSPHRASE = "LAMBDAK_PASSPHRASE"


def sign(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.")] = DEFAULT_MODEL,
    key: Annotated[Path | None, typer.Option(help="The private key (PEM) to sign with.", show_default=False)] = None,
    signer: Annotated[str | None, typer.Option(help="The name to sign with.", show_default=False)] = None,
    new_key: Annotated[
        Path | None,
        typer.Option(
            help="Create a key: the private one in this file, such as key.pem, and the public one beside it, "
            "key.pub.pem. Nothing is signed.",
            show_default=False,
        ),
    ] = None,
    passphrase: Annotated[
        bool,
        typer.Option(
            "--passphrase", help=f"Encrypt the new key, with a passphrase from {PASSPHRASE} or from the keyboard."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sign a model file with an Ed25519 key, so that others can verify whose it is and that nothing has changed.

    The signature is written into the file, in place of an older one. A key with a passphrase prompts for it, or takes
    it from the environment variable LAMBDAK_PASSPHRASE.
    """
    from lambdak.store import is_encrypted, sign_file

    if new_key is not None:
        _create(new_key, key, signer, passphrase, as_json)
        return
    if key is None or signer is None or passphrase:
        hint = "--passphrase" if passphrase else "--key" if key is None else "--signer"
        wanted = (
            "belongs to --new-key" if passphrase else "is needed to sign; lambdak sign --new-key key.pem creates a key"
        )
        raise typer.BadParameter(wanted, param_hint=hint)
    read_model(model)  # nobody should sign what cannot be loaded
    secret = _passphrase(f"Passphrase of {key}", str(key)) if is_encrypted(key) else None
    signature = as_data(sign_file(model, key, signer, passphrase=secret))
    if as_json:
        print_json({"model": str(model)} | signature)
    else:
        print_signature("signed", str(model), signature)


def _create(path: Path, key: Path | None, signer: str | None, passphrase: bool, as_json: bool) -> None:
    """Create a key, and say what its files are for."""
    from lambdak.store import create_keys, public_path

    for option, given in {"--key": key, "--signer": signer}.items():
        if given is not None:
            raise typer.BadParameter("does not go with --new-key, which only creates a key", param_hint=option)
    secret = _passphrase(f"Passphrase for {path}", str(path), twice=True) if passphrase else None
    fingerprint = create_keys(path, secret)
    if as_json:
        print_json({"private_key": str(path), "public_key": str(public_path(path)), "fingerprint": fingerprint})
        return
    say(f"{path}: the private key; keep it secret, and keep a copy: nobody can restore it")
    say(f"{public_path(path)}: the public key; give it to everyone who verifies your signatures")
    say(f"fingerprint {fingerprint}: let others compare it by another way than e-mail, to know whose key it is")


def _passphrase(prompt: str, path: str, *, twice: bool = False) -> str:
    """A passphrase from the environment, or else from the keyboard."""
    given = os.environ.get(PASSPHRASE)
    if given:
        return given
    if not _at_a_terminal():
        raise InputError(f"{path} needs a passphrase: set {PASSPHRASE}, or run this in a terminal")
    return str(typer.prompt(prompt, hide_input=True, confirmation_prompt=twice, err=True))


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()
