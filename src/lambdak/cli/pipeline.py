"""Work that overlaps: items are made in other threads while those before them are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_DEPTH = 1  # items that wait: more would only take memory
_PATIENCE = 0.1  # seconds after which a thread looks whether it is still wanted


def ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """The same items, in order, of which the next ones are made in a thread of its own; so are errors.

    Where whoever takes the items stops early, the thread ends, too.

    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    made: Queue[tuple[list[Item], BaseException | None]] = Queue(_DEPTH)
    stop = Event()
    worker = Thread(target=_make, args=(items, made, stop))
    worker.start()
    try:
        while True:
            item, error = made.get()
            if error is not None:
                raise error
            if not item:
                return
            yield item[0]
    finally:
        stop.set()
        with suppress(Empty):
            made.get_nowait()
        worker.join()


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


def _make(items: Iterable[Item], made: Queue[tuple[list[Item], BaseException | None]], stop: Event) -> None:
    """Put items into the queue, then a sign of the end or the error that ended them."""
    end: BaseException | None = None
    iterator = iter(items)
    try:
        for item in iterator:
            if not _put(made, ([item], None), stop):
                break
    except BaseException as error:
        end = error
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()  # in the thread that ran it
    _put(made, ([], end), stop)


def _put(
    made: Queue[tuple[list[Item], BaseException | None]],
    item: tuple[list[Item], BaseException | None],
    stop: Event,
) -> bool:
    while not stop.is_set():
        with suppress(Full):
            made.put(item, timeout=_PATIENCE)
            return True
    return False
