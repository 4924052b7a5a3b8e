"""What was requested of a model, in any spelling, and immutable from then on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from lambdak.model import Promises
from lambdak.shapes import Falling, MaxInfluence, Rising
from lambdak.table.encoder import TableEncoder

COLUMNS = TableEncoder(min_level_count=1).fit([[0.0, "a", 1.0], [1.0, "b", 3.0]]).columns


def test_all_spellings_of_the_same_request_are_equal():
    by_name = Promises.requested(COLUMNS, {"x0": 1, "x2": -1}, {"x1": 2.0}, None)
    by_position = Promises.requested(COLUMNS, [1, 0, -1], [np.inf, 2.0, np.inf], None)
    assert by_name == by_position == Promises(3, (Rising(0), Falling(2), MaxInfluence(1, 2.0)))
    assert by_name.monotone == {0: 1, 2: -1}
    assert by_name.capped == {1: 2.0}


def test_nothing_requested_is_nothing_promised():
    nothing = Promises.requested(COLUMNS, None, None, None)
    assert not nothing.monotone
    assert not nothing.capped
    assert nothing.shape is None


def test_promises_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Promises(1).columns = 2


@pytest.mark.parametrize("shape", ["round", 1, np.array([1, 2])])
def test_a_shape_that_does_not_exist_is_refused(shape):
    with pytest.raises(ValueError, match="shape must be None, 'convex' or 'concave'; got"):
        Promises.requested(COLUMNS, None, None, shape)
