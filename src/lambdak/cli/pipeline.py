"""Work that overlaps: items are made in other threads while those before them are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TypeVar, cast

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def made_ahead(items: Generator[Item, None, None]) -> Iterator[Iterator[Item]]:
    """Open an iterator over the items, in order, of which a thread makes the next one ahead; so are errors.

    The thread ends with the block, and so do the items.

    >>> with made_ahead(i * i for i in range(3)) as squares:
    ...     list(squares)
    [0, 1, 4]
    """
    from lambdak.table.large.batches import ahead

    with closing(items), closing(cast("Generator[Item, None, None]", ahead(items))) as made:
        yield made


def spread(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Generator[Result, None, None]:
    """``function`` of each item, in order, by several threads: never more of them at a time than there are workers.

    >>> list(spread(abs, [-1, -2, -3], workers=2))
    [1, 2, 3]
    """
    pool, pending = ThreadPoolExecutor(workers), deque[Future[Result]]()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
