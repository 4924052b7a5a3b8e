"""Files as they are meant, whatever they come in: standard input, gzip and UTF-16 become a plain file to read again.

What must be copied for that goes to a file without a name, so that memory does not depend on its size.
"""

from __future__ import annotations

import codecs
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

import typer

from lambdak.cli.errors import InputError

STREAM = "-"
_CLOSE = 0.75  # how alike the names of files must be
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20  # bytes


@contextmanager
def plain_file(path: str) -> Iterator[BinaryIO]:
    """A file, or standard input for "-", from its beginning: decompressed, and in UTF-8 if it is UTF-16."""
    with ExitStack() as stack:
        file = typer.get_binary_stream("stdin") if path == STREAM else stack.enter_context(_opened(path))
        if path == STREAM or not file.seekable():
            file = stack.enter_context(_copied(_copy, file, path))
        for marks, convert in (((_GZIP,), _decompress), (_UTF16, _transcode)):
            head = file.read(2)
            file.seek(0)
            if head in marks:
                file = stack.enter_context(_copied(convert, file, path))
        yield file


def _opened(path: str) -> BinaryIO:
    if Path(path).is_char_device() or Path(path).is_block_device():  # which need not have an end, as a pipe has
        raise InputError(f"{path} is a device: give a file, or - for standard input")
    try:
        return Path(path).open("rb")
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}{_neighbour(path)}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder, which only fit and predict take: give a table in it") from error


def _neighbour(path: str) -> str:
    """The file of the same folder whose name is closest."""
    folder = Path(path).parent
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(Path(path).name, names, n=1, cutoff=_CLOSE)
    return f". Did you mean {folder / close[0]}?" if close else ""


@contextmanager
def _copied(convert: Callable[[BinaryIO, BinaryIO, str], None], source: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """What becomes of a file, in one without a name, at its beginning."""
    with tempfile.TemporaryFile() as copy:
        convert(source, copy, path)
        copy.seek(0)
        yield copy


def _copy(source: BinaryIO, copy: BinaryIO, path: str) -> None:
    shutil.copyfileobj(source, copy, _CHUNK)


def _decompress(source: BinaryIO, copy: BinaryIO, path: str) -> None:
    try:
        with gzip.GzipFile(fileobj=source) as plain:
            shutil.copyfileobj(plain, copy, _CHUNK)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be decompressed ({error}): compress it again") from error


def _transcode(source: BinaryIO, copy: BinaryIO, path: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-16")()
    try:
        while chunk := source.read(_CHUNK):
            copy.write(decoder.decode(chunk).encode())
        copy.write(decoder.decode(b"", final=True).encode())
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read: it begins as UTF-16, but is not: save it in UTF-8") from error
