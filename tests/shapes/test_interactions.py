"""Which columns may interact: every spelling, and what is refused."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lambdak.shapes.interactions import Interactions, requested_interactions

NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "spelling",
    [[["a", "b"], ["c"]], [(0, 1), {"c"}], ({0, 1}, [2]), {(0, "b"), (2,)}, [np.array([1, 0]), frozenset({2})]],
)
def test_groups_are_named_by_name_or_position_and_the_rest_is_one_more_group(spelling):
    assert requested_interactions(spelling, NAMES) == Interactions(((0, 1), (2,), (3,)))


def test_columns_in_no_group_may_interact_with_one_another_as_in_scikit_learn():
    assert requested_interactions([[0, 1]], NAMES) == Interactions(((0, 1), (2, 3)))


def test_a_group_within_another_one_changes_nothing():
    assert requested_interactions([[0, 1, 2], [1, 2], [2], [2, 3]], NAMES) == Interactions(((0, 1, 2), (2, 3)))


@pytest.mark.parametrize("spelling", [None, [[0, 1, 2, 3]], [[0], [3, 2, 1, 0]], []])
def test_where_all_columns_are_in_one_group_nothing_is_requested(spelling):
    assert requested_interactions(spelling, NAMES) is None


def test_words_allow_pairs_or_nothing():
    pairs, nothing = (requested_interactions(word, NAMES) for word in ("pairwise", "no_interactions"))
    assert [pairs.allow(own) for own in [(0, 3), (0, 1, 2)]] == [True, False]
    assert [nothing.allow(own) for own in [(2,), (0, 3)]] == [True, False]
    assert nothing.additive
    assert not pairs.additive
    assert pairs.larger(4) == list(combinations(range(4), 2))
    assert nothing.larger(4) == []
    assert requested_interactions("pairwise", ["a", "b"]) is None
    assert requested_interactions("no_interactions", ["a"]) is None


REFUSED = {
    "an unknown word": ("pairs", "must be 'pairwise', 'no_interactions' or a sequence of lists.*got 'pairs'"),
    "a dict": ({"a": "b"}, "must be 'pairwise'"),
    "a number": (3, "must be 'pairwise'"),
    "a flat list": (["a", "b"], "a group of interaction_cst must be a list, a tuple or a set of columns; got 'a'"),
    "an empty group": ([["a"], []], r"must have at least one column; got \[\]: omit it"),
    "an unknown name": ([["a", "x"]], r"names columns that X does not have: \['x'\]; X has \['a', 'b'"),
    "an unknown position": ([[0, 4]], r"names columns that X does not have: \[4\]"),
    "a negative position": ([[-1]], "does not have"),
    "a boolean": ([[True]], "by name or position; got True"),
    "a float": ([[1.0]], "by name or position; got 1.0"),
    "a nested list": ([[["a"]]], "by name or position"),
    "a table": (np.zeros((2, 2), int), "must be 'pairwise'"),
    "a column twice": ([["a", 0]], r"must name a column once, by name or by position; got \['a', 0\]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_list_of_groups_is_refused(name):
    spelling, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        requested_interactions(spelling, NAMES)
