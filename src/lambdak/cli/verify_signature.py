"""``lambdak verify-signature``: whose a model file is, and whether anything has changed since it was signed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lambdak.cli.errors import InputError, complain, note
from lambdak.cli.models import as_data, print_signature, signature_line
from lambdak.cli.options import DEFAULT_MODEL, AsJson
from lambdak.cli.outputs import print_json

EXAMPLES = ("lambdak verify-signature model.safetensors --key key.pub.pem",)
_PROVES_NOTHING = "without a public key that you trust, a signature proves nothing: anybody can sign with any name"


def verify_signature(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The model file.")] = DEFAULT_MODEL,
    key: Annotated[
        Path | None,
        typer.Option(help="The public key (PEM) of somebody you trust, such as key.pub.pem.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the signature of a model file; the exit code is 0 if it is valid and 1 if it is not.

    A valid signature says that whoever has the private key signed exactly this file, under this name and at this time.
    That the key is theirs is for you to know: get it from them, and not with the file.
    """
    from lambdak.store import ModelFileError, verify_file

    if key is None:
        raise InputError(f"{_claimed(model)} {_PROVES_NOTHING}. Give it with --key")
    try:
        signature = as_data(verify_file(model, key))
    except ModelFileError as error:
        if as_json:
            print_json({"model": str(model), "valid": False, "reason": str(error)})
        complain(str(error))
        raise typer.Exit(1) from None
    if as_json:
        print_json({"model": str(model), "valid": True} | signature)
        return
    print_signature("valid", f"{model} is as it was signed", signature)
    note(f"this proves who signed only as far as you know that {key} is theirs; {_PROVES_NOTHING}")


def _claimed(path: Path) -> str:
    """What a file says about its signature."""
    from lambdak.store import claimed_signature

    claimed = claimed_signature(path)
    if claimed is None:
        return f"{path} is not signed; and"
    line = signature_line(as_data(claimed)).partition(";")[0]
    return f"{path}: {line}, key {claimed.fingerprint}; not verified:"
