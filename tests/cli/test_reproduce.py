"""``lambdak reproduce``: quick studies from the command line, and what it says when something is missing."""

from __future__ import annotations

import hashlib
import shutil
import sys

import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from typer.testing import CliRunner

from lambdak import cli
from lambdak.cli.reproduce import make_progress
from lambdak.paper.synthetic.grid import BEYOND, STARTS


def reproduce(*arguments):
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, arguments)])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    done = reproduce("univariate", "--profile", "quick", "--out", out, "--workers", 1)
    assert done.exit_code == 0, done.output
    return out


def test_a_study_is_run_and_says_where_it_is(results):
    again = reproduce("univariate", "-p", "quick", "-o", results, "-w", 1)
    assert again.exit_code == 0
    assert "univariate: quick profile done" in again.output
    assert (results / "univariate-quick" / "results.parquet").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("command", "studies"), [
    ("scaling", [name for name in BEYOND if name.endswith("scaling")]),
    ("definite", ["definite"]),
    ("tridiagonal", ["univariate-tridiagonal", "bivariate-tridiagonal"]),
])  # fmt: skip
def test_studies_beyond_the_paper_are_run_and_timed(command, studies, tmp_path, monkeypatch):
    monkeypatch.setattr("lambdak.paper.synthetic.timing._LEAST", 0.0)  # one step each
    done = reproduce(command, "-p", "quick", "-o", tmp_path, "-w", 1)
    assert done.exit_code == 0, done.output
    for name in studies:
        assert f"{name}: quick profile done" in done.output
        assert (tmp_path / f"{name}-quick" / "results.parquet").exists()
        assert (tmp_path / f"{name}-quick" / "times.csv").read_text().startswith("fit,dim,seconds")


def test_starts_and_the_protocol_of_the_text_are_studies_of_their_own(tmp_path):
    done = reproduce("start", "-p", "quick", "-o", tmp_path, "-w", 1)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}-quick" for name in STARTS)
    done = reproduce("univariate", "-p", "quick", "--protocol", "text", "-o", tmp_path, "-w", 1)
    assert done.exit_code == 0, done.output
    assert "univariate-text: quick profile done" in done.output
    found = reproduce("compare", "-p", "quick", "--protocol", "text", "-o", tmp_path)
    assert found.exit_code == 0, found.output
    assert "univariate-text-quick" in found.output
    drawn = reproduce("figures", "-o", tmp_path, "--to", tmp_path / "pictures", "--only", "starts")
    assert drawn.exit_code == 0, drawn.output
    assert "2 files" in drawn.output


def test_published_numbers_stand_beside_ours_or_beside_nothing(results):
    found = reproduce("compare", "--profile", "quick", "--out", results)
    assert found.exit_code == 0
    assert "0.0045" in found.output
    assert "not run" in found.output
    assert "Ours: univariate-quick." in found.output


def test_tables_of_what_is_there_are_written(results, tmp_path):
    begun = tmp_path / "results" / "bivariate-full"
    shutil.copytree(results, tmp_path / "results")
    begun.mkdir()
    (begun / "study.json").write_text("{}")
    done = reproduce("summary", "-o", tmp_path / "results", "--to", tmp_path / "tables")
    assert done.exit_code == 0, done.output
    assert "2 files" in done.output
    assert "bivariate-full has no table: it is not finished" in done.output
    written = {path.name for path in (tmp_path / "tables").iterdir()}
    assert written == {"univariate-quick.csv", "univariate-quick.md"}


@pytest.mark.slow
def test_figures_are_drawn_and_those_without_results_are_named(results, tmp_path):
    names = ("--only", "squareplus", "--only", "bivariate-general")
    drawn = reproduce("figures", "-p", "quick", "-o", results, "--to", tmp_path / "pictures", *names)
    assert drawn.exit_code == 0
    assert "2 files" in drawn.output
    assert "bivariate-general is not drawn" in drawn.output
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"squareplus.png", "squareplus.svg"}


def test_the_time_left_is_known_though_pieces_are_minutes_apart():
    now = [0.0]
    progress = make_progress("higgs", lambda: now[0])
    bar = progress.add_task("higgs", total=None)
    for done in range(11):
        progress.update(bar, completed=done, total=100)
        now[0] += 60.0
    assert progress.tasks[bar].time_remaining == 90 * 60


def test_missing_pytorch_is_noticed_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    refused = reproduce("higgs", "--profile", "quick", "--out", tmp_path)
    assert refused.exit_code == 1
    assert "pip install 'lambdak[torch]'" in refused.output
    assert not (tmp_path / "higgs-quick").exists()


def test_a_killed_worker_is_one_message(tmp_path, monkeypatch):
    monkeypatch.setattr("lambdak.paper.synthetic.results.run_cell", killed)
    refused = reproduce("univariate", "-p", "quick", "-o", tmp_path, "-w", 1)
    assert refused.exit_code == 1
    assert "take fewer --workers; the same command continues where it stopped" in refused.output


def killed(*_):
    raise TerminatedWorkerError("The process died")


@pytest.mark.parametrize(("arguments", "message"), [
    (("influence",), "run `lambdak reproduce higgs --profile small` to its end"),
    (("influence", "--protocol", "text"), "run `lambdak reproduce higgs --protocol text --profile small` to its end"),
    (("tightness",), "higgs needs its data: give the file with --data"),
    (("higgs", "--profile", "small"), "higgs needs its data: give the file with --data"),
    (("criteo", "--profile", "small"), "criteo needs its data: give the file with --data"),
    (("compare",), "holds no studies: run"),
    (("summary",), "holds no studies: run"),
    (("compare", "--profile", "full"), "holds no studies of the full profile: run"),
])  # fmt: skip
def test_what_is_missing_is_said(arguments, message, tmp_path):
    refused = reproduce(*arguments, "--out", tmp_path)
    assert refused.exit_code == 1
    assert message in refused.output


@pytest.mark.slow
def test_studies_of_real_data_are_run_in_the_protocol_that_is_said_and_print_their_rows(tmp_path):
    pytest.importorskip("torch")
    options = ("--profile", "quick", "--protocol", "text", "--out", tmp_path)
    done = reproduce("higgs", *options)
    assert done.exit_code == 0, done.output
    checksum = hashlib.sha256((tmp_path / "cache" / "miniature-HIGGS.csv").read_bytes()).hexdigest()
    assert f"data: 1,600 rows to train on, 200 to validate, 200 to test; SHA-256 {checksum}" in done.output
    assert "higgs-text: quick profile done" in done.output
    measured = reproduce("influence", *options)
    assert measured.exit_code == 0, measured.output
    assert "results in" in measured.output
    for name in ("higgs-text-quick", "influence-text-quick"):
        assert (tmp_path / name / "results.parquet").exists()


@pytest.mark.slow
def test_tightness_is_run_tabulated_and_drawn(tmp_path):
    done = reproduce("tightness", "--profile", "quick", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "tightness: quick profile done" in done.output
    written = reproduce("summary", "--out", tmp_path, "--to", tmp_path / "tables")
    assert written.exit_code == 0, written.output
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["tightness-quick.csv"]
    drawn = reproduce("figures", "--out", tmp_path, "--to", tmp_path / "pictures", "--only", "tightness")
    assert "2 files" in drawn.output


def test_an_unknown_profile_is_a_usage_error(tmp_path):
    assert reproduce("univariate", "--profile", "huge", "--out", tmp_path).exit_code == 2


def row_of(about, output):
    """The cells of the first row about this, after what it is about."""
    line = next(line for line in output.splitlines() if about in line)
    return [cell.strip() for cell in line.split("│")[2:-1]]


def test_one_cell_is_run_with_its_row_beside_the_published_number_and_the_study_continues_with_it(results, tmp_path):
    done = reproduce("cell", "-c", 5, "-d", 5, "--noise", 0.1, "-p", "quick", "-o", tmp_path)
    assert done.exit_code == 0, done.output
    (part,) = (tmp_path / "univariate-quick" / "parts").iterdir()
    assert part.name == "1-general-c5-noise0.1-d5.parquet"
    assert part.read_bytes() == (results / "univariate-quick" / "parts" / part.name).read_bytes()
    found, expected = (row_of("general/free, c = 5, noisy, d = 5", text) for text in (
        done.output, reproduce("compare", "-p", "quick", "-o", results).output,
    ))  # fmt: skip
    assert found == expected
    assert found[0] == "0.019"  # published
    before = part.stat().st_mtime_ns
    assert reproduce("univariate", "-p", "quick", "-o", tmp_path, "-w", 1).exit_code == 0
    assert part.stat().st_mtime_ns == before


def test_a_cell_without_a_published_number_says_so(tmp_path):
    done = reproduce("cell", "-c", 5, "-d", 3, "--fit", "monotone", "-p", "quick", "--inputs", 2, "-o", tmp_path)
    assert done.exit_code == 0, done.output
    assert "1 not published" in done.output


@pytest.mark.parametrize(("option", "value", "known"), [
    ("--complexity", 7, "5, 10, 20"), ("--dim", 7, "5, 9, 15"), ("--noise", 0.2, "0.0, 0.1"),
    ("--fit", "convex", "free, general, monotone"),
])  # fmt: skip
def test_a_cell_that_the_grid_does_not_have_is_refused_with_those_that_it_has(option, value, known, tmp_path):
    axes = {"--complexity": 5, "--dim": 5, "--noise": 0.0, "--fit": "general"} | {option: value}
    refused = reproduce("cell", *(word for pair in axes.items() for word in pair), "-o", tmp_path)
    assert refused.exit_code == 1
    assert not list(tmp_path.iterdir())
    message = " ".join((refused.output + refused.stderr + str(refused.exception)).split())
    assert f"{option[2:]} must be one of {known}" in message
    assert str(value) in message
