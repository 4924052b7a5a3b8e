"""Tables that are not in memory: files, folders, datasets and batches of a user's own."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pandas as pd
import processes
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from sklearn.metrics import r2_score

import lambdak
from lambdak import (
    SpectralClassifier,
    SpectralOrdinalClassifier,
    SpectralQuantileRegressor,
    SpectralRegressor,
)
from lambdak.estimators.base import SpectralEstimator

ROWS, SAMPLE = 12_000, 2_000
NAMES = list("abcd")
FAST = {"effort": "fast", "random_state": 0, "max_iter": 4}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((ROWS, 3)), columns=list("abc"))
    table["d"] = rng.choice(["u", "v", "w"], ROWS)
    f = 8 * table.a * table.b + 5 * table.c + 2 * (table.d == "u")
    table["y"] = f + 0.3 * rng.standard_normal(ROWS)
    table["code"] = [f"level {code}" for code in rng.integers(0, 300, ROWS)]
    table["w"] = rng.integers(1, 4, ROWS).astype(float)
    table["label"] = np.where(table.y > 5, "high", "low")
    table["grade"] = np.digitize(table.y, [3, 5, 8])
    return table


@pytest.fixture
def small_sample(monkeypatch):
    """A sample that is smaller than the tables here, so that they count as large."""
    whole = SpectralEstimator._large_request
    monkeypatch.setattr(
        SpectralEstimator,
        "_large_request",
        lambda self, checkpoint=None: replace(whole(self, checkpoint), sample_rows=SAMPLE),
    )


def saved(frame, folder, *columns):
    path = folder / "table.parquet"
    frame[[*NAMES, *columns]].to_parquet(path)
    return path


class Batches:
    """Batches that start again, and count how often."""

    def __init__(self, frame, size=2500):
        self.frame, self.size, self.passes = frame, size, 0

    def __iter__(self):
        self.passes += 1
        for start in range(0, len(self.frame), self.size):
            yield self.frame.iloc[start : start + self.size]


def same_bits(one, other):
    np.testing.assert_array_equal(one.model_.coef, other.model_.coef)
    np.testing.assert_array_equal(one.model_.start, other.model_.start)


def test_a_table_that_is_no_larger_than_the_sample_gives_the_bits_of_a_fit_in_memory(frame, tmp_path):
    path = saved(frame, tmp_path, "y", "w")
    from_file = SpectralRegressor(**FAST).fit(path, "y", "w")
    same_bits(from_file, SpectralRegressor(**FAST).fit(frame[NAMES], frame.y, frame.w))
    assert os.listdir(tmp_path) == ["table.parquet"]


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    "settings", [{}, {"loss": "huber"}, {"max_influence": {"a": 3.0}}, {"monotonic_cst": {"c": 1}}]
)
def test_a_large_fit_is_about_as_good_as_one_in_memory(frame, tmp_path, settings):
    path, options = saved(frame, tmp_path, "y"), FAST | settings
    large, usual = SpectralRegressor(**options).fit(path, "y"), SpectralRegressor(**options).fit(frame[NAMES], frame.y)
    scores = [r2_score(frame.y, model.predict(frame[NAMES])) for model in (large, usual)]
    assert scores[0] > scores[1] - 0.02
    assert large.feature_names_in_.tolist() == NAMES
    assert large.certify().holds


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(("kind", "target"), [
    (SpectralClassifier, "label"), (SpectralClassifier, "grade"), (SpectralOrdinalClassifier, "grade")
])  # fmt: skip
def test_classes_are_those_of_all_batches(frame, tmp_path, kind, target):
    path = saved(frame.sort_values(target), tmp_path, target)
    model = kind(**FAST, class_weight="balanced").fit(path, target)
    assert model.classes_.tolist() == sorted(frame[target].unique())
    assert model.score(frame[NAMES], frame[target]) > 0.85


@pytest.mark.usefixtures("small_sample")
def test_quantiles_of_a_large_table_cover_their_share(frame, tmp_path):
    model = SpectralQuantileRegressor(**FAST).fit(saved(frame, tmp_path, "y"), "y")
    covered = (frame.y.to_numpy()[:, None] <= model.predict_quantiles(frame[NAMES])).mean(axis=0)
    np.testing.assert_allclose(covered, model.quantiles, atol=0.04)
    low, high = model.predict_interval(frame[NAMES], 0.9).T
    assert ((low <= frame.y) & (frame.y <= high)).mean() == pytest.approx(0.9, abs=0.04)
    assert model.model_.calibration.source == "held out"


@pytest.mark.usefixtures("small_sample")
def test_weights_and_offsets_are_columns(frame, tmp_path):
    rng = np.random.default_rng(1)
    table = frame.assign(o=np.log(rng.uniform(0.5, 2, ROWS)))
    table["n"] = rng.poisson(np.exp(0.2 * table.y + table.o)).astype(float)
    path = saved(table, tmp_path, "n", "o", "w")
    model = SpectralRegressor("poisson", **FAST).fit(path, "n", "w", offset="o")
    found = model.predict(table[NAMES], offset=table.o)
    assert np.corrcoef(found, np.exp(0.2 * table.y + table.o))[0, 1] > 0.95


@pytest.mark.usefixtures("small_sample")
def test_files_folders_datasets_and_batches_of_the_same_rows_give_the_same_bits(frame, tmp_path):
    path, folder = saved(frame, tmp_path, "y"), tmp_path / "folder"
    folder.mkdir()
    frame[[*NAMES, "y"]].to_parquet(folder / "part-0.parquet")
    table = frame[[*NAMES, "y"]]
    sources = [path, str(path), folder, ds.dataset(path), Batches(table, ROWS), [pa.Table.from_pandas(table)]]
    first, *others = (
        SpectralRegressor(**FAST).fit(source, "y", cache=tmp_path / str(i)) for i, source in enumerate(sources)
    )
    for other in others:
        same_bits(other, first)


@pytest.mark.usefixtures("small_sample")
def test_the_cache_is_beside_the_file_and_used_again(frame, tmp_path, monkeypatch):
    path = saved(frame, tmp_path, "y")
    model = SpectralRegressor(**FAST).fit(path, "y")
    assert sorted(os.listdir(tmp_path)) == ["table.parquet", "table.parquet.lambdak-cache"]
    monkeypatch.setattr("lambdak.training.large.fit.build_cache", None)  # would fail
    same_bits(SpectralRegressor(**FAST).fit(path, "y"), model)


@pytest.mark.usefixtures("small_sample")
def test_batches_of_a_user_are_read_twice_and_leave_nothing_behind(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = Batches(frame[[*NAMES, "y"]])
    SpectralRegressor(**FAST).fit(source, "y")
    assert source.passes <= 3  # one of them only looks at the first batch
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("small_sample")
def test_the_order_of_rows_in_a_file_does_not_matter_much(frame, tmp_path):
    scores = []
    for name, table in {"sorted": frame.sort_values("y"), "random": frame}.items():
        (tmp_path / name).mkdir()
        model = SpectralRegressor(**FAST).fit(saved(table, tmp_path / name, "y"), "y")
        scores.append(r2_score(frame.y, model.predict(frame[NAMES])))
    assert abs(scores[0] - scores[1]) < 0.01


@pytest.mark.usefixtures("small_sample")
def test_a_model_of_a_large_table_is_saved_explained_and_trained_further(frame, tmp_path):
    path = saved(frame, tmp_path, "y")
    model = SpectralRegressor(**FAST).fit(path, "y")
    model.save(tmp_path / "model.safetensors", training_state=True)
    again = lambdak.load(tmp_path / "model.safetensors")
    few = frame[NAMES].head(50)
    np.testing.assert_array_equal(again.predict(few), model.predict(few))
    local = model.explain_local(few)
    np.testing.assert_allclose(local.attribution.sum(axis=1), local.score - local.baseline_score, atol=1e-6)
    same_bits(again.partial_fit(path, "y"), model.partial_fit(path, "y"))


@pytest.mark.parametrize(("give", "message"), [
    ({"y": "nothing"}, "y must be a column of X, one of"),
    ({"y": None}, "y must be the name of a column"),
    ({"X_val": pd.DataFrame({"a": [1.0]}), "y_val": [1.0]}, "X_val cannot be given with a large table"),
])  # fmt: skip
def test_what_a_large_table_cannot_have_is_said(frame, tmp_path, give, message):
    options = {"y": "y"} | give
    with pytest.raises((ValueError, TypeError), match=message):
        SpectralRegressor(**FAST).fit(saved(frame, tmp_path, "y"), options.pop("y"), **options)


def test_a_cache_or_a_checkpoint_without_what_it_needs_is_refused(frame, tmp_path):
    with pytest.raises(TypeError, match="cache can be given only with a large table"):
        SpectralRegressor(**FAST).fit(frame[NAMES], frame.y, cache=tmp_path)
    with pytest.raises(ValueError, match="random_state must be set"):
        SpectralRegressor().fit(saved(frame, tmp_path, "y"), "y", checkpoint=tmp_path / "c")


KILLED = """
import sys
from dataclasses import replace
from lambdak import SpectralRegressor
from lambdak.estimators.base import SpectralEstimator
from lambdak.training import checkpoint_file

whole, save = SpectralEstimator._large_request, checkpoint_file.CheckpointFile.save
SpectralEstimator._large_request = lambda self, checkpoint=None: replace(whole(self, checkpoint), sample_rows={sample})
count = 0


def counted(self, *args):
    global count
    save(self, *args)
    count += 1
    if count == int(sys.argv[3]):
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)


checkpoint_file.CheckpointFile.save = counted
model = SpectralRegressor(effort="fast", random_state=0, max_iter=4)
model.fit(sys.argv[1], "y", checkpoint=sys.argv[2], checkpoint_every=0)
model.save(sys.argv[2] + ".model")
"""


@pytest.mark.slow
@pytest.mark.parametrize("columns", [["y"], ["y", "code"]])
def test_a_killed_large_fit_continues_and_ends_with_the_same_bits(frame, tmp_path, small_sample, columns):
    path = saved(frame, tmp_path, *columns)
    wanted = SpectralRegressor(**FAST).fit(path, "y")
    script = textwrap.dedent(KILLED).format(sample=SAMPLE)
    for turn in (3, 4, 0):
        ended = processes.run(script, path, tmp_path / "fit.checkpoint", turn)
        assert ended.returncode == (-signal.SIGKILL if turn else 0), ended.stderr
    same_bits(lambdak.load(f"{tmp_path}/fit.checkpoint.model"), wanted)
    assert not (tmp_path / "fit.checkpoint").exists()


@pytest.mark.usefixtures("small_sample")
def test_no_seed_is_needed_without_a_checkpoint(frame, tmp_path):
    SpectralRegressor(effort="fast", max_iter=1).fit(saved(frame, tmp_path, "y"), "y")


@pytest.mark.usefixtures("small_sample")
def test_errors_name_the_file_and_where_its_rows_are_counted_from(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("lambdak.table.large.parquet.ROWS_AT_ONCE", 5000)
    table = frame.copy()
    table.loc[7000, "y"] = np.nan
    path = saved(table, tmp_path, "y")
    with pytest.raises(ValueError, match=r"at row 2000: .*table\.parquet, rows counted from 5000"):
        SpectralRegressor(**FAST).fit(path, "y")


@pytest.mark.usefixtures("small_sample")
def test_a_cache_of_other_rows_is_not_used_even_if_the_file_looks_the_same(frame, tmp_path):
    path = saved(frame, tmp_path, "y")
    SpectralRegressor(**FAST).fit(path, "y")
    before = path.stat()
    saved(frame.assign(y=-frame.y), tmp_path, "y")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert np.corrcoef(SpectralRegressor(**FAST).fit(path, "y").predict(frame[NAMES]), frame.y)[0, 1] < -0.9


@pytest.mark.slow
@pytest.mark.usefixtures("small_sample")
def test_the_cache_of_a_classifier_is_used_again_by_another_process(frame, tmp_path):
    path = saved(frame, tmp_path, "label")
    SpectralClassifier(**FAST).fit(path, "label")
    changed = (tmp_path / "table.parquet.lambdak-cache" / "meta.json").stat().st_mtime_ns
    script = f"""
from dataclasses import replace
from lambdak import SpectralClassifier
from lambdak.estimators.base import SpectralEstimator

whole = SpectralEstimator._large_request
SpectralEstimator._large_request = lambda self, checkpoint=None: replace(whole(self, checkpoint), sample_rows={SAMPLE})
SpectralClassifier(**{FAST}).fit({str(path)!r}, "label")
"""
    processes.run(script).check_returncode()
    assert (tmp_path / "table.parquet.lambdak-cache" / "meta.json").stat().st_mtime_ns == changed


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("weight", ["balancd", {"high": -5.0}, {"hgh": 5.0}])
def test_weights_of_classes_are_refused_as_in_memory(frame, tmp_path, weight):
    model = SpectralClassifier(**FAST, class_weight=weight)
    with pytest.raises(ValueError) as in_memory:  # noqa: PT011
        model.fit(frame[NAMES], frame.label)
    with pytest.raises(ValueError, match="|".join(str(in_memory.value).split()[:1])):
        model.fit(saved(frame, tmp_path, "label"), "label")


@pytest.mark.usefixtures("small_sample")
def test_a_class_that_has_only_rows_of_weight_zero_does_not_count(frame, tmp_path):
    table = frame.copy()
    table.loc[9000:9002, ["label", "w"]] = ["rare", 0.0]
    model = SpectralClassifier(**FAST).fit(saved(table, tmp_path, "label", "w"), "label", "w")
    assert model.classes_.tolist() == ["high", "low"]


@pytest.mark.usefixtures("small_sample")
def test_a_partial_fit_that_is_refused_leaves_the_model_as_it_was(frame):
    model = SpectralRegressor(**FAST).fit(frame[NAMES], frame.y)
    coef, bad = model.model_.coef, frame[[*NAMES, "y"]].copy()
    bad.loc[9000, "a"] = np.inf
    with pytest.raises(ValueError, match="column 'a' contains infinity"):
        model.partial_fit(Batches(bad), "y")
    assert model.model_.coef is coef


@pytest.mark.usefixtures("small_sample")
def test_a_checkpoint_of_a_table_that_has_changed_anywhere_is_refused(frame, tmp_path, monkeypatch):
    path, checkpoint = saved(frame, tmp_path, "y"), tmp_path / "fit.checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr("lambdak.training.large.fit.run_members", lambda *_, **__: sys.exit(9))
        with pytest.raises(SystemExit):
            SpectralRegressor(**FAST).fit(path, "y", checkpoint=checkpoint)
    assert checkpoint.exists()
    for row in range(0, ROWS, 3001):  # most of them are not in the sample
        table = frame.copy()
        table.loc[row, "y"] += 1.0
        with pytest.raises(ValueError, match="checkpoint"):
            SpectralRegressor(**FAST).fit(saved(table, tmp_path, "y"), "y", checkpoint=checkpoint)


def test_a_column_is_named_only_where_x_is_a_path(frame):
    with pytest.raises(TypeError, match="a column is named only where X is a path"):
        SpectralRegressor(**FAST).fit(frame, "y")


@pytest.mark.usefixtures("small_sample")
def test_a_cache_that_turns_out_to_be_damaged_is_written_again(frame, tmp_path):
    path = saved(frame, tmp_path, "y")
    wanted = SpectralRegressor(**FAST).fit(path, "y")
    records = tmp_path / "table.parquet.lambdak-cache" / "records"
    data = bytearray(records.read_bytes())
    data[len(data) // 2] ^= 1
    records.write_bytes(data)
    with pytest.warns(UserWarning, match="damaged"):
        again = SpectralRegressor(**FAST).fit(path, "y")
    same_bits(again, wanted)
