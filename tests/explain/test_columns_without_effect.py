"""Columns that do nothing cost nothing and change nothing: effects, pairs, mean effects, rows. Also ``progress``."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
import rich.console
from hand_made_models import by_hand, symmetric

from lambdak.explain import column_effect, interactions, progress
from lambdak.model import mean_effects, readout

ROWS = np.random.default_rng(1).uniform(-1, 1, (12, 43))
ACTING = [3, 17, 41]


def hand_made(n: int, acting: list[int]):
    """A model of n columns, of which the same three matrices belong to those that act."""
    rng = np.random.default_rng(0)
    constant, slopes = symmetric(rng, 4), [np.zeros((4, 4)) for _ in range(n)]
    for i in acting:
        slopes[i] = symmetric(rng, 4)
    return by_hand(constant, slopes)


@pytest.fixture(scope="module")
def wide():
    return hand_made(43, ACTING)


@pytest.fixture(scope="module")
def narrow():
    return hand_made(3, [0, 1, 2])


@pytest.fixture
def solved(monkeypatch):
    """How many eigenvalues the readers of models ask for."""
    counts = []
    for module in (column_effect, interactions, mean_effects, readout):
        real = module.eigenvalue

        def counting(packed, *arguments, _real=real, **named):
            counts.append(int(np.prod(packed.shape[:-1])))
            return _real(packed, *arguments, **named)

        monkeypatch.setattr(module, "eigenvalue", counting)
    return counts


@pytest.mark.parametrize("rows", [True, False])
def test_forty_columns_without_effect_ask_for_no_eigenvalue(wide, narrow, solved, rows):
    for model, own in ((narrow, ROWS[:, ACTING]), (wide, ROWS)):
        model.explain_global(own if rows else None)
        solved.append(0)
    end = solved.index(0)
    assert sum(solved[:end]) == sum(solved[end:]) > 0


def test_mean_effects_ask_for_no_eigenvalue_of_columns_without_effect(wide, narrow, solved):
    for model, own in ((narrow, ROWS[:, ACTING]), (wide, ROWS)):
        mean_effects.mean_effects(model.model_, model.model_.encoder.transform(own))
        solved.append(0)
    end = solved.index(0)
    assert sum(solved[:end]) == sum(solved[end:]) > 0


def test_columns_that_act_are_explained_as_if_the_others_were_not_there(wide, narrow):
    found, expected = wide.explain_global(ROWS), narrow.explain_global(ROWS[:, ACTING])
    for position, column in enumerate(ACTING):
        one, other = found[f"x{column}"], expected[f"x{position}"]
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(other, field.name)
            if isinstance(values[0], float | np.ndarray):  # bounds leave room for the rounding of every slot of a row
                np.testing.assert_allclose(*values, rtol=1e-11, atol=1e-11, err_msg=field.name)
            elif field.name != "column":
                assert values[0] == values[1], field.name
    assert [pair.joint for pair in found.interactions] == [pair.joint for pair in expected.interactions]


def test_columns_without_effect_are_listed_with_zeros_and_where_their_rows_are(wide):
    effects = wide.explain_global(ROWS).effects
    assert len(effects) == 43
    for effect in effects[3:]:
        assert not effect.effect.any()
        assert (effect.importance, effect.observed, effect.proven, effect.per_unit, effect.sign) == (0, 0, 0, 0, 0)
        assert effect.slope_min == effect.slope_max == 0.0
        assert effect.counts.sum() == len(ROWS)


def test_pairs_are_those_of_columns_that_act(wide):
    named = {frozenset((pair.first, pair.second)) for pair in wide.explain_global(ROWS).interactions}
    assert named == {frozenset(("x3", "x17")), frozenset(("x3", "x41")), frozenset(("x17", "x41"))}


def test_a_model_that_does_nothing_has_effects_of_zero_and_no_pairs():
    found = hand_made(4, []).explain_global(ROWS[:, :4])
    assert [effect.proven for effect in found.effects] == [0.0] * 4
    assert found.interactions == ()


def test_matrices_of_rows_leave_out_columns_without_effect(wide):
    output = readout.readouts(wide.model_)[0]
    design = wide.model_.encoder.transform(ROWS, np.float64)
    assert design.to_sparse(output.coef.shape[1], output.filled).nnz == 3 * len(ROWS)
    dense = design.to_sparse(output.coef.shape[1]).toarray()
    np.testing.assert_allclose(output.packed(design), dense @ output.coef + output.constant[:, None], atol=1e-12)


def written_by(monkeypatch, seconds_per_step: float, terminal: bool = True) -> str:
    """What 30 steps write to stderr, of which each takes so long by a clock that is moved by hand."""
    now, written = [0.0], io.StringIO()
    real = rich.console.Console
    monkeypatch.setattr(rich.console, "Console", lambda stderr: real(file=written, force_terminal=terminal, width=80))
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    for step in progress.watched(range(30), "columns explained"):
        assert written.getvalue() == "" or step * seconds_per_step > 2
        now[0] += seconds_per_step
    return written.getvalue()


def test_progress_is_shown_where_it_takes_more_than_two_seconds(monkeypatch):
    assert "columns explained" in written_by(monkeypatch, 1 / 8)


def test_progress_is_silent_where_it_takes_less(monkeypatch):
    assert written_by(monkeypatch, 1 / 16) == ""


def test_progress_is_silent_where_nobody_looks(monkeypatch):
    assert written_by(monkeypatch, 1 / 8, terminal=False) == ""
