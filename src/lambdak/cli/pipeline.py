"""Work that overlaps: items are made in another thread while those before them are used."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")

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
