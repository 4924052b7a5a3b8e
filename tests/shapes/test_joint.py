"""Complements and Substitutes: four-point inequalities, what fits them, which combinations are possible.

They go through ``ends``, ``patterns`` and ``pencil/common_pattern``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile_cases import sealed
from shape_cases import TASKS, shaped, shaped_table

import lambdak.certify
from lambdak import SpectralClassifier, SpectralRegressor, load
from lambdak import shapes as s
from lambdak.eigen.packing import diagonal_indices
from lambdak.pencil.common_pattern import common_pattern
from lambdak.shapes.ends import directions, end_of_spectrum, pattern_numbers
from lambdak.store._header import describe

CHECKER = Path(lambdak.certify.__file__).parent / "lambdak_check.py"


def numbers_of(column, rng, count):
    """Numbers at and beside knots, between them and beyond the range."""
    nodes = column.nodes()
    some = [*nodes, *np.nextafter(nodes, np.inf), *np.nextafter(nodes, -np.inf), nodes[0] - 9.0, nodes[-1] + 9.0]
    return np.where(rng.random(count) < 0.5, rng.choice(some, count), rng.uniform(nodes[0], nodes[-1], count))


def least_joint_effect(model, X, pair, count=3000):
    """The least f(a', b') + f(a, b) − f(a', b) − f(a, b') over random boxes, and its size next to rounding."""
    rng, own = np.random.default_rng(0), model.model_
    rows = X.sample(count, replace=True, random_state=0, ignore_index=True)
    ends = [np.sort([numbers_of(own.encoder.columns[X.columns.get_loc(c)], rng, count) for _ in "ab"], 0) for c in pair]
    corner = {
        (i, j): own.raw(rows.assign(**{pair[0]: ends[0][i], pair[1]: ends[1][j]})) for i in (0, 1) for j in (0, 1)
    }
    found = corner[1, 1] + corner[0, 0] - corner[1, 0] - corner[0, 1]
    return found, 1e-11 * np.abs([*corner.values()]).max()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("shape", "sign"), [(s.Complements("age", "income", "dose"), 1), (s.Substitutes("age", "income"), -1)]
)
def test_four_corners_of_a_box_of_two_columns_are_in_order(shape, sign, task, tmp_path):
    model, X = shaped([shape], task)
    model.save(tmp_path / "model")
    for own in (model, load(tmp_path / "model")):
        for pair in combinations(shape.columns, 2):
            found, rounding = least_joint_effect(own, X, list(pair))
            assert (sign * model.model_.loss.sign * found >= -rounding).all()
            assert np.abs(found).max() > 1e3 * rounding  # something is left to promise


@pytest.mark.parametrize(("make", "sign"), [(s.Complements, 1), (s.Substitutes, -1)])
@pytest.mark.parametrize("turned", [1, -1])
def test_effects_may_rise_or_fall(make, sign, turned):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 3, (800, 2)), columns=["a", "b"])
    y = sign * (X.a * X.b if turned > 0 else (3 - X.a) * (3 - X.b))
    assert SpectralRegressor(constraints=[make("a", "b")], effort="fast", random_state=0).fit(X, y).score(X, y) > 0.97


@pytest.mark.parametrize("target", ["product", "smaller one", "with others"])
def test_what_is_worth_more_together_is_fitted_nearly_as_well_as_by_a_free_model(target):
    def table(rows, seed):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.uniform(0, 3, (rows, 3)), columns=["a", "b", "c"])
        y = {"product": X.a * X.b, "smaller one": np.minimum(X.a, X.b), "with others": X.a * X.b + 0.3 * X.c * X.a}
        return X, y[target], 0.2 * rng.normal(size=rows)

    X, y, noise = table(800, 0)
    new, true, _ = table(3000, 1)
    free, kept, wrong = (
        SpectralRegressor(constraints=own, effort="fast", random_state=0).fit(X, y + noise).score(new, true)
        for own in (None, [s.Complements("a", "b")], [s.Substitutes("a", "b")])
    )
    assert kept > free - 0.015
    assert wrong < kept - 0.02


def test_steps_of_columns_that_work_together_go_their_ways_exactly_with_other_shapes_of_them():
    known = [s.Complements("age", "income"), s.Falling("age"), s.Concave("income"), s.MaxInfluence("income", 0.8)]
    model, X = shaped(known, max_iter=12)
    certificate = model.certify()
    assert certificate.holds
    assert {own.kind for own in certificate.claims if own.requested} >= {"complements", "monotone", "concave"}
    found, rounding = least_joint_effect(model, X, ["age", "income"])
    assert (found >= -rounding).all()
    line = shaped_table()[0].iloc[[1] * 50].assign(age=np.linspace(0, 99, 50))
    assert (np.diff(model.predict(line)) <= 1e-12).all()


def test_a_missing_cell_may_interact_with_anything():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (900, 2)), columns=["a", "b"])
    gone = rng.random(900) < 0.4
    y = X.a * X.b - np.where(gone, 3 * (X.b - 0.5) ** 2, 0.0)
    X.loc[gone, "a"] = np.nan
    model = SpectralRegressor(constraints=[s.Complements("a", "b")], effort="fast", random_state=0).fit(X, y)
    assert model.certify().holds
    assert model.score(X, y) > 0.8


def test_pairs_may_be_complements_and_substitutes_where_they_form_no_odd_circle():
    shapes = [s.Complements(0, 1), s.Substitutes(1, 2), s.Substitutes(4, 5)]
    for end in (1, -1):
        ways = directions(shapes, end)
        assert (ways[0] * ways[1], ways[1] * ways[2], ways[4] * ways[5]) == (end, -end, -end)
    assert pattern_numbers(shapes) == {0: 0, 1: 0, 2: 0, 4: 1, 5: 1}


@pytest.mark.parametrize(
    ("shapes", "end"),
    [
        ([s.Complements(0, 1)], 1),
        ([s.Substitutes(0, 1)], -1),
        ([s.Complements(0, 1), s.Concave(0)], -1),
        ([s.Substitutes(0, 1), s.Convex(2)], 1),
        ([s.Substitutes(0, 1, 2), s.Convex(3)], -1),
        ([s.Complements(0, 1), s.Substitutes(1, 2), s.Substitutes(0, 2)], 1),
    ],
)
def test_the_end_of_the_spectrum_is_one_that_keeps_all_shapes(shapes, end):
    assert end_of_spectrum(shapes) == end
    assert end_of_spectrum([own for own in shapes if own.joint], -1) == -end_of_spectrum([o for o in shapes if o.joint])


CONTRADICTIONS = {
    "both of one pair": ([s.Complements("age", "income"), s.Substitutes("income", "age")], "keep one of the two"),
    "an odd circle": (
        [s.Complements("age", "income", "dose"), s.Substitutes("dose", "income")],
        "keep one of the two",
    ),
    "three complements of which one is concave": (
        [*(s.Complements(*own) for own in combinations(("age", "income", "dose"), 2)), s.Concave("age")],
        r"no eigenvalue keeps all of Complements\('age', 'income'\), .* Concave\('age'\): leave one out",
    ),
    "three substitutes of which one is convex": (
        [s.Substitutes("age", "income", "dose"), s.Convex("age")],
        "no eigenvalue keeps all of",
    ),
    "no common group": (
        [s.Complements("age", "income"), s.Interactions([["age", "dose"], ["income", "grade"]])],
        "age and income have no group in common",
    ),
    "a column that turns": (
        [s.Complements("age", "income"), s.Valley("age", at=45)],
        "a column that turns cannot work",
    ),
    "a column whose slopes are compared": (
        [s.Complements("age", "income"), s.Dominates("income", "dose"), s.Rising("size")],
        r"^constraints on income, dose cannot be trained together: Complements\('age', 'income'\), "
        r"Dominates\('income', 'dose'\): leave out the complements",
    ),
    "a missing anchor": ([s.Complements("age", "income"), s.Anchored("age", None)], "anchor a number"),
    "a category": ([s.Complements("age", "grade")], "needs a column of numbers"),
    "a column twice": ([s.Complements("age", 0)], "must name every column once"),
    "an unknown column": ([s.Complements("age", "wage")], "names columns that X does not have"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_with_both_sides(name):
    shapes, words = CONTRADICTIONS[name]
    with pytest.raises(ValueError, match=words):
        shaped(shapes)


def test_one_column_several_classes_and_a_chosen_eigenvalue_are_refused():
    with pytest.raises(ValueError, match="must name two columns or more"):
        s.Complements("age")
    X, y = shaped_table()
    with pytest.raises(ValueError, match="two classes"):
        SpectralClassifier(constraints=[s.Complements("age", "income")]).fit(X, np.digitize(y, [1.0, 2.0]))
    with pytest.raises(ValueError, match="eig_idx must be None with Complements"):
        SpectralRegressor(constraints=[s.Complements("age", "income")], eig_idx=2).fit(X, y)


@pytest.mark.parametrize("groups", ["pairwise", [["age", "income", "dose"], ["age", "grade"], ["income", "size"]]])
def test_a_group_with_one_of_the_columns_may_use_any_matrices_for_it(groups):
    model, X = shaped([s.Complements("age", "income"), s.Interactions(groups)])
    assert model.certify().holds
    found, rounding = least_joint_effect(model, X, ["age", "income"])
    assert (found >= -rounding).all()
    age = model.model_.encoder.columns[0]
    rows = model.model_.matrices[:, age.start + age.n_entries - 1]
    assert np.delete(rows, diagonal_indices(model.model_.dim), axis=-1).any()


@pytest.mark.parametrize("settings", [{"alpha": 0.5}, {"n_knots": 0}, {"dim": 1}, {"dim": 2}, {"max_influence": 0.5}])
def test_shapes_hold_with_other_settings(settings):
    model, X = shaped([s.Complements("age", "income")], **settings)
    assert model.certify().holds
    found, rounding = least_joint_effect(model, X, ["age", "income"])
    assert (found >= -rounding - 1e-13).all()


# ---- proofs ----------------------------------------------------------------------------------------------------------


def checked(path):
    found = subprocess.run(
        [sys.executable, "-I", "-S", str(CHECKER), str(path), "--json"], capture_output=True, text=True
    )
    return None if found.returncode == 2 else json.loads(found.stdout)["holds"]


def on_the_edge(shape):
    """A file whose columns move by small integers, so that one unit in the last place decides."""
    model, _ = shaped([shape], dim=3)
    header, tensors = describe(model._saved())
    coef = np.array(tensors["coef"])
    columns, rng = model.model_.encoder.columns, np.random.default_rng(0)
    last = model.model_.outputs.indices[0] > 0
    for turn, i in enumerate((0, 1)):
        ways = 1 if last == (shape.joint > 0) or not turn else -1
        cells = slice(columns[i].start, columns[i].start + columns[i].n_entries)
        steps = rng.integers(0, 3, (len(coef), columns[i].n_entries)) / 8.0
        base = rng.integers(-3, 3, steps.shape) / 8.0
        coef[:, cells] = 0.0
        coef[:, cells, 0] = base + ways * np.cumsum(steps, axis=1)
        coef[:, cells, 2] = coef[:, cells, 5] = base
    return model, header, {**tensors, "coef": coef}, columns


@pytest.mark.parametrize("shape", [s.Complements("age", "income"), s.Substitutes("age", "income")])
def test_one_unit_in_the_last_place_decides_and_three_programs_agree(shape, tmp_path):
    _, header, tensors, columns = on_the_edge(shape)
    path, rng, seen = tmp_path / "model", np.random.default_rng(1), []
    for turn in range(12):
        coef = tensors["coef"].copy()
        if turn:
            place = (rng.integers(len(coef)), columns[turn % 2].start + rng.integers(columns[turn % 2].n_entries))
            k = rng.choice([0, 1, 2, 5])
            coef[(*place, k)] = np.nextafter(coef[(*place, k)], rng.choice([-np.inf, np.inf]))
        path.write_bytes(sealed(header, {**tensors, "coef": coef}))
        try:
            holds = load(path).certify(exact=True).holds
        except ValueError:
            holds = False
        assert bool(checked(path)) == holds
        seen.append(holds)
    assert seen[0]
    assert not all(seen)


def test_a_pattern_is_the_same_for_all_columns_and_all_their_cells():
    width, on = 6, [0, 2, 5]
    rows = np.zeros((1, 4, width))
    rows[0, :, on] = [[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0]]
    steps = {0: [{0: -1, 1: 1}], 1: [{2: -1, 3: 1}]}
    assert not common_pattern(rows, steps, 1).reason
    assert "go the same way" in common_pattern(rows, steps, -1).reason
    assert "along one pattern" in common_pattern(rows, steps, 0).reason
    other = rows.copy()
    other[0, 3, on] = [2.0, 2.0, 0.0]
    assert "not c I + g P" in common_pattern(other, steps, 1).reason
    other[0, 3, on] = 5.0  # what only adds a number is no step along the pattern
    assert not common_pattern(other, steps, 1).reason
    other[0, 3, 1] = 1e-300
    assert "not c I + g P" in common_pattern(other, steps, 1).reason
