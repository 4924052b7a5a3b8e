"""Pilot models: small ones that read the middle eigenvalue."""

from __future__ import annotations

from fit_cases import X, Y, new

from lambdak.training.trainer import Trainer


def test_pilot_models_are_of_their_own_size_and_read_the_middle_eigenvalue(monkeypatch):
    seen = []
    original = Trainer.run

    def watched(trainer, *given):
        seen.append((trainer.parameters.dim, trainer.problem.outputs.indices))
        return original(trainer, *given)

    monkeypatch.setattr(Trainer, "run", watched)
    new(dim=9, eig_idx=1).fit(X, Y)
    new(dim=4, eig_idx=1).fit(X, Y)
    assert seen == [(5, (2,)), (9, (1,)), (4, (1,)), (4, (1,))]
