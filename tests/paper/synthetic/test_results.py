"""Studies on disk: stopped anywhere, they end with exactly the rows of an undisturbed run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import processes
import pytest

from lambdak.paper.synthetic import results
from lambdak.paper.synthetic.grid import STUDIES, study
from lambdak.paper.synthetic.sweep import run_cell

pq = pytest.importorskip("pyarrow.parquet")

GRID = study("univariate", "quick")
CELLS = list(GRID.cells())


def run(out, name="univariate", **options):
    """All progress reports of a run."""
    return list(results.run_study(name, "quick", out, **options))


def table(out, name="univariate"):
    return pq.read_table(out / f"{name}-quick" / "results.parquet")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    assert run(out) == [(done, len(CELLS)) for done in range(len(CELLS) + 1)]
    return out


@pytest.fixture
def copied(undisturbed, tmp_path):
    """A finished study that a test may damage."""
    shutil.copytree(undisturbed, tmp_path / "out")
    return tmp_path / "out"


def parts(out):
    return sorted((out / "univariate-quick" / "parts").glob("*.parquet"))


def test_a_study_has_one_row_per_model_and_checkpoint(undisturbed):
    rows = table(undisturbed).to_pandas()
    keys = ["inputs", "fit", "complexity", "noise", "dim", "target", "seed", "rate", "step"]
    assert len(rows) == len(CELLS) * GRID.models * len(GRID.checkpoints)
    assert not rows[keys].duplicated().any()
    assert set(rows["rate"]) == set(GRID.rates)
    assert set(rows["step"]) == set(GRID.checkpoints)
    assert (rows["samples"] == rows["step"] * GRID.batch).all()
    assert np.isfinite(rows[["validation", "test"]]).all(axis=None)


def test_rows_carry_the_errors_of_their_own_model(undisturbed):
    rows = table(undisturbed).to_pandas()
    cell = CELLS[3]
    errors = run_cell(GRID, cell)
    keys = {"fit": cell.fit, "complexity": cell.complexity, "noise": cell.noise, "dim": cell.dim}
    own = rows[(rows[list(keys)] == list(keys.values())).all(axis=1)].set_index(["target", "seed", "rate", "step"])
    for place in np.ndindex(errors.test.shape):
        target, seed, rate, step = place
        row = own.loc[(target, seed, GRID.rates[rate], GRID.checkpoints[step])]
        assert (row["validation"], row["test"]) == (errors.validation[place], errors.test[place])


def test_what_is_read_back_is_what_was_run(undisturbed):
    read = list(results.read_cells(undisturbed / "univariate-quick"))
    assert [cell for cell, _, _ in read] == CELLS
    for cell, grid, got in read[:2]:
        expected = run_cell(grid, cell)
        np.testing.assert_array_equal(got.validation, expected.validation)
        np.testing.assert_array_equal(got.test, expected.test)


def test_rates_are_read_back_as_they_were_run_even_if_the_library_has_others_now(undisturbed, monkeypatch):
    monkeypatch.setitem(STUDIES, "univariate", replace(STUDIES["univariate"], batch=16, complexities=(7,)))
    read = list(results.read_cells(undisturbed / "univariate-quick"))
    assert [cell for cell, _, _ in read] == CELLS
    assert {grid for _, grid, _ in read} == {GRID}


def test_the_folder_says_what_it_holds(undisturbed):
    written = json.loads((undisturbed / "univariate-quick" / "study.json").read_text())
    assert (written["study"], written["profile"]) == ("univariate", "quick")
    assert written["grid"]["rates"] == list(GRID.rates)
    assert written["version"]


def test_a_finished_study_trains_nothing_again(copied, monkeypatch):
    monkeypatch.setattr(results, "run_cell", None)
    assert run(copied) == [(len(CELLS), len(CELLS))]


def test_lost_parts_alone_are_run_again(copied, undisturbed):
    kept, *lost = parts(copied)
    age = kept.stat().st_mtime_ns
    for part in lost[:3]:
        part.unlink()
    (copied / "univariate-quick" / "results.parquet").unlink()
    assert run(copied) == [(done, len(CELLS)) for done in range(len(CELLS) - 3, len(CELLS) + 1)]
    assert kept.stat().st_mtime_ns == age
    assert table(copied).equals(table(undisturbed))


@pytest.mark.parametrize("broken", ["empty", "half", "noise", "short"])
def test_a_broken_part_is_run_again(copied, undisturbed, broken):
    part = parts(copied)[0]
    whole = part.read_bytes()
    if broken == "short":
        pq.write_table(pq.read_table(part).slice(1), part)
    else:
        part.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "noise": os.urandom(len(whole))}[broken])
    assert run(copied)[0] == (len(CELLS) - 1, len(CELLS))
    assert table(copied).equals(table(undisturbed))


def test_a_run_that_was_left_early_continues(undisturbed, tmp_path):
    steps = results.run_study("univariate", "quick", tmp_path)
    while next(steps)[0] < 2:
        pass
    steps.close()
    begun = len(parts(tmp_path))
    assert 2 <= begun < len(CELLS)
    assert run(tmp_path)[0] == (begun, len(CELLS))
    assert table(tmp_path).equals(table(undisturbed))


# Each cuts a run off by SIGKILL at a moment of its own; a cell takes 60 steps.
MOMENTS = {
    "in the middle of a cell": "watch(stacks.Stack, 'step', 200)",
    "while a part is written": "watch(atomic.os, 'fsync', 12)",
    "before the rows are put together": "watch(results.pa, 'concat_tables', 1)",
}
KILLED = """
import os, signal, sys
from pathlib import Path
from lambdak import atomic
from lambdak.paper.synthetic import results, stacks

def watch(owner, name, last):
    inner, left = getattr(owner, name), [last]
    def watched(*args, **options):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return inner(*args, **options)
    setattr(owner, name, watched)

exec(sys.argv[2])
list(results.run_study("univariate", "quick", Path(sys.argv[1])))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_study_ends_with_the_rows_of_an_undisturbed_one(undisturbed, tmp_path, moment):
    killed = processes.run(KILLED, tmp_path, MOMENTS[moment])
    assert killed.returncode == -signal.SIGKILL
    begun = len(parts(tmp_path))
    assert begun == (len(CELLS) if moment.endswith("together") else 3)
    assert not (tmp_path / "univariate-quick" / "results.parquet").exists()
    assert run(tmp_path)[0] == (begun, len(CELLS))
    assert table(tmp_path).equals(table(undisturbed))


def test_another_configuration_in_the_folder_is_refused(copied, monkeypatch):
    before = (copied / "univariate-quick" / "study.json").read_bytes()
    monkeypatch.setitem(STUDIES, "univariate", replace(STUDIES["univariate"], batch=16))
    with pytest.raises(ValueError, match="holds another study"):
        run(copied)
    assert (copied / "univariate-quick" / "study.json").read_bytes() == before


def test_another_version_in_the_folder_is_refused(copied, monkeypatch):
    monkeypatch.setattr("lambdak.paper.parts.version", lambda name: "0.0.0")
    with pytest.raises(ValueError, match="another version"):
        run(copied)


def test_studies_live_beside_each_other(copied, undisturbed):
    cells = len(list(study("bivariate", "quick").cells()))
    assert run(copied, "bivariate")[-1] == (cells, cells)
    assert table(copied).equals(table(undisturbed))
    assert set(table(copied, "bivariate")["inputs"].to_pylist()) == {2}


@pytest.mark.slow
def test_two_processes_give_the_same_rows(undisturbed, tmp_path):
    reports = run(tmp_path, workers=2)
    assert reports[-1] == (len(CELLS), len(CELLS))
    assert table(tmp_path).equals(table(undisturbed))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # distributed and its event loop warn as they please
def test_a_dask_cluster_of_two_gives_the_same_rows(undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        assert run(tmp_path, dask=cluster.scheduler_address)[-1] == (len(CELLS), len(CELLS))
        with distributed.Client(cluster) as client:
            tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.transition_log))
    assert tasks > 0  # it was the cluster that did it
    assert table(tmp_path).equals(table(undisturbed))


def test_a_folder_without_a_study_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="lambdak reproduce"):
        list(results.read_cells(Path(tmp_path)))


def test_an_unknown_study_is_refused_with_the_names_of_all(tmp_path):
    with pytest.raises(ValueError, match=r"name must be one of \('univariate', .*'definite'.*; got 'trivariate'"):
        list(results.run_study("trivariate", "quick", tmp_path))


def test_an_unknown_profile_is_refused(tmp_path):
    with pytest.raises(ValueError, match="profile must be one of"):
        list(results.run_study("univariate", "huge", tmp_path))
