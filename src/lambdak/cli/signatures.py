"""What the commands say about the signature of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lambdak.cli.outputs import say
from lambdak.table.visible import visible

if TYPE_CHECKING:
    from lambdak.store import ClaimedSignature, Signature


def described_signature(path: Path, public_key: Path | None) -> dict[str, Any] | None:
    """The signature of a file as plain data, None if it has none; it is verified only with a public key."""
    from lambdak.store import ModelFileError, claimed_signature, verify_file

    if public_key is not None:
        return as_data(verify_file(path, public_key))
    try:
        claimed = claimed_signature(path)
    except ModelFileError as error:
        return {"verified": False, "reason": str(error)}
    return None if claimed is None else as_data(claimed)


def as_data(signature: Signature | ClaimedSignature) -> dict[str, Any]:
    """A signature as plain data."""
    from lambdak.store import Signature

    checksum = {"sha256": signature.checksum} if isinstance(signature, Signature) else {}
    return {
        "verified": isinstance(signature, Signature),
        "signer": signature.signer,
        "time": signature.time.isoformat(),
        "fingerprint": signature.fingerprint,
        **checksum,
    }


def signature_line(signature: dict[str, Any] | None) -> str:
    """One line about a signature."""
    if signature is None:
        return "Signature: none."
    if "signer" not in signature:
        return f"Signature: unreadable: {visible(signature['reason'])}."
    if signature["verified"]:
        return (
            f"Signature: by {signature['signer']}, {signature['time']}, verified with key {signature['fingerprint']}."
        )
    return f"Signature: claimed to be by {signature['signer']}, {signature['time']}; not verified: give --public-key."


def print_signature(first: str, words: str, signature: dict[str, Any]) -> None:
    """What a file was signed with, line by line."""
    lines = {first: words, "signer": signature["signer"], "time": signature["time"], "key": signature["fingerprint"]}
    for label, each in (lines | {"sha256": signature["sha256"]}).items():
        say(f"{label:<12}{visible(each)}")
