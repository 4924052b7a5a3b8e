"""Files that are there as a whole or not at all: written beside the old one, then put in its place in one step.

Where the system has files without a name (Linux), data are written to one, so that a writer that is killed leaves
nothing. Elsewhere a half-written file has a name of its own, and its writer holds a lock on it: the lock ends with the
writer, so the next one for the same path can tell what a dead writer left and remove it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed: that is lock enough
    fcntl = None  # type: ignore[assignment]

_BINARY = getattr(os, "O_BINARY", 0)  # of Windows, which would change the ends of lines


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, as :func:`write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data``, or leave the file that was there as it was: also if it fails or is interrupted half-way.

    A link is followed, and the rights of a file that is replaced are kept.
    """
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to bit by bit, which takes the place of the old one at the end of the block.

    If the block fails or is interrupted, the file that was there stays as it was, as with :func:`write_bytes`.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced, and a folder says so itself
        with target.open("wb") as device:
            yield device
        return
    beside = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.part")
    try:
        with ExitStack() as stack:
            with _in_folder_of(target, path):
                _remove_left_over(target)
                file = stack.enter_context(_nameless(target.parent) or _locked(beside))
            yield file
            with _in_folder_of(target, path):
                _put_in_place(stack, file, beside, target)
    finally:
        with suppress(OSError):  # gone if it was put in its place
            beside.unlink()


def create_bytes(path: str | os.PathLike[str], data: bytes, mode: int) -> None:
    """Write ``data`` to a new file with these rights; one that is there already is never touched."""
    target = Path(path)
    with _in_folder_of(target, path):
        file = os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode), "wb")
    try:
        with file:
            _write_through(file, data)
    except BaseException:
        target.unlink()
        raise


@contextmanager
def _in_folder_of(target: Path, path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the folder if it does not exist or cannot be written to."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist: create {target.parent} first")
    try:
        yield
    except PermissionError as error:
        raise PermissionError(f"{os.fspath(path)!r} cannot be written: {target.parent} is not writable") from error


def _put_in_place(stack: ExitStack, file: BinaryIO, beside: Path, target: Path) -> None:
    """Give a file that is written its name, instead of the file that has it now."""
    _write_through(file, b"")
    if not _named(file, beside):
        other = stack.enter_context(_locked(beside))
        file.seek(0)
        shutil.copyfileobj(file, other)
        file = other
        _write_through(file, b"")
    if fcntl is None:
        file.close()  # Windows moves only files that are closed
    if target.exists():
        beside.chmod(stat.S_IMODE(target.stat().st_mode))
    os.replace(beside, target)


def _nameless(folder: Path) -> BinaryIO | None:
    """A new file without a name, which a killed process cannot leave behind; None where there is no such thing."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        file = os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    except OSError:  # not every file system has it; if something else is wrong, it shows where the file has a name
        return None
    _lock(file)
    return file


def _named(file: BinaryIO, beside: Path) -> bool:
    """Give a file its name, if it has none; says whether it has one now."""
    if not beside.exists():
        with suppress(OSError):  # not every system allows it
            os.link(f"/proc/self/fd/{file.fileno()}", beside, follow_symlinks=True)
    return beside.exists()


def _locked(beside: Path) -> BinaryIO:
    """A new file of this name, with a lock that lasts as long as its writer."""
    while True:
        file = beside.open("xb")
        _lock(file)
        if beside.exists():  # otherwise another writer took it for left over before the lock was there
            return file
        file.close()


def _lock(file: BinaryIO, *, wait: bool = True) -> bool:
    """Lock a file, and say whether that succeeded; not every file system has locks."""
    with suppress(OSError, AttributeError):  # of fcntl, which Windows does not have
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return True
    return False


def _remove_left_over(target: Path) -> None:
    """Remove what writers of this file left when they were killed, never what a living one is writing."""
    for each in target.parent.glob(f"{_prefix(target)}*.part"):
        with suppress(OSError):  # another writer may have removed it, and Windows keeps what is open
            if fcntl is None:
                each.unlink()
                continue
            with each.open("rb") as file:
                if _lock(file, wait=False):
                    each.unlink()


def _prefix(target: Path) -> str:
    """How the names of half-written files for this one begin: always as short, however long its own name is."""
    return f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _write_through(file: BinaryIO, data: bytes) -> None:
    """Write down to the disk, so that a file cannot turn out empty after a crash."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())
