"""Caches on disk: shuffled, used again, never half, and never trusted when they are damaged."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from processes import Program
from scipy import stats

from lambdak.table.encoder import TableEncoder
from lambdak.table.large import cache as module
from lambdak.table.large.cache import DamagedCacheError, build_cache, cache_key, cache_place, open_cache
from lambdak.table.large.packed import RowPacking

ON_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
WIDTH = 12


def numbered(rows):
    """Records that hold their own number."""
    records = np.zeros((rows, WIDTH), np.uint8)
    records[:, :8] = np.arange(rows).reshape(-1, 1).view(np.uint8)
    return records


def numbers(records):
    return np.ascontiguousarray(records[:, :8]).view(np.int64)[:, 0]


def chunks_of(records, size=1000):
    return (records[start : start + size] for start in range(0, len(records), size))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "BUCKET_ROWS", 500)
    monkeypatch.setattr(module, "_CHUNK_BYTES", 700 * WIDTH)


def built(place, rows=10_000, key="key", **options):
    return build_cache(place, key, WIDTH, rows, chunks_of(numbered(rows)), **options)


def test_every_record_is_in_one_bucket(tmp_path, small):
    with built(tmp_path / "cache") as cache:
        assert (cache.n_rows, cache.n_buckets) == (10_000, 20)
        buckets = [cache.bucket(i) for i in range(cache.n_buckets)]
        assert [len(bucket) for bucket in buckets] == cache.bucket_rows.tolist()
        np.testing.assert_array_equal(np.sort(np.concatenate([numbers(each) for each in buckets])), np.arange(10_000))
        np.testing.assert_array_equal(cache.bucket(3), buckets[3])
        assert cache.bucket_rows.min() > 500 - 6 * np.sqrt(500)
    assert sorted(os.listdir(tmp_path)) == ["cache"]
    assert sorted(os.listdir(tmp_path / "cache")) == ["index", "meta.json", "records"]


def first_epoch(cache, seed):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(numbers(each)) for each in cache.buckets(rng.permutation(cache.n_buckets))])


def test_the_first_epoch_of_sorted_rows_is_a_random_permutation(tmp_path, small):
    places, early = [], []
    for seed in range(20):
        with built(tmp_path / "cache", 5000, seed=seed) as cache:
            order = first_epoch(cache, seed)
        assert abs(stats.spearmanr(np.arange(5000), order).statistic) < 4.5 / np.sqrt(5000)
        assert abs(stats.spearmanr(order[:-1], order[1:]).statistic) < 4.5 / np.sqrt(5000)
        places.append(int(np.argmax(order == 0)))
        early.extend(order[:100])
    assert stats.kstest(np.array(places) / 5000, "uniform").pvalue > 1e-3
    assert stats.kstest(np.array(early) / 5000, "uniform").pvalue > 1e-3


def test_the_same_seed_gives_the_same_buckets_and_another_one_others(tmp_path, small):
    with built(tmp_path / "a", seed=1) as one, built(tmp_path / "b", seed=1) as same, built(tmp_path / "c") as other:
        assert one.bucket(0).tobytes() == same.bucket(0).tobytes()
        assert one.bucket(0).tobytes() != other.bucket(0).tobytes()


def test_a_cache_is_opened_again_if_its_key_is_the_same(tmp_path, small):
    place = tmp_path / "cache"
    assert open_cache(place, "key") is None
    with built(place) as first:
        expected = first.bucket(7)
    assert open_cache(place, "another key") is None
    with open_cache(place, "key") as again:
        np.testing.assert_array_equal(again.bucket(7), expected)
    with built(place, 2000, key="another key") as other:
        assert other.n_rows == 2000
    assert open_cache(place, "key") is None


def test_a_cache_that_is_replaced_can_still_be_read_by_who_has_it_open(tmp_path, small):
    with built(tmp_path / "cache") as old, built(tmp_path / "cache", 3000) as new:
        assert (len(old.bucket(0)) > 0, new.n_rows) == (True, 3000)
        assert numbers(old.bucket(1)).max() > 3000


@pytest.mark.parametrize("byte", [0, 4321, -1])
def test_a_flipped_byte_is_noticed_when_it_is_read(tmp_path, small, byte):
    built(tmp_path / "cache").close()
    path = tmp_path / "cache" / "records"
    data = bytearray(path.read_bytes())
    data[byte] ^= 1
    path.write_bytes(data)
    with (
        open_cache(tmp_path / "cache", "key") as cache,
        pytest.raises(DamagedCacheError, match=r"cache was damaged and has been removed$"),
    ):
        list(cache.buckets())
    assert os.listdir(tmp_path) == []
    assert open_cache(tmp_path / "cache", "key") is None
    with built(tmp_path / "cache") as cache:
        assert sum(map(len, cache.buckets())) == 10_000


def flip(path):
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    path.write_bytes(data)


def test_damage_does_not_remove_the_cache_that_was_written_meanwhile(tmp_path, small):
    place = tmp_path / "cache"
    built(place).close()
    flip(place / "records")
    with open_cache(place, "key") as damaged:
        built(place).close()
        with pytest.raises(DamagedCacheError, match="damaged"):
            damaged.bucket(0)
    with open_cache(place, "key") as new:
        assert sum(map(len, new.buckets())) == 10_000


def test_a_damaged_cache_that_cannot_be_removed_is_named(tmp_path, small, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "denied")

    built(tmp_path / "cache").close()
    flip(tmp_path / "cache" / "records")
    with open_cache(tmp_path / "cache", "key") as cache:
        monkeypatch.setattr("pathlib.Path.unlink", refused)
        with pytest.raises(DamagedCacheError, match="cannot be removed: remove it and fit again"):
            cache.bucket(0)


@ON_POSIX
def test_the_rest_of_a_damaged_cache_whose_records_cannot_be_removed_is_replaced(tmp_path, small, monkeypatch):
    """As on Windows, where files that are open stay."""
    place, unlink = tmp_path / "cache", Path.unlink

    def of_windows(path, **options):
        if path.name == "records":
            raise PermissionError(errno.EACCES, "in use")
        unlink(path, **options)

    built(place).close()
    flip(place / "records")
    with open_cache(place, "key") as cache, monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", of_windows)
        with pytest.raises(DamagedCacheError, match="damaged"):
            cache.bucket(0)
    assert open_cache(place, "key") is None
    with built(place) as cache:
        assert cache.n_rows == 10_000


@pytest.mark.parametrize("name", ["index", "meta.json", "records"])
def test_a_cache_whose_files_were_cut_is_not_used(tmp_path, small, name):
    built(tmp_path / "cache").close()
    path = tmp_path / "cache" / name
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(UserWarning, match="cache is damaged: it is built again"):
        assert open_cache(tmp_path / "cache", "key") is None
    path.unlink()
    assert open_cache(tmp_path / "cache", "key") is None


def test_an_index_that_was_changed_is_not_used(tmp_path, small):
    built(tmp_path / "cache").close()
    path = tmp_path / "cache" / "index"
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)
    with pytest.warns(UserWarning, match="cache is damaged"):
        assert open_cache(tmp_path / "cache", "key") is None


def test_a_temporary_cache_is_gone_when_it_is_closed(tmp_path, small, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with built(None) as cache:
        assert cache.n_rows == 10_000
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_an_interruption_leaves_the_old_cache_and_nothing_else(tmp_path, small):
    place = tmp_path / "cache"
    built(place).close()

    def interrupted():
        yield numbered(5000)
        raise KeyboardInterrupt

    for where in (place, None):
        with pytest.raises(KeyboardInterrupt):
            build_cache(where, "new", WIDTH, 10_000, interrupted())
    assert os.listdir(tmp_path) == ["cache"]
    open_cache(place, "key").close()


KILLED = """
import sys, time, numpy as np
from pathlib import Path
from lambdak.table.large import cache
cache._CHUNK_BYTES = 1000
def chunks():
    for i in range(3):
        yield np.zeros((1000, 12), np.uint8)
    print("half", flush=True)
    time.sleep(60)
cache.build_cache(Path(sys.argv[1]) if sys.argv[1:] else None, "key", 12, 5000, chunks())
"""


def start_builder(*arguments, **options):
    child = Program(KILLED, *arguments, **options)
    assert child.wait_for_line() == "half"
    return child


@ON_POSIX
@pytest.mark.slow
def test_a_killed_builder_leaves_nothing_that_is_used_and_the_next_removes_its_rest(tmp_path, small):
    place = tmp_path / "cache"
    start_builder(place).kill()
    assert len(os.listdir(tmp_path)) == 1
    assert open_cache(place, "key") is None
    with built(place) as cache:
        assert cache.n_rows == 10_000
    assert os.listdir(tmp_path) == ["cache"]


@ON_POSIX
@pytest.mark.slow
def test_a_killed_temporary_cache_is_removed_by_the_next_one(tmp_path, small, monkeypatch):
    start_builder(env={"TMPDIR": str(tmp_path)}).kill()
    assert len(os.listdir(tmp_path)) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    built(None).close()
    assert os.listdir(tmp_path) == []


@ON_POSIX
@pytest.mark.slow
def test_what_a_living_builder_writes_is_not_removed(tmp_path, small):
    place = tmp_path / "cache"
    child = start_builder(place)
    built(place).close()
    assert len(os.listdir(tmp_path)) == 2
    child.kill()


def test_builders_of_one_cache_at_the_same_time_each_get_a_whole_one(tmp_path, small):
    found, failed = [], []

    def build(seed):
        try:
            for _ in range(5):
                with built(tmp_path / "cache", seed=seed) as cache:
                    found.append(np.sort(np.concatenate([numbers(each) for each in cache.buckets()])))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=build, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert len(found) == 20
    assert all((each == np.arange(10_000)).all() for each in found)
    assert os.listdir(tmp_path) == ["cache"]
    open_cache(tmp_path / "cache", "key").close()


def test_a_disk_that_is_too_small_is_named_before_writing(tmp_path, small, monkeypatch):
    usage = namedtuple("Usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 0, 100))
    with pytest.raises(OSError, match=r"needs 0\.00012 GB, more than is free there: give another folder"):
        built(tmp_path / "cache")
    assert os.listdir(tmp_path) == []


def test_a_disk_that_fills_up_is_named_and_nothing_half_remains(tmp_path, small, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_write_all", full)
    with pytest.raises(OSError, match=r"more than is free there: give another folder: fit\(..., cache=…\)"):
        built(tmp_path / "cache")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(module, "building", refused)
    with pytest.raises(PermissionError, match=r"is not writable; give another folder: fit\(..., cache=…\)"):
        built(tmp_path / "cache")


def test_a_disk_for_reading_only_is_named(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(module, "building", refused)
    with pytest.raises(PermissionError, match=rf"{tmp_path.name} is not writable; give another folder: fit\("):
        built(tmp_path / "cache")


def test_a_place_that_is_no_folder_is_refused_with_the_way_out(tmp_path):
    file = tmp_path / "some.py"
    file.write_text("precious")
    for place, error in {
        file: NotADirectoryError,
        file / "x.lambdak-cache": FileExistsError,
        file / "deep" / "x.lambdak-cache": NotADirectoryError,
    }.items():
        assert open_cache(place, "key") is None
        with pytest.raises(error, match=r"cannot be written: .* give another folder: fit\(..., cache=…\)") as caught:
            built(place)
        assert str(place) in str(caught.value)
    assert file.read_text() == "precious"
    assert os.listdir(tmp_path) == ["some.py"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux")
def test_a_folder_that_cannot_be_created_is_refused_with_the_way_out():
    with pytest.raises(FileNotFoundError, match=r"/proc/xx is no folder and cannot be created; give another folder"):
        built(Path("/proc/xx/x.lambdak-cache"))


@pytest.mark.parametrize("names", [["notes.txt"], ["records"], ["meta.json", "records", "index", "notes.txt"]])
def test_a_folder_with_files_of_others_is_not_replaced(tmp_path, names):
    place = tmp_path / "cache"
    place.mkdir()
    for name in names:
        (place / name).write_text("precious")
    with pytest.raises(FileExistsError, match=rf"holds '{names[-1]}', which is not of a cache; remove it, or give ano"):
        built(place)
    assert [(place / name).read_text() for name in names] == ["precious"] * len(names)
    assert os.listdir(tmp_path) == ["cache"]


def test_an_empty_folder_and_a_cache_of_another_format_are_replaced(tmp_path):
    place = tmp_path / "cache"
    place.mkdir()
    built(place).close()
    (place / "meta.json").write_text('{"format": 0}')
    (place / ".DS_Store").touch()
    built(place).close()
    assert sorted(os.listdir(place)) == ["index", "meta.json", "records"]


def test_records_of_another_length_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"records must have shape \(rows, 12\)"):
        build_cache(tmp_path / "cache", "key", WIDTH, 5, [np.zeros((5, 13), np.uint8)])
    assert os.listdir(tmp_path) == []


def test_the_key_changes_with_all_that_a_record_depends_on():
    x = np.random.default_rng(0).normal(size=(300, 2))
    encoder, other = TableEncoder(n_knots=4).fit(x), TableEncoder(n_knots=5).fit(x)
    packing = RowPacking.of(encoder)
    keys = {
        cache_key("source", encoder, packing, seed=0),
        cache_key("other source", encoder, packing, seed=0),
        cache_key("source", encoder, packing, seed=1),
        cache_key("source", other, RowPacking.of(other), seed=0),
        cache_key("source", encoder, RowPacking.of(encoder, offset=True), seed=0),
    }
    assert len(keys) == 5
    assert cache_key("source", TableEncoder(n_knots=4).fit(x), RowPacking.of(encoder), seed=0) in keys


def test_the_next_bucket_is_read_while_one_is_used(tmp_path, small):
    with built(tmp_path / "cache") as cache:
        buckets = cache.buckets()
        next(buckets)
        deadline = time.monotonic() + 10
        while not cache._verified[1] and time.monotonic() < deadline:
            time.sleep(0.001)
        assert cache._verified[1]
        assert sum(len(each) for each in buckets) == 10_000 - cache.bucket_rows[0]


def test_a_cache_is_beside_its_source_or_in_a_given_folder(tmp_path):
    assert cache_place(tmp_path / "a.parquet") == tmp_path / "a.parquet.lambdak-cache"
    assert cache_place("data", tmp_path) == tmp_path / "data.lambdak-cache"


PEAK = """
import resource, sys
from pathlib import Path
import numpy as np
from lambdak.table.large.cache import build_cache
rows, step = int(sys.argv[2]), 1 << 17
chunks = (np.zeros((step, 64), np.uint8) for _ in range(rows // step))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with build_cache(Path(sys.argv[1]), "key", 64, rows, chunks) as cache:
    assert sum(len(each) for each in cache.buckets()) == rows
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path):
    pytest.importorskip("resource")
    peaks = []
    for rows in (1 << 21, 1 << 23):
        run = [sys.executable, "-c", PEAK, str(tmp_path / "cache"), str(rows)]
        peaks.append(int(subprocess.run(run, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < peaks[0] + 40  # megabytes; the file has 384 more
