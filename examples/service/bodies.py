"""The body of a request: how large, how slow and how deeply nested it may be, and what it says."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request

from .limits import Limits

# Every quote begins a match, and no repetition gives back what it took (*+): else a text without an end takes the
# square of its length.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(set(range(256)) - set(b"[{]}"))
LARGE = 1 << 16  # bytes
_DISCARDED = 4  # times the limit that are read and thrown away, so that the client reads why it was refused


@dataclass
class Bodies:
    """Reads requests, and counts the large ones that are in memory."""

    limits: Limits
    large: int = 0

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """The bytes of a request, if they are not too many and come in time, for the time of the block."""
        limits, body, size, large = self.limits, bytearray(), 0, False
        words = f"the request must have at most {limits.max_bytes} bytes: send fewer rows at a time"
        too_large = HTTPException(413, words, {"connection": "close"})
        try:
            async with _timeout(limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > LARGE and not large:
                        self._admit_large()
                        large = True
                    if size <= limits.max_bytes:
                        body += chunk
                    elif size > _DISCARDED * limits.max_bytes:
                        raise too_large
            if size > limits.max_bytes:
                raise too_large
            yield bytes(body)
        finally:
            self.large -= large

    def _admit_large(self) -> None:
        if self.large >= self.limits.max_large:
            words = "too many large requests at a time: try again later, or send fewer rows at a time"
            raise HTTPException(503, words, {"retry-after": "1"})
        self.large += 1


@asynccontextmanager
async def _timeout(seconds: float) -> AsyncIterator[None]:
    """Refuse a request whose body does not arrive in time."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        words = f"the request must arrive within {seconds:g} seconds"
        raise HTTPException(408, words, {"connection": "close"}) from None


def parsed(body: bytes, limits: Limits, unique: bool = False) -> list[Any] | Any:
    """What the bytes of a request say, if they are JSON that is neither too deep nor has too many rows.

    Of a name that an object has twice, the last one counts; with ``unique``, it is refused.
    """
    if depth(body) > limits.max_depth:
        raise HTTPException(
            400, f"the request must be JSON with at most {limits.max_depth} brackets inside of one another: a row is "
            'an object of plain cells, such as {"age": 31}'
        )  # fmt: skip
    try:
        rows = json.loads(body, object_pairs_hook=_unique if unique else None)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f'the request must be JSON, such as {{"age": 31}}; {error}') from None
    if isinstance(rows, list) and len(rows) > limits.max_rows:
        raise HTTPException(413, f"the request must have at most {limits.max_rows} rows; got {len(rows)}")
    return rows


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, no name of which occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise HTTPException(400, f"the name {max(names, key=names.__getitem__)!r} is in an object twice: send one cell")
    return found


def depth(body: bytes) -> int:
    """The most brackets of JSON that are open at a time, found without parsing it.

    Those in strings do not count.
    """
    steps = np.frombuffer(_TEXT.sub(b"", body).translate(_STEPS, _OTHERS), np.int8)
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0))
