"""``lambdak fit``: the model is that of the library, and what is printed about it is true.

Tests ``fit_summary``.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from cli_cases import FAST, done, only, process, refused, run, table

import lambdak
from lambdak.cli import fit as fit_module
from lambdak.losses import Predicts, losses_of


def test_fit_writes_the_model_that_the_library_fits(shelf, tmp_path):
    path = tmp_path / "model.safetensors"
    options = ["--monotone", "income=+,age=-", "--max-influence", "town=0.5", "--alpha", "0.01", "--seed", "3"]
    options += ["--interactions", "income,age", "--interactions", "age,town"]
    more = ["--weight", "weight", "--members", "2", "--loss", "huber", "--test-fraction", "0", *only("y", "weight")]
    done(["fit", shelf / "rows.csv", "--target", "y", "--model", path, *options, *more, *FAST])
    model = lambdak.load(path)
    data = pa.parquet.read_table(shelf / "rows.parquet")
    X = data.select(["income", "age", "town"])
    same = lambdak.SpectralRegressor(
        "huber", monotonic_cst={"income": 1, "age": -1}, max_influence={"town": 0.5}, alpha=0.01, effort="fast",
        interaction_cst=[["income", "age"], ["age", "town"]], n_estimators=2, max_iter=3, dim=3, random_state=3,
    )  # fmt: skip
    same.fit(X, data["y"].to_numpy(), data["weight"].to_numpy())
    np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_the_most_levels_of_a_category_are_kept(shelf, tmp_path):
    path = tmp_path / "model.safetensors"
    args = ["fit", shelf / "rows.csv", "-t", "y", "--model", path, "--max-categories", "2", *only("y"), *FAST]
    fitted = process("", *args)
    assert fitted.returncode == 0
    (town,) = (column for column in lambdak.load(path).model_.encoder.columns if column.name == "town")
    assert len(town.levels) == 2
    (note,) = (line for line in fitted.stderr.splitlines() if line.startswith("note: "))
    assert note.startswith("note: column 'town' has 3 levels, more than 2: ")
    assert "raise --max-categories to 3" in note


def test_fit_without_more_than_a_target_writes_the_usual_file_and_says_what_it_did(shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = done(["fit", shelf / "rows.csv", "-t", "y", "--monotone", "income=+", *only("y"), *FAST])
    assert (tmp_path / "model.safetensors").exists()
    for words in (
        "regression, because its values are numbers",
        "96 to train on, 24 to test on",
        "2 numeric, 1 categorical: town (3 categories)",
        "never falls as income rises",
        "R²",
        "model.safetensors",
    ):
        assert words in result.stdout
    assert "fitting" in result.stderr
    assert "loss" in result.stderr


@pytest.mark.parametrize("shape", ["convex", "concave"])
def test_a_shape_is_kept_and_certified(shelf, tmp_path, shape):
    path = tmp_path / "m.safetensors"
    args = ["fit", shelf / "rows.csv", "-t", "y", "--shape", shape, "--model", path, "--json", *only("y"), *FAST]
    answer = json.loads(done(args).stdout)
    assert lambdak.load(path).shape == shape
    (claim,) = answer["guarantees"]
    assert shape in claim["statement"]
    assert claim["proven"]


def test_json_is_all_of_stdout_and_holds_metrics_that_the_library_confirms(shelf, tmp_path):
    path = tmp_path / "m.safetensors"
    test = tmp_path / "later.parquet"
    pa.parquet.write_table(table().slice(40), test)
    args = ["fit", shelf / "rows.jsonl", "-t", "y", "--test", test, "--model", path, "--json", *only("y"), *FAST]
    answer = json.loads(done(args).stdout)
    later = pa.parquet.read_table(test)
    expected = lambdak.load(path).score(later.select(["income", "age", "town"]), later["y"].to_numpy())
    assert answer["metrics"]["R²"] == pytest.approx(expected)
    assert (answer["rows"], answer["test_rows"], answer["epochs"]) == (120, 80, 3)
    assert answer["task"] == "regression"
    assert answer["categories"] == {"town": 3}
    assert answer["bytes"] == path.stat().st_size
    assert not answer["interrupted"]


def test_a_metric_that_fails_does_not_lose_the_model(shelf, tmp_path):
    path = tmp_path / "m.safetensors"
    other = table().set_column(5, "grade", pa.array(["unheard of"] * 120))
    pa.parquet.write_table(other, tmp_path / "later.parquet")
    args = ["fit", shelf / "rows.parquet", "-t", "grade", "--test", tmp_path / "later.parquet", "--model", path]
    assert "a class that the model does not know: 'unheard of'" in refused([*args, *only("grade"), *FAST])
    assert lambdak.load(path).classes_.tolist() == ["bad", "good"]


EPOCH = """
from lambdak.training import session as fitting
class Interrupted(fitting.Trainer):
    def run(self, schedule, after=None):
        for epoch, event in enumerate(super().run(schedule, after)):
            yield event
            if epoch == {epoch} and schedule.epochs == 50:
                os.kill(os.getpid(), signal.SIGINT)
fitting.Trainer = Interrupted
"""


@pytest.mark.slow
def test_an_interrupted_fit_keeps_the_best_so_far_and_says_so(shelf, tmp_path):
    args = ["fit", shelf / "rows.csv", "-t", "y", *only("y"), "--effort", "fast", "--max-iter", "50", "--dim", "3"]
    stopped = process(EPOCH.format(epoch=4), *args, "--json", cwd=tmp_path)
    assert stopped.returncode == 0, stopped.stderr
    answer = json.loads(stopped.stdout)
    assert answer["interrupted"]
    assert answer["epochs"] == 5
    assert "the training was interrupted: the model is the best one so far" in stopped.stderr
    data = table().select(["income", "age", "town"])
    assert np.isfinite(lambdak.load(tmp_path / "model.safetensors").predict(data)).all()


def test_the_losses_to_choose_from_are_those_of_the_registry():
    names = {loss.name for loss in losses_of(Predicts.NUMBERS)}
    assert set(fit_module.LOSSES) == names - {"quantile"}  # which --quantiles does better


def test_a_command_that_was_killed_continues_from_its_checkpoint_and_writes_the_same_model(
    shelf, tmp_path, monkeypatch
):
    path, checkpoint = tmp_path / "model.safetensors", tmp_path / "fit"
    args = ["fit", shelf / "rows.csv", "-t", "y", "--model", path, "--checkpoint", checkpoint, *only("y"), *FAST]
    done(args)
    wanted = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("lambdak.training.fit.run_members", lambda *_, **__: sys.exit(9))
        assert run(args).exit_code == 9
    assert checkpoint.exists()
    monkeypatch.setattr("lambdak.training.choice.explore", lambda *_: pytest.fail("pilot models are trained again"))
    done(args)
    assert path.read_bytes() == wanted
    assert not checkpoint.exists()


def test_a_checkpoint_in_a_folder_that_does_not_exist_is_refused(shelf, tmp_path):
    args = ["fit", shelf / "rows.csv", "-t", "y", "--checkpoint", tmp_path / "no" / "fit", *only("y"), *FAST]
    assert "--checkpoint must be in a folder that exists" in refused(args)


def test_names_between_plus_signs_are_capped_together(shelf, tmp_path):
    args = ["fit", shelf / "rows.csv", "-t", "y", *only("y"), *FAST, "--model", tmp_path / "m"]
    done([*args, "--max-influence", "income+town=0.5", "--json"])
    model = lambdak.load(tmp_path / "m")
    assert model.max_influence == {("income", "town"): 0.5}
    assert [claim.value <= 0.5 for claim in model.certify().claims if claim.kind == "joint influence"] == [True]
    assert "has no column 'tow', which --max-influence names" in refused([*args, "--max-influence", "income+tow=0.5"])
