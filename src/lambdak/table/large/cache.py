"""Packed records on disk, for tables larger than memory: a folder that is there as a whole or not at all.

The writer scatters every chunk of rows at random over buckets, and writes the chunk bucket by bucket; an index says how
many rows of each bucket are in each chunk. So a bucket is gathered with one read per chunk, and an epoch is all buckets
in random order, with rows shuffled within each. The first epoch is a uniformly random permutation of all rows, for
every row drew its bucket independently of the others; in later ones the same rows share a bucket. Memory holds a chunk
while writing and two buckets while reading, however many rows there are, and 8 bytes of index per chunk and bucket.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import threading
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import numpy as np
from numpy.typing import NDArray

from lambdak.atomic import building, filling
from lambdak.table.encoder import TableEncoder
from lambdak.table.large.batches import ahead
from lambdak.table.large.packed import Records, RowPacking

FORMAT: Final = 1
BUCKET_ROWS: Final = 1 << 18
_CHUNK_BYTES = 1 << 26
_META, _RECORDS, _INDEX = "meta.json", "records", "index"
_ELSEWHERE = "give another folder: fit(..., cache=…)"


class DamagedCacheError(ValueError):
    """A cache that does not hold what was written to it.

    Attributes
    ----------
    removed : bool
        Whether it is gone, so that another one can be written.
    """

    def __init__(self, message: str, removed: bool = False) -> None:
        super().__init__(message)
        self.removed = removed


class PackedCache:
    """Records on disk, bucket by bucket; close it, or use it in a ``with`` block.

    Attributes
    ----------
    folder : Path
        Where it is.
    n_rows, n_buckets : int
        Records, and buckets over which they were scattered.
    bucket_rows : int64 array of shape (n_buckets,)
        Records of each bucket.
    """

    def __init__(self, folder: Path, record_bytes: int, index: _Index, keeps: ExitStack | None = None) -> None:
        self.folder, self._record_bytes, self._index = folder, record_bytes, index
        self._keeps = keeps or ExitStack()
        self.bucket_rows: NDArray[np.int64] = index.counts.sum(axis=0, dtype=np.int64)
        self.n_buckets, self.n_rows = len(self.bucket_rows), int(self.bucket_rows.sum())
        self._file: BinaryIO = self._keeps.enter_context((folder / _RECORDS).open("rb", buffering=0))
        self._one_at_a_time = threading.Lock()
        self._verified = np.zeros(self.n_buckets, bool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove a cache that was temporary."""
        self._keeps.close()

    def bucket(self, i: int) -> Records:
        """The records of a bucket (rows, record_bytes), each time in the same order; checksums are verified once."""
        records = np.empty((int(self.bucket_rows[i]), self._record_bytes), np.uint8)
        view, first = records.reshape(-1).data, 0
        starts, sizes = self._index.parts(i)
        for chunk, (start, size) in enumerate(
            zip(starts * self._record_bytes, sizes * self._record_bytes, strict=True)
        ):
            part = view[first : first + size]
            self._read_(part, int(start))
            if not self._verified[i] and zlib.crc32(part) != self._index.checksums[chunk, i]:
                raise self._damaged()
            first += size
        self._verified[i] = True
        return records

    def buckets(self, order: Sequence[int] | NDArray[np.integer] | None = None) -> Iterator[Records]:
        """The records of these buckets, or of all: the next one is read while one is used."""
        chosen = range(self.n_buckets) if order is None else order
        return ahead(self.bucket(int(i)) for i in chosen)

    def _read_(self, part: memoryview, start: int) -> None:
        """Fill a part from the file, which is never mapped: its pages would count as memory of the process."""
        with self._one_at_a_time:
            self._file.seek(start)
            while part:
                got = self._file.readinto(part)  # type: ignore[attr-defined]
                if not got:
                    raise self._damaged()
                part = part[got:]

    def _damaged(self) -> DamagedCacheError:
        """Remove the cache, for it would be opened again, unless another one has taken its place meanwhile."""
        try:
            if os.path.samestat(os.fstat(self._file.fileno()), (self.folder / _RECORDS).stat()):
                for name in (_INDEX, _RECORDS, _META):  # at any time either not opened again or empty, so replaceable
                    (self.folder / name).unlink()
                self.folder.rmdir()
        except OSError:
            if (self.folder / _INDEX).exists():
                return _damaged(self.folder)
        return DamagedCacheError(f"the cache {self.folder} was damaged and has been removed", removed=True)


class _Index:
    """Rows and checksums of every bucket in every chunk, both (chunks, buckets)."""

    def __init__(self, counts: NDArray[np.uint32], checksums: NDArray[np.uint32]) -> None:
        self.counts, self.checksums = counts, checksums
        rows = counts.sum(axis=1, dtype=np.int64)
        self._chunk_starts = np.cumsum(rows) - rows

    def parts(self, bucket: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First row and number of rows of a bucket in each chunk."""
        before = self.counts[:, :bucket].sum(axis=1, dtype=np.int64)
        return self._chunk_starts + before, self.counts[:, bucket].astype(np.int64)

    def to_bytes(self) -> bytes:
        return self.counts.astype("<u4").tobytes() + self.checksums.astype("<u4").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, chunks: int, buckets: int) -> _Index:
        counts, checksums = np.frombuffer(data, "<u4").reshape(2, chunks, buckets)
        return cls(counts, checksums)


def cache_key(fingerprint: str, encoder: TableEncoder, packing: RowPacking, **more: Any) -> str:
    """What a cache is known by: its source, how that is encoded and packed, and ``more``, such as a seed."""
    columns = [(type(column).__name__, column.name, column.saved()) for column in encoder.columns]
    text = json.dumps(
        [FORMAT, fingerprint, columns, encoder.clamp, packing.saved(), more], sort_keys=True, default=repr
    )
    return hashlib.sha256(text.encode()).hexdigest()


def cache_place(source: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Path:
    """Where the cache of a file or folder is: beside it, or in another folder.

    >>> cache_place("data/sales.parquet").as_posix(), cache_place("data/sales", "/fast").as_posix()
    ('data/sales.parquet.lambdak-cache', '/fast/sales.lambdak-cache')
    """
    file = Path(source)
    return (file.parent if folder is None else Path(folder)) / f"{file.name}.lambdak-cache"


def open_cache(place: Path, key: str) -> PackedCache | None:
    """The cache with this key; None if there is none, or, with a warning, if it is damaged."""
    try:
        meta = json.loads((place / _META).read_text(encoding="utf-8"))
        if meta.get("key") != key or meta.get("format") != FORMAT:
            return None
        return _opened(place, meta)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        warnings.warn(f"the cache {place} is damaged: it is built again", UserWarning, stacklevel=2)
        return None


def build_cache(
    place: Path | None, key: str, record_bytes: int, n_rows: int, chunks: Iterable[Records], seed: int = 0
) -> PackedCache:
    """Write records of about ``n_rows`` rows to a new cache, which takes the place of an old one.

    Without a ``place`` it is a temporary one, which is removed when it is closed; should the process be killed, the
    next temporary cache removes it.
    """
    target = _temporary() if place is None else place
    with _writable(target, n_rows * record_bytes), ExitStack() as stack:
        if place is not None:
            _check_replaceable(place)
        folder = stack.enter_context(filling(target) if place is None else building(target))
        meta = _write(folder, key, record_bytes, max(1, round(n_rows / BUCKET_ROWS)), chunks, seed)
        if place is None:
            return _opened(folder, meta, stack.pop_all())
        if os.name != "nt":  # there a folder with an open file cannot be moved
            cache = _opened(folder, meta)  # before another writer can replace it
            cache.folder = target
            stack.close()
            return cache
    return _opened(target, meta)


def _write(
    folder: Path, key: str, record_bytes: int, buckets: int, chunks: Iterable[Records], seed: int
) -> dict[str, Any]:
    counts, checksums = [], []
    with (folder / _RECORDS).open("wb", buffering=0) as file:
        for number, chunk in enumerate(_gathered(chunks, record_bytes)):
            rng = np.random.default_rng([seed, number])
            bucket = rng.integers(0, buckets, len(chunk), dtype=np.int32)
            scattered = chunk[np.argsort(bucket, kind="stable")]
            rows = np.bincount(bucket, minlength=buckets)
            counts.append(rows)
            checksums.append(_checksums(scattered, rows))
            _write_all(file, scattered.reshape(-1).data)
    shape = (len(counts), buckets)
    index = _Index(np.array(counts, np.uint32).reshape(shape), np.array(checksums, np.uint32).reshape(shape)).to_bytes()
    (folder / _INDEX).write_bytes(index)
    meta = {
        "format": FORMAT, "key": key, "record_bytes": record_bytes, "chunks": len(counts), "buckets": buckets,
        "index": zlib.crc32(index),
    }  # fmt: skip
    (folder / _META).write_text(json.dumps(meta, indent=2), encoding="utf-8")
    return meta


def _gathered(chunks: Iterable[Records], record_bytes: int) -> Iterator[Records]:
    """Longer chunks: with more rows in each, a bucket has fewer and longer parts to be read."""
    waiting: list[Records] = []
    for chunk in chunks:
        if chunk.shape[1:] != (record_bytes,):
            raise ValueError(f"records must have shape (rows, {record_bytes}); got {chunk.shape}")
        waiting.append(chunk)
        if sum(each.nbytes for each in waiting) >= _CHUNK_BYTES:
            whole = np.concatenate(waiting)
            waiting.clear()
            yield whole
    if sum(map(len, waiting)):
        yield np.concatenate(waiting)


def _checksums(scattered: Records, rows: NDArray[np.intp]) -> list[int]:
    data, ends = scattered.reshape(-1).data, np.cumsum(rows) * scattered.shape[1]
    return [
        zlib.crc32(data[end - n : end])
        for end, n in zip(ends.tolist(), (rows * scattered.shape[1]).tolist(), strict=True)
    ]


def _write_all(file: BinaryIO, data: memoryview) -> None:
    while data:
        data = data[file.write(data) :]


def _opened(folder: Path, meta: dict[str, Any], keeps: ExitStack | None = None) -> PackedCache:
    """The cache of a folder, after a look at the sizes of its files and at its index."""
    data = (folder / _INDEX).read_bytes()
    shape = int(meta["chunks"]), int(meta["buckets"])
    if zlib.crc32(data) != meta["index"] or len(data) != 8 * shape[0] * shape[1]:
        raise _damaged(folder)
    index = _Index.from_bytes(data, *shape)
    if (folder / _RECORDS).stat().st_size != int(index.counts.sum(dtype=np.int64)) * meta["record_bytes"]:
        raise _damaged(folder)
    return PackedCache(folder, int(meta["record_bytes"]), index, keeps)


def _damaged(folder: Path) -> DamagedCacheError:
    return DamagedCacheError(
        f"the cache {folder} is damaged and cannot be removed: remove it and fit again, which builds a new one"
    )


def check_place(place: Path | None, size: int) -> None:
    """Refuse a place where no cache of this size can be written, before time is spent on what goes there.

    A cache that is there already may be the one that is wanted, which is known only later.
    """
    target = _temporary() if place is None else place
    try:
        with _writable(target, size):
            if place is not None:
                _check_replaceable(place)
            with filling(target):  # which is gone afterwards
                pass
    except OSError:
        if not (target / _META).exists():
            raise


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / "temporary.lambdak-cache"


@contextmanager
def _writable(place: Path, size: int) -> Iterator[None]:
    """Say what to do where a cache cannot be written."""
    try:
        _make_folder(place)
        if shutil.disk_usage(place.parent).free < size:
            raise OSError(errno.ENOSPC, "no space")
        yield
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            raise PermissionError(
                f"the cache {place} cannot be written: {place.parent} is not writable; {_ELSEWHERE}"
            ) from error
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(
            errno.ENOSPC,
            f"the cache {place} needs {size / 1e9:.2g} GB, more than is free there: {_ELSEWHERE}, or free some",
        ) from error


def _make_folder(place: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise type(error)(
            f"the cache {place} cannot be written: {place.parent} is no folder and cannot be created; {_ELSEWHERE}"
        ) from error


def _check_replaceable(place: Path) -> None:
    """Refuse to delete what is no cache; hidden files are those of systems, and of a writer that has just ended."""
    try:
        names = {path.name for path in place.iterdir() if not path.name.startswith(".")}
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise NotADirectoryError(
            f"the cache {place} cannot be written: it is a file; remove it, or {_ELSEWHERE}"
        ) from None
    foreign = names - {_META, _RECORDS, _INDEX} if _META in names else names
    if foreign:
        raise FileExistsError(
            f"the cache {place} cannot be written: that folder holds {min(foreign)!r}, which is not of a cache; remove "
            f"it, or {_ELSEWHERE}"
        )
