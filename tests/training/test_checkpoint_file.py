"""The file of a checkpoint: whose it is, what is refused, and what happens where it cannot be written."""

from __future__ import annotations

import errno
import json
import os
import re

import numpy as np
import pytest
from checkpoint_cases import FEW, Killed, bits, table
from safetensors.numpy import load, save

from lambdak import SpectralClassifier, SpectralRegressor, atomic
from lambdak.training import checkpoint_file
from lambdak.training.checkpoint import NoCheckpoint, State
from lambdak.training.checkpoint_file import CheckpointFile, open_checkpoint


@pytest.fixture(scope="module")
def rows():
    return table(120)


@pytest.fixture
def left(rows, tmp_path, monkeypatch):
    """The checkpoint of a fit that was killed in its second epoch."""
    path, writing, times = tmp_path / "fit", atomic.write_bytes, iter(range(4))

    def write(*of_file):
        if next(times, None) is None:
            raise Killed
        writing(*of_file)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_bytes", write)
        with pytest.raises(Killed):
            SpectralRegressor(**FEW).fit(*rows, checkpoint=path, checkpoint_every=0)
    return path


def new(path, call=None, seed=0):
    """A checkpoint that has begun, and its randomness."""
    rng = np.random.default_rng(seed)
    checkpoint = CheckpointFile(path, 0.0)
    checkpoint.begin(lambda: call or {"X": "1"}, rng)
    return checkpoint, rng


def test_a_stage_is_computed_once_and_leaves_the_randomness_that_it_left_then(tmp_path):
    first, rng = new(tmp_path / "fit")
    result = first.stage("draw", lambda: rng.standard_normal(3).tolist())
    after = rng.standard_normal()
    second, rng = new(tmp_path / "fit", seed=0)
    assert second.stage("draw", pytest.fail) == result
    assert rng.standard_normal() == after


def test_a_state_comes_back_bit_for_bit_and_only_under_its_name(tmp_path):
    arrays = {"a": np.array([[0.1, -0.0, np.inf]], np.float32), "b": np.array([5e-324, np.nan]), "c": np.arange(3)}
    first, rng = new(tmp_path / "fit")
    rng.random(7)
    first.save("members", State(arrays, {"steps": 3, "travelled": 0.1}))
    after = rng.random()
    second, rng = new(tmp_path / "fit")
    assert second.restored("others") is None
    state = second.restored("members")
    assert rng.random() == after
    assert state.scalars == {"steps": 3, "travelled": 0.1}
    for name, array in arrays.items():
        assert (state.arrays[name].dtype, state.arrays[name].tobytes()) == (array.dtype, array.tobytes())
    assert second.restored("members") is None


def test_the_next_stage_ends_a_training_in_progress(tmp_path):
    first, _ = new(tmp_path / "fit")
    first.save("pilots", State({"a": np.ones(3)}, {}))
    first.stage("found", lambda: 1)
    second, _ = new(tmp_path / "fit")
    assert second.restored("pilots") is None


def test_a_state_of_another_shape_is_refused():
    state = State({"a": np.ones((1, 3))}, {})
    with pytest.raises(
        ValueError, match=r"'a' of the checkpoint must be float64 of shape \(2, 3\); got float64 of shape"
    ):
        state.copy_to_("a", np.zeros((2, 3)))


def test_a_finished_fit_leaves_no_file_and_an_interrupted_one_does(tmp_path):
    for interrupted in (False, True):
        checkpoint, _ = new(tmp_path / "fit")
        if interrupted:
            checkpoint.keep()
        checkpoint.finish()
        assert (tmp_path / "fit").exists() == interrupted


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_iter": 4}, "max_iter was 3 and is 4"),
        ({"monotonic_cst": {"a": 1}}, "monotonic_cst was None and is {'a': 1}"),
        ({"max_influence": np.full(5, 0.5)}, "max_influence differs"),
        ({"random_state": 1}, "random_state differs"),
        ({"random_state": None}, "random_state was set and is None"),
        ({"loss": "huber"}, "loss was 'squared_error' and is 'huber'"),
    ],
)
def test_the_checkpoint_of_other_settings_is_refused(left, rows, change, words):
    before = left.read_bytes()
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        SpectralRegressor(**FEW | change).fit(*rows, checkpoint=left)
    assert str(left) in str(caught.value)
    assert "Give another path, or delete it to start over" in str(caught.value)
    assert left.read_bytes() == before


def _one_cell(X):
    X.loc[7, "a"] += 1e-9


def _one_level(X):
    X["kind"] = X["kind"].cat.rename_categories({"x": "w"})


def _one_gap(X):
    X.loc[7, "c"] = np.nan


def _one_name(X):
    X.columns = ["a", "b", "d", "kind", "town"]


@pytest.mark.parametrize("change", [_one_cell, _one_level, _one_gap, _one_name])
def test_the_checkpoint_of_another_table_is_refused(left, rows, change):
    X = rows[0].copy()
    change(X)
    with pytest.raises(ValueError, match="is of another fit: X differs"):
        SpectralRegressor(**FEW).fit(X, rows[1], checkpoint=left)


def test_the_checkpoint_of_other_targets_weights_or_validation_rows_is_refused(left, rows):
    X, y = rows
    for name, given in {
        "y": (X, y + 1e-9),
        "sample_weight": (X, y, np.linspace(1, 2, len(y))),
    }.items():
        with pytest.raises(ValueError, match=f"is of another fit: {name} differs"):
            SpectralRegressor(**FEW).fit(*given, checkpoint=left)
    with pytest.raises(ValueError, match=r"is of another fit: .*y_val differs"):
        SpectralRegressor(**FEW).fit(X, y, X_val=X, y_val=y, checkpoint=left)
    with pytest.raises(ValueError, match="is of another fit: offset differs"):
        SpectralRegressor(**FEW).fit(X, y, offset=y, checkpoint=left)


def test_the_checkpoint_of_another_estimator_or_version_is_refused(left, rows, monkeypatch):
    X, y = rows
    with pytest.raises(ValueError, match="estimator was SpectralRegressor and is SpectralClassifier"):
        SpectralClassifier(**FEW).fit(X, y > 0, checkpoint=left)
    monkeypatch.setattr(checkpoint_file, "version", lambda _: "99.0")
    with pytest.raises(ValueError, match=r"lambdak was .* and is 99\.0"):
        SpectralRegressor(**FEW).fit(X, y, checkpoint=left)


def test_a_warm_start_from_another_model_is_refused(rows, tmp_path, monkeypatch):
    X, y = rows
    one, other = (SpectralRegressor(warm_start=True, **FEW | {"max_iter": count}).fit(X, y) for count in (2, 3))
    checkpoint = tmp_path / "fit"
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFile, "finish", lambda _: None)
        one.set_params(max_iter=1).fit(X, y, checkpoint=checkpoint)
    with pytest.raises(ValueError, match="model differs"):
        other.set_params(max_iter=1).fit(X, y, checkpoint=checkpoint)


def test_every_flipped_bit_and_every_cut_is_noticed(left, rows):
    whole, rng = left.read_bytes(), np.random.default_rng(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    places = [*range(8), *rng.integers(8, header, 60), *rng.integers(header, len(whole), 60), len(whole) - 1]
    for place in places:
        left.write_bytes(
            bytes(byte ^ (1 << int(rng.integers(8))) if i == place else byte for i, byte in enumerate(whole))
        )
        with pytest.raises(ValueError, match="checkpoint") as caught:
            new_fit(rows, left)
        assert str(left) in str(caught.value)
        assert "elete it" in str(caught.value)
    for length in [0, 1, 7, 8, 100, header - 1, header, len(whole) // 2, len(whole) - 1]:
        left.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="checkpoint"):
            new_fit(rows, left)
    left.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match="damaged"):
        new_fit(rows, left)
    left.write_bytes(whole)
    assert bits(new_fit(rows, left)) == bits(SpectralRegressor(**FEW).fit(*rows))


def new_fit(rows, path):
    return SpectralRegressor(**FEW).fit(*rows, checkpoint=path)


def _forged(path, change):
    """The file again after a change, with a checksum that fits."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8:end])["__metadata__"]["lambdak checkpoint"])
    arrays = load(data)
    change(about, arrays)
    new = save(arrays, {"lambdak checkpoint": json.dumps(about), "sha256": "0" * 64})
    place = checkpoint_file._place(new)
    path.write_bytes(new[:place] + checkpoint_file._checksum(new, place).encode() + new[place + 64 :])


def _without_epochs(scalars, arrays):
    scalars.update(seconds=[], waited=[])
    arrays.update({name: arrays[name][:0] for name in ("train", "validation")})


@pytest.mark.parametrize(
    "change",
    [
        lambda about, arrays: arrays.pop("coef"),
        lambda about, arrays: arrays.update(coef=arrays["coef"][:1]),
        lambda about, arrays: arrays.update(best=arrays["best"].astype(np.float32)),
        lambda about, arrays: about.pop("call"),
        lambda about, arrays: about.pop("start"),
        lambda about, arrays: about["training"]["scalars"].pop("steps"),
        lambda about, arrays: about.update(format=2),
        lambda about, arrays: about.update(stages=[]),
        lambda about, arrays: about["stages"].update({next(iter(about["stages"])): 3}),
        lambda about, arrays: next(iter(about["stages"].values())).pop("rng"),
        lambda about, arrays: next(iter(about["stages"].values())).pop("result"),
        lambda about, arrays: next(iter(about["stages"].values())).update(rng={"bit_generator": "MT19937"}),
        lambda about, arrays: about["start"].update(state=None),
        lambda about, arrays: about.update(training=[]),
        lambda about, arrays: about["training"].pop("name"),
        lambda about, arrays: about["training"].pop("rng"),
        lambda about, arrays: about["training"].update(rng={"bit_generator": "PCG64", "state": {"state": -1}}),
        lambda about, arrays: about["training"].update(scalars=[]),
        lambda about, arrays: about["training"]["scalars"].update(steps="many"),
        lambda about, arrays: about["training"]["scalars"].pop("epochs"),
        lambda about, arrays: about["training"]["scalars"].update(epochs=None),
        lambda about, arrays: about["training"]["scalars"].update(seconds=[]),
        lambda about, arrays: about["training"]["scalars"].update(waited=3),
        lambda about, arrays: _without_epochs(about["training"]["scalars"], arrays),
        lambda about, arrays: arrays.pop("train"),
        lambda about, arrays: arrays.update(validation=arrays["validation"][:0]),
    ],
)
def test_a_file_with_a_valid_checksum_and_missing_parts_is_refused(left, rows, change):
    _forged(left, change)
    with pytest.raises(ValueError, match="elete it") as caught:
        new_fit(rows, left)
    assert repr(str(left)) in str(caught.value)


def test_a_randomness_that_is_none_is_refused_where_any_would_do(tmp_path):
    path = tmp_path / "fit"
    new(path, {"random_state": "None"})
    _forged(path, lambda about, arrays: about["start"].update(bit_generator="MT19937"))
    with pytest.raises(ValueError, match=r"fit' is no checkpoint .*: give another path, or delete it"):
        new(path, {"random_state": "None"})


def test_a_path_that_cannot_be_used_is_refused_before_the_fit(rows, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist: create it first"):
        new_fit(rows, tmp_path / "nowhere" / "fit")
    with pytest.raises(ValueError, match="must be the path of a file"):
        new_fit(rows, tmp_path)
    with pytest.raises(TypeError, match="must be the path of a file, or None; got 7"):
        new_fit(rows, 7)


@pytest.mark.parametrize("every", [-1, np.nan, np.inf, "60", None, True])
def test_what_is_no_number_of_seconds_is_refused(tmp_path, every):
    for path in (None, tmp_path / "fit"):
        with pytest.raises(ValueError, match="checkpoint_every must be a finite number of seconds, at least 0"):
            open_checkpoint(path, every)


def test_no_path_is_no_checkpoint():
    assert isinstance(open_checkpoint(None, 60), NoCheckpoint)


def test_a_save_is_due_after_the_given_seconds(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(checkpoint_file.time, "monotonic", lambda: clock[0])
    checkpoint = CheckpointFile(tmp_path / "fit", 60.0)
    checkpoint.begin(dict, np.random.default_rng(0))
    for now, due in ((159.0, False), (160.0, True)):
        clock[0] = now
        assert checkpoint.due() == due
    checkpoint.save("members", State({}, {}))
    assert not checkpoint.due()


def test_a_checkpoint_that_became_a_folder_is_refused(left, rows):
    file = open_checkpoint(left, 1.0)
    left.unlink()
    left.mkdir()
    with pytest.raises(ValueError, match=r"'.*fit' cannot be read \(it is a folder\): give another path"):
        file.begin(dict, np.random.default_rng(0))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_is_refused_before_the_fit(rows, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="is not writable"):
            new_fit(rows, tmp_path / "fit")
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_is_a_warning_and_the_last_checkpoint_stays(left, rows, monkeypatch):
    saved, wanted = left.read_bytes(), bits(SpectralRegressor(**FEW).fit(*rows))
    monkeypatch.setattr(CheckpointFile, "finish", lambda _: None)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _full)
        with pytest.warns(
            RuntimeWarning, match=r"could not be written .*(?i:no space left).* the last checkpoint stays"
        ):
            fitted = SpectralRegressor(**FEW).fit(*rows, checkpoint=left, checkpoint_every=0)
    assert bits(fitted) == wanted
    assert left.read_bytes() == saved
    assert os.listdir(left.parent) == ["fit"]
    assert bits(new_fit(rows, left)) == wanted


def test_a_disk_that_is_full_from_the_start_is_an_error(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(OSError, match=r"(?i)no space left"):
        new_fit(rows, tmp_path / "fit")
    assert not os.listdir(tmp_path)


def _full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_link_is_followed_and_stays(rows, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "fit")
    new(tmp_path / "link")
    assert (tmp_path / "fit").exists()
    checkpoint, _ = new(tmp_path / "link")
    checkpoint.finish()
    assert os.listdir(tmp_path) == ["link"]


def test_a_file_that_another_process_has_removed_is_no_harm(left, rows, monkeypatch):
    begin = CheckpointFile.begin

    def begin_and_lose(checkpoint, *given):
        begin(checkpoint, *given)
        left.unlink()

    monkeypatch.setattr(CheckpointFile, "begin", begin_and_lose)
    assert bits(new_fit(rows, left)) == bits(SpectralRegressor(**FEW).fit(*rows))
