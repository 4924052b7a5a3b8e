"""The file of a model, as far as a dossier speaks of it: its name without its folder, checksum and signature."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lambdak.store import (
    ClaimedSignature,
    SavedModel,
    Signature,
    checksum_in_file,
    claimed_signature,
    model_checksum,
    verify_file,
)

if TYPE_CHECKING:
    from lambdak.store._keys import PublicKey


@dataclass(frozen=True)
class ModelFile:
    """The file of a saved model: its name, checksum and signature.

    Attributes
    ----------
    name : str or None
        Of the file; None if none was named.
    checksum : str or None
        SHA-256 of the model, as its file holds it; None for a model that no file can hold.
    signature : Signature, ClaimedSignature or None
        Verified with a public key, or only what the file says.
    """

    name: str | None
    checksum: str | None
    signature: Signature | ClaimedSignature | None = None


def model_file(saved: SavedModel, path: str | os.PathLike[str] | None, public_key: PublicKey | None) -> ModelFile:
    """What there is to say about the file at ``path``, which must hold this model."""
    if path is None:
        if public_key is not None:
            raise ValueError("model_file must be given with public_key: the file whose signature is to be verified")
        return ModelFile(None, _checksum(saved))
    checksum = checksum_in_file(path, saved)
    signature = claimed_signature(path) if public_key is None else verify_file(path, public_key)
    return ModelFile(Path(path).name, checksum, signature)


def _checksum(saved: SavedModel) -> str | None:
    try:
        return model_checksum(saved)
    except TypeError:  # an estimator of the user's own, which no file holds
        return None
