"""Every shape, alone and with others: trained, proven in floats and integers, checked, attacked, and read again.

Tests ``bending``, ``influence``, ``rising``, ``certify/orders`` and ``certify/shape_attack``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from shape_cases import CONSTRAINTS, TASKS, shaped, shaped_table
from sklearn.base import clone

import lambdak.certify
from lambdak import SpectralClassifier, SpectralRegressor, load
from lambdak import shapes as s
from lambdak.shapes.interactions import requested_interactions
from lambdak.shapes.requested import requested_shapes
from lambdak.shapes.rising import Monotone
from lambdak.table.encoder import TableEncoder

CHECKER = Path(lambdak.certify.__file__).parent / "lambdak_check.py"


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_what_is_requested_is_proven_by_three_programs_attacked_and_read_again(name, tmp_path):
    model, X = shaped(CONSTRAINTS[name])
    fast, exact = model.certify(), model.certify(exact=True)
    assert fast.holds
    assert [(own.kind, own.proven) for own in fast.claims] == [(own.kind, own.proven) for own in exact.claims]
    model.save(tmp_path / "model")
    arguments = [sys.executable, "-I", "-S", str(CHECKER), str(tmp_path / "model"), "--json"]
    found = json.loads(subprocess.run(arguments, capture_output=True, check=True, text=True).stdout)
    kinds = sorted((own.kind, own.subject) for own in fast.claims if own.requested)
    assert sorted((own["kind"], own["subject"]) for own in found["claims"] if own["requested"]) == kinds
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(again.certify()) == str(fast)
    assert again.get_params()["constraints"] == CONSTRAINTS[name]
    assert model.verify(X, n=400).violations == 0


@pytest.mark.parametrize("task", list(TASKS)[1:])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_shapes_hold_for_all_tasks(name, task):
    model, X = shaped(CONSTRAINTS[name], task)
    assert model.certify().holds
    assert model.verify(X, n=100).violations == 0


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_training_continues_with_shapes_from_a_file(name, tmp_path):
    model, X = shaped(CONSTRAINTS[name])
    model.save(tmp_path / "model", training_state=True)
    y = shaped_table()[1]
    again = load(tmp_path / "model").partial_fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.partial_fit(X, y).predict(X))
    assert again.certify().holds


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_shapes_are_settings_like_others(name):
    model = SpectralRegressor(constraints=CONSTRAINTS[name])
    other = clone(model)
    assert other.get_params()["constraints"] == CONSTRAINTS[name]
    assert eval(repr(CONSTRAINTS[name]), vars(s)) == CONSTRAINTS[name]


CONTRADICTIONS = {
    "both ways": (
        [s.Rising("age"), s.Falling("age")],
        "Rising.'age'. and Falling.'age'.: .* both rise and fall",
    ),
    "two orders": ([s.Rising("grade", list("ab")), s.Rising("grade", list("ba"))], "order of 'grade' must name every"),
    "bent both ways": ([s.Convex("age"), s.Concave("age")], "bends both ways is straight"),
    "all and some": ([s.Convex(), s.Concave("age")], "name its columns, as in Convex"),
    "no such column": ([s.Rising("agee")], "does not have: .'agee'.*Did you mean 'age'"),
    "no order": ([s.Rising("grade")], "needs numbers or an order"),
    "an order of numbers": ([s.Rising("age", [1, 2])], "must have no order"),
    "a category that bends": ([s.Convex("grade")], "needs a column of numbers"),
    "two slopes": ([s.MaxSlope("age", 1.0), s.MaxSlope("age", 2.0)], "two limits, 1.0 and 2.0: keep the smaller one"),
    "a category with a slope": ([s.MaxSlope("grade", 1.0)], "needs a column of numbers"),
    "two caps": ([s.MaxInfluence("age", 1.0), s.MaxInfluence("age", 2.0)], "two caps"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_name_both_sides_and_the_way_out(name):
    constraints, words = CONTRADICTIONS[name]
    with pytest.raises(ValueError, match=words):
        shaped(constraints)


def test_only_shapes_that_speak_of_the_same_are_compared(monkeypatch):
    """Otherwise thousands of columns or groups, of a fit or of a file, are millions of pairs."""
    asked = []
    for kind in (Monotone, s.MaxInfluence, s.Convex):
        compare = kind.contradicts
        monkeypatch.setattr(kind, "contradicts", lambda *args, compare=compare: asked.append(args) or compare(*args))
    columns = TableEncoder(n_knots=3).fit(np.random.default_rng(0).random((20, 40))).columns
    pairs = list(combinations(range(40), 2))
    listed = [s.MaxInfluence(pair, 1.0) for pair in pairs] + [s.Convex(i) for i in range(20)]
    found = requested_shapes(columns, [1] * 40, 0.5, None, None, listed)
    assert len(found) == 40 + 40 + len(pairs) + 20
    assert len(asked) <= 2 * 20  # Rising and Convex of one column
    asked.clear()
    with pytest.raises(ValueError, match=r"two caps, 0\.5 and 2\.0"):
        requested_shapes(columns, None, 0.5, None, None, [*listed, s.MaxInfluence(39, 2.0)])
    assert len(asked) == 1
    with pytest.raises(ValueError, match="at most 200 shapes that speak of the same column; got RisingAlong"):
        requested_shapes(columns, None, None, None, None, [s.RisingAlong({0: 1, 1: float(i)}) for i in range(1, 300)])


@pytest.mark.parametrize("seed", range(30))
def test_groups_within_others_are_left_out(seed):
    rng = np.random.default_rng(seed)
    groups = [rng.choice(7, rng.integers(1, 6), replace=False).tolist() for _ in range(rng.integers(1, 12))]
    sets = {frozenset(group) for group in groups}
    sets |= {rest for rest in [frozenset(range(7)).difference(*sets)] if rest}
    largest = sorted(tuple(sorted(each)) for each in sets if not any(each < other for other in sets))
    found = requested_interactions(groups, list("abcdefg"))
    assert (((0, 1, 2, 3, 4, 5, 6),) if found is None else found.groups) == tuple(largest)


@pytest.mark.parametrize("wrong", [s.Rising("age"), ["age"], "age", {"age": 1}])
def test_constraints_are_a_list_of_shapes(wrong):
    with pytest.raises(TypeError, match="constraints must"):
        shaped(wrong)


def test_shorthands_are_the_same_objects_and_make_the_same_model():
    short = {"monotonic_cst": {"income": 1, "age": -1}, "shape": "convex", "max_influence": {"dose": 0.5}}
    long = [s.Rising("income"), s.Falling("age"), s.Convex(), s.MaxInfluence("dose", 0.5)]
    (one, X), (other, _) = shaped(None, **short), shaped(long)
    assert set(one.model_.promises.shapes) == set(other.model_.promises.shapes)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_more_than_two_classes_have_no_direction():
    X, y = shaped_table()
    with pytest.raises(ValueError, match=r"Rising.'age'. needs two classes; got 3"):
        SpectralClassifier(constraints=[s.Rising("age")]).fit(X, np.digitize(y, [2, 3]))
