"""Files that are there as a whole or not at all: written beside the old one, then put in its place in one step."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, as :func:`write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data``, or leave the file that was there as it was: also if it fails or is interrupted half-way.

    A link is followed, and the rights of a file that is replaced are kept.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced, and a folder says so itself
        target.write_bytes(data)
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist: create {target.parent} first")
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        _write_through(beside, data)
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(beside, target)
    except PermissionError as error:
        raise PermissionError(f"{os.fspath(path)!r} cannot be written: {target.parent} is not writable") from error
    finally:
        with suppress(OSError):  # gone if it was put in its place
            beside.unlink()


def _write_through(path: Path, data: bytes) -> None:
    """Write a new file down to the disk, so that it cannot turn out empty after a crash."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
