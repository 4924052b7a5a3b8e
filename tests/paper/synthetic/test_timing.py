"""What a training sample costs, by a clock that the test turns."""

from __future__ import annotations

import itertools

import pytest

from lambdak.paper.synthetic import stacks, timing
from lambdak.paper.synthetic.grid import Cell, study

GRID = study("definite", "quick")


@pytest.fixture
def counted(monkeypatch):
    """Steps that were taken; the clock shows nothing else, an hour each."""
    steps, inner = [], stacks.Stack.step

    def step(self, x, y):
        steps.append(x.shape)
        inner(self, x, y)

    monkeypatch.setattr(stacks.Stack, "step", step)
    monkeypatch.setattr(timing.time, "process_time", lambda: 3600.0 * len(steps))
    return steps


def test_a_sample_of_a_model_is_its_share_of_a_step(counted):
    found = timing.sample_time(GRID, Cell(2, "rising-root", 9, 0.0, 3))
    assert found == pytest.approx(3600 / (GRID.models * GRID.batch))
    assert set(counted) == {(GRID.targets * GRID.seeds, GRID.batch, 2)}


def test_the_least_of_the_repeats_counts(monkeypatch):
    shown = itertools.accumulate([0, 5, 0, 1, 0, 7, 0, 9, 0, 9])
    monkeypatch.setattr(timing.time, "process_time", lambda: float(next(shown)))
    assert timing.sample_time(GRID, Cell(2, "rising-free", 9, 0.0, 3)) == pytest.approx(1 / (GRID.models * GRID.batch))


@pytest.mark.usefixtures("counted")
def test_times_are_written_once_and_read_back(tmp_path):
    folder = tmp_path / "definite-quick"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match="lambdak reproduce"):
        timing.read_times(folder)
    path = timing.time_study("definite", "quick", tmp_path)
    times = timing.read_times(folder)
    assert set(times) == {(fit, dim) for fit in GRID.fits for dim in GRID.dims}
    assert all(value == pytest.approx(3600 / (GRID.models * GRID.batch), rel=1e-4) for value in times.values())
    path.write_text(path.read_text().replace("rising-root", "kept"))
    assert ("kept", 3) in timing.read_times(timing.time_study("definite", "quick", tmp_path).parent)
