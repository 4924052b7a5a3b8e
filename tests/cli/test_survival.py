"""Times to an event from the command line: fit with named columns, predict at times, and errors that name options.

They go through ``event_columns``, too.
"""

import json

import numpy as np
import pandas as pd
import pytest
from cli_cases import FAST, done, refused
from survival_cases import simulated

from lambdak import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("survival")
    X, time, event = simulated(120)
    table = pd.DataFrame(X, columns=list("abc")).assign(T=time, E=event.astype(int), S=0.1 * time)
    table.assign(L=time, U=np.where(event, time, np.nan)).to_csv(where / "rows.csv", index=False)
    return where


def test_fit_writes_a_model_of_times_and_measures_it(folder):
    path = folder / "model"
    options = ["--task", "survival", "--time", "T", "--event", "E", "--entry", "S", "--drop", "L,U", "--json"]
    answer = json.loads(done(["fit", folder / "rows.csv", *options, "--monotone", "a=+", "-m", path, *FAST]).stdout)
    assert (answer["target"], answer["task"]) == ("T", "survival")
    assert answer["metrics"].keys() == {"concordance", "mean negative log-likelihood"}
    assert all(each["proven"] for each in answer["guarantees"])
    assert load(path).model_.encoder.feature_names == ("a", "b", "c")
    printed = done(["predict", folder / "rows.csv", "-m", path, "--times", "0.5,1"]).stdout.splitlines()
    assert printed[0] == "prediction,median,s_0.5,s_1"
    first = [float(cell) for cell in printed[1].split(",")]
    assert 1 > first[2] > first[3] > 0


def test_intervals_are_read_with_empty_upper_ends(folder):
    options = ["--task", "survival", "--lower", "L", "--upper", "U", "--drop", "T,E,S", "-m", folder / "between"]
    done(["fit", folder / "rows.csv", *options, *FAST])
    assert load(folder / "between").model_.loss.times


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "survival", "--event", "E"], "needs --time and --event, or --lower and --upper; got --event"),
        (["--task", "survival", "--time", "T", "--target", "E"], "is --time or --lower with --task survival"),
        (["--time", "T", "--target", "E"], "belongs to --task survival"),
        ([], "must name the column to predict"),
        (["--task", "survival", "--time", "T", "--event", "E", "--balance"], "does not belong to --task survival"),
        (["--task", "survival", "--time", "T", "--event", "E", "--loss", "gamma"], "belongs to --task regression"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(folder, options, message):
    assert message in refused(["fit", folder / "rows.csv", *options], 2)


def test_values_that_cannot_be_are_named(folder):
    words = refused(["fit", folder / "rows.csv", "--task", "survival", "--time", "T", "--event", "a"])
    assert "event of y must be True or 1" in words
    assert "--times" in refused(["predict", folder / "rows.csv", "-m", _regression(folder), "--times", "1"], 2)


def _regression(folder):
    done(["fit", folder / "rows.csv", "--target", "c", "--drop", "T,E,S,L,U", "-m", folder / "number", *FAST])
    return folder / "number"
