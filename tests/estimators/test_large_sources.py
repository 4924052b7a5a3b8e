"""Large tables that change during a fit, and caches that cannot be written: an error that says what and where.

Tests ``table/parquet``.
"""

from __future__ import annotations

import errno
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from lambdak import SpectralRegressor
from lambdak.estimators.base import SpectralEstimator
from lambdak.table.large import cache
from lambdak.table.large.batches import ChangedSourceError
from lambdak.training.large import fit as module

ROWS, FILES = 3_000, 6
FAST = {"effort": "fast", "random_state": 0, "max_iter": 1, "n_estimators": 1, "dim": 3, "n_jobs": 1}


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """A sample that is smaller than the tables here, so that they count as large."""
    whole = SpectralEstimator._large_request
    monkeypatch.setattr(
        SpectralEstimator,
        "_large_request",
        lambda self, checkpoint=None: replace(whole(self, checkpoint), sample_rows=400),
    )


def table(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.random(rows), "b": rng.integers(0, 50, rows), "c": rng.choice(["u", "v"], rows)})
    return frame.assign(y=frame.a + (frame.c == "u") + 0.1 * rng.standard_normal(rows))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows").mkdir()
    for number, part in enumerate(np.array_split(np.arange(ROWS), FILES)):
        table().iloc[part].to_parquet(tmp_path / "rows" / f"{number}.parquet")
    return tmp_path / "rows"


@pytest.fixture
def between(monkeypatch):
    """Sets what happens after the first pass."""

    def set_to(change):
        choose = module.choose

        def changed(*args):
            found = choose(*args)
            change()
            return found

        monkeypatch.setattr(module, "choose", changed)

    return set_to


def with_old_times(path, write):
    """Write a file that looks as it did before."""
    before = path.stat()
    write()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def swapped(folder):
    for number in range(1, FILES):
        table(number, ROWS // FILES).to_parquet(folder / f"{number}.parquet")


def exchanged(folder):
    """Two files of the same size take each other's place; even their times agree."""
    one, other = folder / "2.parquet", folder / "3.parquet"
    content, size = [path.read_bytes() for path in (one, other)], os.path.getsize(one)
    for path, data in zip((other, one), content, strict=True):
        with_old_times(path, lambda path=path, data=data: path.write_bytes(data))
    assert os.path.getsize(other) == size


def shorter(folder):
    table(rows=7).to_parquet(folder / "4.parquet")


CHANGES = {
    "swapped": (swapped, r"1\.parquet was changed during the fit"),
    "removed": (lambda folder: (folder / "5.parquet").unlink(), r"5\.parquet was removed during the fit"),
    "added": (lambda folder: table().to_parquet(folder / "9.parquet"), r"9\.parquet was added during the fit"),
    "shorter": (shorter, r"4\.parquet was changed during the fit"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_files_that_change_between_passes_are_named(folder, between, change):
    make, says = CHANGES[change]
    between(lambda: make(folder))
    with pytest.raises(ChangedSourceError, match=says):
        SpectralRegressor(**FAST).fit(folder, "y")
    assert not (folder.parent / "rows.lambdak-cache").exists()


def test_other_rows_in_a_file_that_looks_the_same_are_noticed(tmp_path, between):
    (tmp_path / "rows").mkdir()
    for number in range(FILES):  # plain numbers of the same length each
        part = pa.table(
            {"a": np.random.default_rng(number).random(500), "y": np.random.default_rng(-number % 7).random(500)}
        )
        pa.parquet.write_table(part, tmp_path / "rows" / f"{number}.parquet", compression="none", use_dictionary=False)
    between(lambda: exchanged(tmp_path / "rows"))
    with pytest.raises(ChangedSourceError, match=r"these rows were others .*2\.parquet"):
        SpectralRegressor(**FAST).fit(tmp_path / "rows", "y")


def test_a_file_that_changes_while_it_is_read_is_named(folder, monkeypatch):
    read = module.LargeRequest.read

    def changing(self, part):
        if part.index == 2:
            with (folder / "2.parquet").open("ab") as file:
                file.write(b"more")
        return read(self, part)

    monkeypatch.setattr(module.LargeRequest, "read", changing)
    with pytest.raises(ChangedSourceError, match=r"2\.parquet was changed during the fit"):
        SpectralRegressor(**FAST).fit(folder, "y")


@pytest.mark.parametrize("filtered", [False, True])
def test_a_dataset_whose_files_change_is_refused(folder, between, filtered):
    source = ds.dataset(folder)
    between(lambda: swapped(folder))
    with pytest.raises(ChangedSourceError, match=r"1\.parquet was changed during the fit"):
        SpectralRegressor(**FAST).fit(source.filter(ds.field("b") >= 0) if filtered else source, "y")


class Passes:
    """Batches whose passes are given; the last one comes again and again. The first of them is only looked into."""

    def __init__(self, *passes):
        self.passes = list(passes)

    def __iter__(self):
        frame = self.passes.pop(0) if len(self.passes) > 1 else self.passes[0]
        for start in range(0, len(frame), 500):
            yield frame.iloc[start : start + 500]


def altered(**cells):
    frame = table()
    for name, value in cells.items():
        frame.loc[2_345, name] = value
    return frame


LATER = {
    "rows are missing": (table().head(500), "X had 6 batches before, and now 1"),
    "a batch is shorter": (table().head(2_700), "batch 5 of X had 500 rows before, and now 200"),
    "one number differs": (altered(a=0.5), r"these rows were others .*batch 4 of X"),
    "one level differs": (altered(c="w"), r"these rows were others .*batch 4 of X"),
    "one target differs": (altered(y=9.0), r"these rows were others .*batch 4 of X"),
    "a number is missing": (altered(a=np.nan), r"these rows were others .*batch 4 of X"),
    "the order differs": (table()[::-1], r"these rows were others .*batch 0 of X"),
    "columns change places": (table().rename(columns={"a": "b", "b": "a"}), r"these rows were others .*batch 0 of X"),
    "a column has another name": (table().rename(columns={"c": "d"}), "batch 0 of X must have the columns"),
}


@pytest.mark.parametrize("case", LATER)
def test_batches_of_a_user_that_differ_in_a_later_pass_are_refused(case):
    later, says = LATER[case]
    with pytest.raises(ValueError, match=says):
        SpectralRegressor(**FAST).fit(Passes(table(), table(), later), "y")


def test_a_row_of_weight_zero_may_hold_anything():
    weights = np.where(np.arange(ROWS) == 2_345, 0.0, 1.0)
    later = altered(a=0.5, y=9.0).assign(w=weights)
    same = SpectralRegressor(**FAST).fit([table().assign(w=weights)], "y", "w")
    found = SpectralRegressor(**FAST).fit([altered(a=0.5, y=9.0).assign(w=weights)], "y", "w")
    np.testing.assert_array_equal(found.model_.coef, same.model_.coef)
    assert later.w.min() == 0


@pytest.mark.parametrize("passes", [
    (table(), table().head(300), table()),  # would be taken for a short table
    (table(), table().head(300)),
])  # fmt: skip
def test_a_first_pass_that_ends_too_early_is_refused(passes):
    with pytest.raises(ChangedSourceError, match="before, and now"):
        SpectralRegressor(**FAST).fit(Passes(*passes), "y")


def test_batches_that_are_not_as_many_rows_as_they_say_are_refused():
    source = Passes(table())
    source.n_rows = ROWS + 1
    with pytest.raises(ChangedSourceError, match="X has n_rows = 3001, but its batches have 3000 rows"):
        SpectralRegressor(**FAST).fit(source, "y")


def test_a_cache_that_cannot_be_written_is_refused_before_anything_is_read(folder, monkeypatch):
    def refused(*_):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(cache, "filling", refused)
    monkeypatch.setattr(module, "summarised", None)  # would fail
    with pytest.raises(
        PermissionError, match=r"rows\.lambdak-cache cannot be written: .* is not writable; give another"
    ):
        SpectralRegressor(**FAST).fit(folder, "y")


def test_a_disk_without_room_for_a_byte_per_cell_is_refused_before_anything_is_read(folder, monkeypatch):
    free = ROWS * 4 - 1
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": free}))
    monkeypatch.setattr(module, "summarised", None)  # would fail
    with pytest.raises(OSError, match=r"more than is free there: give another folder"):
        SpectralRegressor(**FAST).fit(folder, "y")
    assert os.listdir(folder.parent) == ["rows"]


def test_a_cache_that_is_there_already_is_used_on_a_disk_that_is_read_only(folder, monkeypatch):
    first = SpectralRegressor(**FAST).fit(folder, "y")

    def refused(*_):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(cache, "filling", refused)
    monkeypatch.setattr(cache, "building", refused)
    np.testing.assert_array_equal(SpectralRegressor(**FAST).fit(folder, "y").model_.coef, first.model_.coef)


def spoilt(folder):
    """A cache with a flipped bit."""
    path = folder.parent / "rows.lambdak-cache" / "records"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_damaged_cache_is_written_again_and_that_is_what_is_said(folder):
    SpectralRegressor(**FAST).fit(folder, "y")
    spoilt(folder)
    with pytest.warns(UserWarning, match=r"was damaged and has been removed: it is written again$"):
        SpectralRegressor(**FAST).fit(folder, "y")
    SpectralRegressor(**FAST).fit(folder, "y")  # warnings are errors: it is whole


def test_a_damaged_cache_that_cannot_be_removed_ends_the_fit_with_the_way_out(folder, monkeypatch):
    SpectralRegressor(**FAST).fit(folder, "y")
    spoilt(folder)

    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr("pathlib.Path.unlink", refused)
    with pytest.raises(cache.DamagedCacheError, match="cannot be removed: remove it and fit again"):
        SpectralRegressor(**FAST).fit(folder, "y")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda path: path.symlink_to(path.parent / "gone"),
            r"9\.parquet must be a Parquet file; it is a link that leads",
        ),
        (os.mkfifo, r"9\.parquet must be a Parquet file; it is no regular file"),
        (
            lambda path: path.symlink_to(path.parent.parent),
            r"9\.parquet is a link to another folder, which is not followed",
        ),
    ],
)
def test_rows_behind_links_or_in_what_is_no_file_are_not_left_out_without_a_word(folder, make, said):
    make(folder / "9.parquet")
    with pytest.raises(ValueError, match=said):
        SpectralRegressor(**FAST).fit(folder, "y")
