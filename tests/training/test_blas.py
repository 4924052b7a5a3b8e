"""BLAS has one thread while some fit is running, and its own number afterwards."""

from __future__ import annotations

from fit_cases import blas_threads

from lambdak.training.blas import single_threaded_blas


def test_blas_is_restored_when_the_last_of_overlapping_fits_ends():
    before = blas_threads()
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    assert set(blas_threads()) == {1}
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before
