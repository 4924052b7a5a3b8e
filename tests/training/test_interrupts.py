"""What an interrupted fit keeps, phase by phase, is what the guide says of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lambdak import SpectralRegressor
from lambdak.training.trainer import Trainer

SETTINGS = {"effort": "fast", "dim": 7, "monotonic_cst": {"a": 1}, "random_state": 0, "n_jobs": 1}
DIM = SETTINGS["dim"]


def table(rows=400):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (rows, 2)), columns=["a", "b"])
    return X, X["a"] + np.abs(X["b"]) + 0.1 * rng.standard_normal(rows)


def in_memory(model):
    return model.fit(*table())


def large(model):
    X, y = table()
    return model.fit([X.assign(y=y).iloc[i : i + 100] for i in range(0, 400, 100)], "y", cache=None)


def interrupts(*_, **__):
    raise KeyboardInterrupt


def after(epochs, of_members):
    """A training that is interrupted after some epochs, of the members or of the smaller models before."""
    whole = Trainer.run

    def run(self, *given):
        for event in whole(self, *given):
            if (self.parameters.dim == DIM) == of_members and event.epoch > epochs:
                raise KeyboardInterrupt
            yield event

    return "lambdak.training.trainer.Trainer.run", run


PHASES = {  # phase → what is replaced by what
    "reading": lambda: ("lambdak.training.draft.TableEncoder.fit", interrupts),
    "pilots": lambda: after(1, of_members=False),
    "trials": lambda: ("lambdak.training.choice.choose_capacity", interrupts),
    "first epoch": lambda: after(0, of_members=True),
    "finishing": lambda: ("lambdak.training.finish.check_fit", interrupts),
}


@pytest.mark.parametrize("fit", [in_memory, large])
@pytest.mark.parametrize("phase", PHASES)
def test_an_interrupt_outside_of_the_epochs_of_members_keeps_nothing_and_says_so(fit, phase, monkeypatch):
    model = fit(SpectralRegressor(**SETTINGS | {"max_iter": 2}))
    before = vars(model).copy()
    monkeypatch.setattr(*PHASES[phase]())
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(model)
    assert len(caught.value.__notes__) == 1
    assert "no model is kept" in caught.value.__notes__[0]
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@pytest.mark.parametrize("fit", [in_memory, large])
@pytest.mark.parametrize("epochs", [1, 4])
def test_an_interrupt_in_the_epochs_of_members_keeps_their_best_states(fit, epochs, monkeypatch, capsys):
    monkeypatch.setattr(*after(epochs, of_members=True))
    model = fit(SpectralRegressor(**SETTINGS))
    assert "keeping the best models" in capsys.readouterr().out
    assert model.n_iter_ == epochs
    assert model.certify().holds
    assert np.isfinite(model.predict(table()[0])).all()


def test_a_continued_training_that_is_interrupted_at_once_leaves_the_model_as_it_was(monkeypatch):
    model = in_memory(SpectralRegressor(**SETTINGS, max_iter=2, warm_start=True))
    kept = model.model_
    monkeypatch.setattr(*after(0, of_members=True))
    with pytest.raises(KeyboardInterrupt) as caught:
        in_memory(model)
    assert "no model is kept" in caught.value.__notes__[0]
    assert model.model_ is kept
