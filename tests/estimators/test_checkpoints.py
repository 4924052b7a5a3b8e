"""A fit that is killed, at whatever moment, continues with the same call and ends with the same model, bit for bit."""

from __future__ import annotations

import os
import signal
import time
from copy import copy
from dataclasses import replace

import numpy as np
import processes
import pytest
from checkpoint_cases import CASES, FAST, FEW, Killed, arguments, bits, killed_after_every_save, table
from processes import Program

from lambdak import SpectralRegressor
from lambdak.training import members as fitting
from lambdak.training.effort import RECIPES

LONG = ["squared error", "noiseless, refined"]
IN_CHILD = """
import os, signal, sys
import numpy as np
from checkpoint_cases import CASES, arguments, bits
make, special = CASES[{case!r}]
rows, beside = arguments(**special)
{before}
model = make().fit(*rows, **beside, checkpoint={path!r}, checkpoint_every=0)
print(repr(bits(model)))
"""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case in LONG else case for case in CASES]
)
def test_a_fit_that_is_killed_after_every_save_ends_with_the_same_model(monkeypatch, tmp_path, case):
    make, special = CASES[case]
    if case in LONG:  # all stages, of fewer epochs
        monkeypatch.setitem(RECIPES, "fast", replace(RECIPES["fast"], row_steps=3_000, pilot_epochs=3))
    rows, beside = arguments(**special)
    undisturbed = make().fit(*rows, **beside)
    killed, lives = killed_after_every_save(monkeypatch, make, tmp_path / "fit", rows, beside)
    assert bits(killed) == bits(undisturbed)
    assert lives > 3 + undisturbed.n_iter_  # the beginning, two stages, every epoch, and the end
    assert not os.listdir(tmp_path)


def test_saving_changes_nothing(tmp_path):
    rows, _ = arguments()
    plain = SpectralRegressor(**FEW).fit(*rows)
    assert bits(SpectralRegressor(**FEW).fit(*rows, checkpoint=tmp_path / "fit", checkpoint_every=0)) == bits(plain)


def test_a_refit_on_all_rows_continues_where_it_was(monkeypatch, tmp_path):
    rows, _ = arguments()
    wanted, refit, begun = bits(SpectralRegressor(**FAST).fit(*rows)), fitting.Trainer.refit, []

    def dying(trainer, schedule, done=0):
        begun.append(done)
        for epoch in refit(trainer, schedule, done):
            yield epoch
            if epoch == done + 7:
                raise Killed

    monkeypatch.setattr(fitting.Trainer, "refit", dying)
    for _ in range(2):
        with pytest.raises(Killed):
            SpectralRegressor(**FAST).fit(*rows, checkpoint=tmp_path / "fit", checkpoint_every=0)
    monkeypatch.setattr(
        fitting.Trainer, "refit", lambda trainer, schedule, done: begun.append(done) or refit(trainer, schedule, done)
    )
    assert bits(SpectralRegressor(**FAST).fit(*rows, checkpoint=tmp_path / "fit")) == wanted
    assert begun == [0, 7, 14]


def test_a_killed_refinement_is_done_again_from_its_start(monkeypatch, tmp_path):
    make, special = CASES["noiseless, refined"]
    rows, _ = arguments(**special)
    wanted, refine = bits(make().fit(*rows)), fitting.refine

    def dying(trainer):
        for count, seen in enumerate(refine(trainer)):
            yield seen
            if count == 4:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "refine", dying)
        with pytest.raises(Killed):
            make().fit(*rows, checkpoint=tmp_path / "fit", checkpoint_every=0)
    assert bits(make().fit(*rows, checkpoint=tmp_path / "fit")) == wanted


def test_a_fit_without_a_seed_continues_with_the_same_randomness(monkeypatch, tmp_path):
    X, y = table()
    path, seen, epoch = tmp_path / "fit", [], fitting.Trainer.run

    def run(trainer, *given):
        for event in epoch(trainer, *given):
            seen.append(event.validation.copy())
            yield event

    monkeypatch.setattr(fitting.Trainer, "run", run)
    killed, _ = killed_after_every_save(
        monkeypatch, lambda: SpectralRegressor(effort="fast", max_iter=6), path, (X, y), {}
    )
    np.testing.assert_array_equal(np.array(seen[-6:]), killed.validation_curve_)


def test_another_number_of_threads_may_continue(monkeypatch, tmp_path):
    rows, _ = arguments()
    counts = iter([1, 2] * 20)
    killed, _ = killed_after_every_save(
        monkeypatch, lambda: SpectralRegressor(n_jobs=next(counts), **FEW), tmp_path / "fit", rows, {}
    )
    assert bits(killed) == bits(SpectralRegressor(**FEW).fit(*rows))


def test_a_warm_start_continues_too(monkeypatch, tmp_path):
    X, y = table()
    begun = SpectralRegressor(warm_start=True, **FEW).fit(X, y)
    wanted = bits(copy(begun).fit(X, y))
    killed, lives = killed_after_every_save(monkeypatch, lambda: copy(begun), tmp_path / "fit", (X, y), {})
    assert bits(killed) == wanted
    assert lives == 5  # the beginning, three epochs, and the end


def test_ctrl_c_keeps_the_best_models_and_the_checkpoint(monkeypatch, tmp_path):
    rows, _ = arguments()
    path, wanted = tmp_path / "fit", bits(SpectralRegressor(**FEW).fit(*rows))
    run = fitting.Trainer.run

    def interrupted(trainer, schedule, after=None):
        for event in run(trainer, schedule, after):
            yield event
            if event.epoch == 2 and trainer.parameters.dim == 9:  # of the members, not of pilot models
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fitting.Trainer, "run", interrupted)
        assert SpectralRegressor(**FEW).fit(*rows, checkpoint=path, checkpoint_every=0).n_iter_ == 2
    assert path.exists()
    assert bits(SpectralRegressor(**FEW).fit(*rows, checkpoint=path)) == wanted
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("case", ["capped and monotone", "quantiles"])
def test_processes_that_are_killed_around_the_replacement_of_the_file_end_with_the_same_model(tmp_path, case, moment):
    kill = "os.kill(os.getpid(), signal.SIGKILL)"
    lines = {"before": [kill], "after": ["replace(*paths)", kill]}[moment]
    # The file is replaced twice before the process dies: before the third time it gained one epoch or stage.
    begin = ["replace, turns = os.replace, iter(range(99))", "def dying(*paths):"]
    twice = ["    if next(turns) < 2:", "        return replace(*paths)"]
    dying = "\n".join([*begin, *twice, *(f"    {line}" for line in lines), "os.replace = dying"])
    make, special = CASES[case]
    rows, beside = arguments(**special)
    text, path = "", tmp_path / "fit"
    for _ in range(9):
        child = processes.run(_fit(case, path, dying))
        if child.returncode == 0:
            text = child.stdout
            break
        assert child.returncode == -signal.SIGKILL, child.stderr
    assert text.strip() == repr(bits(make().fit(*rows, **beside)))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("seed", range(3))
def test_a_process_that_is_killed_at_random_moments_ends_with_the_same_model(tmp_path, seed):
    make, special = CASES["squared error"]
    rows, beside = arguments(**special)
    path, rng = tmp_path / "fit", np.random.default_rng(seed)
    for _ in range(3):
        child = Program(_fit("squared error", path, "print('ready', flush=True)"))
        assert child.wait_for_line() == "ready"
        time.sleep(rng.uniform(0, 0.4))
        child.kill()
    last = processes.run(_fit("squared error", path, ""))
    assert last.stdout.strip() == repr(bits(make().fit(*rows, **beside))), last.stderr


def _fit(case, path, before):
    return IN_CHILD.format(case=case, path=str(path), before=before)
