"""Files and folders that are there as a whole or not at all: written beside the old one, then put in its place.

Where the system has files without a name (Linux), data are written to one, so that a writer that is killed leaves
nothing. Elsewhere a half-written file has a name of its own, and its writer holds a lock on it: the lock ends with the
writer, so the next one for the same path can tell what a dead writer left and remove it. So it is for folders.

What is read has a length and an end, so that nothing is waited for.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed: that is lock enough
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

_WRITER = ".writer"  # in a folder that is being filled: the file on which its writer holds a lock
_PART = ".part"  # at the end of the names of half-written files and folders
_BINARY = getattr(os, "O_BINARY", 0)  # of Windows, which would change the ends of lines
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for somebody who writes to it


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as UTF-8, as :func:`write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data``, or leave the file that was there as it was: also if it fails or is interrupted half-way.

    A link is followed, and the rights of a file that is replaced are kept.
    """
    with whole_file(path) as file:
        file.write(data)


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write files that belong together as :func:`write_bytes` does, in their order, once all are complete."""
    with ExitStack() as stack:
        for path, text in reversed(list(texts.items())):
            stack.enter_context(whole_file(path)).write(text.encode("utf-8"))


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to bit by bit, which takes the place of the old one at the end of the block.

    If the block fails or is interrupted, the file that was there stays as it was, as with :func:`write_bytes`.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced, and a folder says so itself
        with _naming_full_disks(path), target.open("wb") as device:
            yield device
        return
    beside = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}{_PART}")
    try:
        with _naming_full_disks(path), ExitStack() as stack:  # closing a file may write, too
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
        with _naming_full_disks(path), file:
            _write_through(file, data)
    except BaseException:
        target.unlink()
        raise
    _sync_folder(target.parent)


@contextmanager
def _in_folder_of(target: Path, path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the folder if it does not exist or cannot be written to, and the file that was meant in any other case."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {os.fspath(path)!r} does not exist: create {target.parent} first")
    try:
        yield
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            raise PermissionError(f"{os.fspath(path)!r} cannot be written: {target.parent} is not writable") from error
        if not isinstance(error, FileExistsError | IsADirectoryError) and _is_hidden(error.filename):
            raise OSError(error.errno, f"it cannot be written, {reason(error)}", os.fspath(path)) from error
        raise


@contextmanager
def _naming_full_disks(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file that a disk has no room for: what fails is a write, whose error names none."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM and error.filename is None:
            raise OSError(error.errno, f"it cannot be written, {reason(error)}", os.fspath(path)) from error
        raise


def _is_hidden(name: object) -> bool:
    """Whether an error names a half-written file, which its user does not know."""
    return isinstance(name, str | os.PathLike) and os.fspath(name).endswith(_PART)


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
    _sync_folder(target.parent)


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
    for each in target.parent.glob(f"{_prefix(target)}*{_PART}"):
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


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """A new folder to fill, which takes the place of ``folder`` at the end, and vanishes if that is not reached.

    All that is in it is brought to the disk first.
    """
    with _locked_folder(folder) as (beside, lock):
        yield beside
        for path in [*beside.iterdir(), beside]:
            _sync(path)
        if fcntl is None:
            lock.close()  # Windows moves only folders without open files
        _replace_folder(beside, folder)


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder``, which is gone afterwards; if its process is killed, the next one removes it."""
    with _locked_folder(folder) as (beside, _):
        yield beside


@contextmanager
def _locked_folder(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _in_folder_of(folder, folder):
        _remove_dead_folders(folder)
        beside, lock = _new_folder(folder)
    try:
        with lock:
            yield beside, lock
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _beside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.{secrets.token_hex(8)}{_PART}")


def _new_folder(folder: Path) -> tuple[Path, BinaryIO]:
    """A new folder, with a lock that lasts as long as its writer."""
    while True:
        beside = _beside(folder)
        beside.mkdir()
        with suppress(FileNotFoundError):  # another writer took it for left over before the lock was there
            return beside, _locked(beside / _WRITER)


def _replace_folder(beside: Path, folder: Path) -> None:
    while True:
        old = _beside(folder)
        with suppress(FileNotFoundError):
            folder.rename(old)
            shutil.rmtree(old, ignore_errors=True)
        try:
            beside.rename(folder)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another writer was faster, and is replaced in turn
                raise
    with suppress(OSError):
        (folder / _WRITER).unlink()
    _sync_folder(folder)
    _sync_folder(folder.parent)


def _remove_dead_folders(folder: Path) -> None:
    for each in folder.parent.glob(f"{glob.escape(f'.{folder.name}.')}*{_PART}"):
        if each.is_dir():
            _remove_if_dead(each)


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder if nobody holds the lock on its file, or there is none; who comes to lock it waits meanwhile."""
    writer = folder / _WRITER
    with suppress(OSError):  # Windows keeps what is open
        if fcntl is None or not writer.exists():
            writer.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            return
        with writer.open("rb") as file:
            if _lock(file, wait=False):
                shutil.rmtree(folder, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, as far as the system can: what is in the files is there already."""
    with suppress(OSError):  # not every file system syncs folders, and one may be written to but not read
        _sync(folder)


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ---- reading -------------------------------------------------------------------------------------------------------


@contextmanager
def regular_file(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """A file, opened, and its length; a folder, a pipe, a socket or a device raises an OSError like any bad path."""
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY | _AT_ONCE)
    except ValueError as error:  # of Python, for a zero byte in a name
        raise OSError(errno.EINVAL, f"its path is invalid ({error})") from None
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is a folder" if stat.S_ISDIR(about.st_mode) else "it is not a file")
    with io.BufferedReader(_AtOnce(handle, "rb")) as file:
        yield file, about.st_size


class _AtOnce(io.FileIO):
    """A file that is never waited for: some of /proc call themselves regular, and have nothing until something happens.

    NumPy, regular expressions and slices would stumble over the None that Python returns then.
    """

    def readinto(self, buffer: Any, /) -> int:
        count: int = self._some(super().readinto(buffer))
        return count

    def readall(self) -> bytes:
        return self._some(super().readall())

    def _some(self, read: T | None) -> T:
        if read is None:
            raise OSError(errno.EAGAIN, "it has nothing to read now")
        return read


def reason(error: OSError) -> str:
    """Why a file cannot be read, in the words of the system.

    >>> reason(PermissionError(13, "Permission denied", "model"))
    'permission denied'
    """
    text = error.strerror or str(error)
    return f"{text[:1].lower()}{text[1:]}"
