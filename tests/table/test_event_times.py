"""Times to an event in every spelling, and errors that name row, value and way out."""

import numpy as np
import pytest

from lambdak.table.event_times import EXACT, INTERVAL, LEFT, RIGHT, event_lines, interval_lines, structured


def test_events_and_censored_rows():
    lines = event_lines([True, False], [2.0, 3.0], [0.5, 0.0])
    np.testing.assert_array_equal(lines, [[EXACT, 0.5, 2, 2], [RIGHT, 0, 3, 3]])


def test_intervals_of_every_kind():
    lines = interval_lines([1.0, 2.0, 0.0, 3.0, 4.0], [2.0, 2.0, 5.0, np.inf, np.nan])
    assert lines[:, 0].tolist() == [INTERVAL, EXACT, LEFT, RIGHT, RIGHT]
    np.testing.assert_array_equal(lines[:, 2:], [[1, 2], [2, 2], [0, 5], [3, 3], [4, 4]])


def test_an_event_before_a_late_check_was_after_the_entry():
    lines = interval_lines([0.0, 1.0], [5.0, 6.0], [2.0, 3.0])
    np.testing.assert_array_equal(lines, [[INTERVAL, 2, 2, 5], [INTERVAL, 3, 3, 6]])


def test_structured_arrays_are_read_by_the_type_of_their_fields():
    y = np.array([(2.0, True), (3.0, False)], dtype=[("t", float), ("e", bool)])
    event, time = structured(y)
    assert (event.tolist(), time.tolist()) == ([True, False], [2.0, 3.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 1], [1.0, 0.0]), "time of y must be positive and finite; got 0 at row 1: give a small positive time"),
        (([1, 1], [-1.0, 2.0]), "got -1 at row 0"),
        (([1, 0], [np.nan, 2.0]), "time of y must be known; got nan at row 0"),
        (([1, 2], [1.0, 2.0]), "got 2 at row 1: several kinds of events are for SpectralCompetingRisks"),
        (([1, 1], [1.0, 2.0], [0.0, 2.0]), "entry must be before the end of its row; got 2 at row 1"),
        (([1, 1], [1.0, 2.0], [-1.0, 0.0]), "entry must be finite and not negative; got -1 at row 0"),
        (([1], [1.0, 2.0]), "event and time must have the same length; got 1 and 2"),
        (([1, 1], [1e-200, 1.0]), "use another unit"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        event_lines(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2.0], [1.0]), "upper must not be below lower; got 1 at row 0: swap the two"),
        (([0.0], [np.inf]), "drop rows of which nothing is known"),
        (([-1.0], [1.0]), "lower must be finite and not negative"),
        (([0.0], [0.0]), "upper must be positive"),
    ],
)
def test_intervals_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        interval_lines(*arguments)
