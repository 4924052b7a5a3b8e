"""Items made in other threads come in order, with their errors, and end when nobody takes them any more."""

from __future__ import annotations

import threading

import pytest

from lambdak.cli.csv_stream import made_ahead, spread


def failing(last):
    yield from range(last)
    raise ValueError("broken")


def ahead(items):
    with made_ahead(item for item in items) as made:
        yield from made


WAYS = [ahead, lambda items: spread(lambda item: item, items, 3), lambda items: spread(abs, ahead(items), 1)]


@pytest.mark.parametrize("way", WAYS)
def test_items_come_in_order_and_errors_after_those_before_them(way):
    assert list(way(range(50))) == list(range(50))
    assert list(way([])) == []
    found = []
    with pytest.raises(ValueError, match="broken"):
        found.extend(way(failing(5)))
    assert threading.active_count() == 1


def test_an_error_of_the_function_is_raised_in_its_place():
    def inverse(item):
        return 1 / item

    taken = spread(inverse, [1, 2, 0, 4], 2)
    assert [next(taken), next(taken)] == [1.0, 0.5]
    with pytest.raises(ZeroDivisionError):
        next(taken)


def test_whoever_stops_early_ends_the_thread_and_closes_what_it_reads():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    source = endless()
    with made_ahead(source) as items:
        assert next(items) == 1
    assert closed.is_set()
    assert threading.active_count() == 1


def test_no_more_items_are_made_than_are_wanted_soon():
    made = []
    items = ahead(made.append(i) or i for i in range(100))
    assert next(items) == 0
    threading.Event().wait(0.05)
    assert len(made) <= 3
    items.close()


def test_items_are_made_while_others_are_used():
    """Neither side can go on alone: each waits for the other, in different threads."""
    meet = threading.Barrier(2, timeout=30)

    def make():
        yield "first"
        meet.wait()
        yield "second"

    items = ahead(make())
    assert next(items) == "first"
    meet.wait()
    assert next(items) == "second"
    items.close()
