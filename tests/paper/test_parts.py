"""The driver of all studies: parts that are missing are made, in order or not, and merged in order."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from lambdak.paper import parts  # noqa: E402

CONFIG = {"study": "numbers"}


def facts(number, threads):
    return pa.table({"number": [number], "process": [os.getpid()], "threads": [threads]})


def fail(reason, threads):
    raise ValueError(reason)


def pieces(numbers=range(4)):
    return [parts.Piece(f"part-{number}", 1, partial(facts, number)) for number in numbers]


def read(folder):
    return pq.read_table(folder / "results.parquet")


def test_rows_are_in_the_order_of_the_pieces_with_the_configuration_beside_them(tmp_path):
    assert list(parts.run_pieces(tmp_path, CONFIG, pieces([3, 1, 2]))) == [(done, 3) for done in range(4)]
    table = read(tmp_path)
    assert table["number"].to_pylist() == [3, 1, 2]
    assert b'"study": "numbers"' in table.schema.metadata[b"lambdak"]


def test_only_what_is_missing_is_made(tmp_path):
    list(parts.run_pieces(tmp_path, CONFIG, pieces(range(2))))
    kept = pieces(range(2))
    refuse = [parts.Piece(piece.name, 1, partial(fail, "not called")) for piece in kept]
    assert next(parts.run_pieces(tmp_path, CONFIG, refuse + pieces([2]))) == (2, 3)
    list(parts.run_pieces(tmp_path, CONFIG, refuse + pieces([2])))
    assert read(tmp_path)["number"].to_pylist() == [0, 1, 2]


@pytest.mark.slow
def test_one_worker_keeps_the_threads_and_several_have_one_each(tmp_path):
    list(parts.run_pieces(tmp_path / "one", CONFIG, pieces()))
    list(parts.run_pieces(tmp_path / "two", CONFIG, pieces(), workers=2))
    assert set(read(tmp_path / "one")["threads"].to_pylist()) == {0}  # the process's setting
    assert set(read(tmp_path / "two")["threads"].to_pylist()) == {1}
    assert set(read(tmp_path / "one")["process"].to_pylist()) == {os.getpid()}
    assert os.getpid() not in read(tmp_path / "two")["process"].to_pylist()


def test_a_folder_given_relative_to_here_is_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    steps = parts.run_pieces(parts.Path("study"), CONFIG, pieces())
    next(steps)
    monkeypatch.chdir(elsewhere)
    list(steps)
    assert read(tmp_path / "study").num_rows == 4


def test_a_failure_leaves_the_other_parts_and_no_results(tmp_path):
    broken = parts.Piece("broken", 1, partial(fail, "no number"))
    with pytest.raises(ValueError, match="no number"):
        list(parts.run_pieces(tmp_path, CONFIG, [*pieces([0]), broken]))
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["part-0.parquet"]
    assert not (tmp_path / "results.parquet").exists()


def begin(results, name, finished):
    (results / name).mkdir()
    for file in ["study.json", *["results.parquet"] * finished]:
        (results / name / file).write_text("{}")


def test_the_largest_finished_study_is_taken_or_else_the_largest_that_was_begun(tmp_path):
    assert parts.study_folder(tmp_path, "numbers", None).name == "numbers-full"
    begin(tmp_path, "numbers-quick", finished=False)
    assert parts.study_folder(tmp_path, "numbers", None).name == "numbers-quick"
    begin(tmp_path, "numbers-small", finished=True)
    begin(tmp_path, "numbers-full", finished=False)
    assert parts.study_folder(tmp_path, "numbers", None).name == "numbers-small"
    assert parts.study_folder(tmp_path, "numbers", "full").name == "numbers-full"


def test_the_studies_of_a_folder_are_found_each_once(tmp_path):
    begin(tmp_path, "two-words-quick", finished=True)
    begin(tmp_path, "two-words-full", finished=False)
    begin(tmp_path, "one-small", finished=False)
    assert [folder.name for folder in parts.find_studies(tmp_path)] == ["one-small", "two-words-quick"]
    assert [folder.name for folder in parts.find_studies(tmp_path, "full")] == ["two-words-full"]
    assert parts.find_studies(tmp_path / "nowhere") == []


def test_a_damaged_study_file_is_named(tmp_path):
    (tmp_path / "study.json").write_text('{"study": ')
    for read_it in (parts.read_config, partial(parts.prepare_folder, config=CONFIG)):
        with pytest.raises(ValueError, match=r"study\.json is damaged"):
            read_it(tmp_path)


def test_what_killed_writes_left_is_removed_but_not_what_is_being_written(tmp_path):
    (tmp_path / "parts").mkdir()
    names = [".0123456789abcdef.part", "parts/.0123456789abcdef.part", "parts/.fedcba9876543210.part"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    for name in names[:2]:
        os.utime(tmp_path / name, (0, 0))
    list(parts.run_pieces(tmp_path, CONFIG, pieces()))
    assert [name for name in names if (tmp_path / name).exists()] == names[2:]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.slow
def test_a_worker_that_was_killed_is_reported_and_the_study_continues(tmp_path):
    with pytest.raises(ChildProcessError, match="a worker was killed"):
        list(parts.run_pieces(tmp_path, CONFIG, [*pieces(), parts.Piece("part-9", 1, die)], workers=2))
    list(parts.run_pieces(tmp_path, CONFIG, [*pieces(), *pieces([9])]))
    assert read(tmp_path)["number"].to_pylist() == [0, 1, 2, 3, 9]


def die(threads):
    os.kill(os.getpid(), signal.SIGKILL)
