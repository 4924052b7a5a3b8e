"""The rows of "Where do I add …" about training, each with a toy of its kind: it works with what the row names.

About ``effort``, ``checkpoint``, ``members`` and ``large.transport``, and the table in ``ARCHITECTURE.md``.
"""

from __future__ import annotations

import inspect
import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checkpoint_cases import FEW, Killed, bits, killed_after_every_save
from large_cases import CASES, parts_of, request_of, together
from large_cases import bits as large_bits

from lambdak import SpectralClassifier, SpectralOrdinalClassifier, SpectralQuantileRegressor, SpectralRegressor
from lambdak.cli.fit import Effort
from lambdak.training import fit as stages
from lambdak.training.checkpoint import State
from lambdak.training.effort import RECIPES
from lambdak.training.large.fit import fit_together
from lambdak.training.parameters import Parameters

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).uniform(-1, 1, (120, 3))
Y = X[:, 0] + X[:, 1] * X[:, 2]


def row(name):
    """The files that a row of the table names."""
    (line,) = re.findall(rf"^\| {re.escape(name)} \|.*$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    return re.findall(r"`([\w/<>]+\.\w+)`", line)


@pytest.mark.parametrize(
    "name", ["an effort level", "what later epochs depend on", "a stage of a fit", "an engine of processes"]
)
def test_the_files_of_a_row_exist(name):
    for file in row(name):
        assert (ROOT / "src" / "lambdak" / file).is_file() or (ROOT / file).is_file(), file


# ---- an effort level ------------------------------------------------------------------------------------------------


def test_a_toy_effort_level_is_a_recipe(monkeypatch):
    monkeypatch.setitem(RECIPES, "toy", replace(RECIPES["fast"], dim=3, members=2))
    model = SpectralRegressor(effort="toy", max_iter=1, random_state=0).fit(X, Y)
    assert (model.model_.dim, len(model.model_.weights)) == (3, 2)
    with pytest.raises(ValueError, match="toy"):
        SpectralRegressor(effort="unheard of").fit(X, Y)


def test_every_effort_level_is_on_the_command_line_and_in_the_parameters():
    assert {level.value for level in Effort} == set(RECIPES)
    for estimator in (SpectralRegressor, SpectralClassifier, SpectralQuantileRegressor, SpectralOrdinalClassifier):
        (named,) = re.findall(r"effort : \{(.*)\}", inspect.getdoc(estimator) or "") or [None]
        assert named is None or re.findall(r'"(\w+)"', named) == list(RECIPES)
    assert 'effort : {"' in (inspect.getdoc(SpectralRegressor) or "")
    assert {"training/effort.py", "cli/fit.py", "estimators/regressors.py"} == set(row("an effort level"))


# ---- what later epochs depend on ------------------------------------------------------------------------------------


class ToyParameters:
    """Steps that become longer with every epoch: later epochs depend on how many there were."""

    def __init__(self, patch, kept):
        epoch, state, restore = Parameters.epoch_, Parameters.state, Parameters.restore_

        def longer(own, design, target, head, rates):
            own.toy = getattr(own, "toy", 0) + 1
            return epoch(own, design, target, head, [own.toy * rate for rate in rates])

        def restore_too(own, saved):
            restore(own, saved)
            own.toy = saved.number("toy")

        patch.setattr(Parameters, "epoch_", longer)
        if kept:
            patch.setattr(Parameters, "state", lambda own: state(own) | State({}, {"toy": getattr(own, "toy", 0)}))
            patch.setattr(Parameters, "restore_", restore_too)


@pytest.mark.parametrize("kept", [True, False])
def test_a_toy_that_later_epochs_depend_on_survives_a_kill_where_state_and_restore_know_it(monkeypatch, tmp_path, kept):
    ToyParameters(monkeypatch, kept)
    undisturbed = SpectralRegressor(**FEW).fit(X, Y)
    killed, _ = killed_after_every_save(monkeypatch, lambda: SpectralRegressor(**FEW), tmp_path / "fit", (X, Y), {})
    assert (bits(killed) == bits(undisturbed)) == kept


# ---- a stage of a fit -----------------------------------------------------------------------------------------------


def test_a_toy_stage_is_computed_once_however_often_a_fit_is_killed(monkeypatch, tmp_path):
    plain, choose, computed, answers = SpectralRegressor(**FEW).fit(X, Y), stages.choose_members, [], []

    def with_toy(request):
        choice = choose(request)
        answers.append(request.checkpoint.stage("toy", lambda: computed.append(1) or [7, "seven"]))
        return choice

    def dying(*_, **__):
        raise Killed

    monkeypatch.setattr(stages, "choose_members", with_toy)
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(stages, "run_members", dying)
            with pytest.raises(Killed):
                SpectralRegressor(**FEW).fit(X, Y, checkpoint=tmp_path / "fit", checkpoint_every=0)
    assert bits(SpectralRegressor(**FEW).fit(X, Y, checkpoint=tmp_path / "fit")) == bits(plain)
    assert answers == [[7, "seven"]] * 3
    assert len(computed) == 1


# ---- an engine of processes -----------------------------------------------------------------------------------------


class ToyEngine:
    """One of two threads that meet at a barrier: nothing but what ``Transport`` says."""

    size, barrier, desk = 2, threading.Barrier(2, timeout=60), [None, None]

    def __init__(self, rank):
        self.rank = rank

    def allreduce(self, array):
        self.desk[self.rank] = array.copy()
        self.barrier.wait()
        total = self.desk[0] + self.desk[1]
        self.barrier.wait()
        array[...] = total

    def broadcast(self, array, root=0):
        self.desk[self.rank] = array
        self.barrier.wait()
        array[...] = self.desk[root].copy()
        self.barrier.wait()


@pytest.mark.slow
def test_a_toy_engine_of_processes_fits_the_same_model_as_the_threads_of_ours():
    def work(transport):
        own = [part for part in parts_of("squared error") if part.index % 2 == transport.rank]
        return fit_together(request_of(CASES["squared error"][0]()), own, transport)

    ours, fits = together(2, work), [None, None]
    engines = [ToyEngine(rank) for rank in range(2)]
    threads = [threading.Thread(target=lambda e=e: fits.__setitem__(e.rank, work(e))) for e in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert large_bits(fits[0]) == large_bits(fits[1]) == large_bits(ours[0])
