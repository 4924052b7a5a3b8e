"""Files to read: only what has a length and an end, so that nothing is waited for; all else is an OSError."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for somebody who writes to it


@contextmanager
def regular_file(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, int]]:
    """A file, opened, and its length; a folder, a pipe, a socket or a device raises an OSError like any bad path."""
    try:
        handle = os.open(path, _FLAGS | _AT_ONCE)
    except ValueError as error:  # of Python, for a zero byte in a name
        raise OSError(errno.EINVAL, f"its path is invalid ({error})") from None
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is a folder" if stat.S_ISDIR(about.st_mode) else "it is not a file")
    with os.fdopen(handle, "rb") as file:
        yield file, about.st_size


def reason(error: OSError) -> str:
    """Why a file cannot be read, in the words of the system.

    >>> reason(PermissionError(13, "Permission denied", "model"))
    'permission denied'
    """
    text = error.strerror or str(error)
    return f"{text[:1].lower()}{text[1:]}"
