"""The step engine, recorded."""

from __future__ import annotations

import pytest
from training_cases import Recorder

from lambdak.eigen import steps as _steps
from lambdak.training import parameters, whitening
from lambdak.training import trainer as train


@pytest.fixture
def recorder(monkeypatch):
    """What training steps ask of the engine."""
    result = Recorder(_steps.step_engine())
    for module in (train, parameters, whitening):
        monkeypatch.setattr(module, "step_engine", lambda: result)
    return result
