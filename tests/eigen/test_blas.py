"""BLAS has one thread while some fit is running, and its own number afterwards."""

from __future__ import annotations

import threading

from fit_cases import blas_threads
from threadpoolctl import threadpool_limits

from lambdak.eigen.blas import single_threaded_blas


def test_blas_is_restored_when_the_last_of_overlapping_calls_ends():
    before = blas_threads()
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    assert set(blas_threads()) == {1}
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def in_thread(work):
    """What a function returns in another thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_calls_in_other_threads_are_limited_too_and_leave_what_was_set():
    def limited():
        with single_threaded_blas():
            return blas_threads()

    before = blas_threads()
    for _ in range(2):
        assert set(limited()) == {1}
        assert set(in_thread(limited)) == {1}
    assert blas_threads() == before
    assert in_thread(blas_threads) == before


def test_a_limit_that_another_thread_takes_over_is_lifted_when_that_one_ends():
    before, entered, leave = blas_threads(), threading.Event(), threading.Event()

    def overlap():
        with single_threaded_blas():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=overlap)
    with single_threaded_blas():
        thread.start()
        entered.wait()
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_a_users_own_limit_works_in_any_thread_after_a_fit():
    with single_threaded_blas():
        pass

    def own():
        with threadpool_limits(1, user_api="blas"):
            return blas_threads()

    assert set(in_thread(own)) == {1}
