"""Elo ratings against closed forms and logistic regression, and a contest that continues where it was ended."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression


@pytest.fixture(scope="module")
def elo(script):
    return script("elo")


def matches(elo, metrics):
    metrics = np.asarray(metrics, dtype=float)
    return elo.Matches([f"m{i}" for i in range(metrics.shape[2])], metrics)


@pytest.mark.parametrize(("won", "lost"), [(7, 3), (1, 0), (29, 0), (4, 4)])
def test_of_two_contestants_the_difference_is_the_log_odds_of_their_wins(elo, won, lost):
    own = matches(elo, [[[1, 0]]] * won + [[[0, 1]]] * lost)
    difference = own.ratings()[0] - own.ratings()[1]
    assert difference == pytest.approx(400 * np.log10((won + 0.5) / (lost + 0.5)), abs=1e-6)


def test_ratings_are_those_of_a_logistic_regression_on_all_matches(elo):
    rng = np.random.default_rng(0)
    wins = rng.integers(0, 9, (5, 5)).astype(float) * (1 - np.eye(5))
    rows, outcome, weight = [], [], []
    for i, j in zip(*np.triu_indices(5, 1), strict=True):
        for y, count in ((1, wins[i, j] + 0.5), (0, wins[j, i] + 0.5)):
            rows.append(np.eye(5)[i] - np.eye(5)[j])
            outcome.append(y)
            weight.append(count)
    model = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10, max_iter=1000)
    expected = 400 / np.log(10) * model.fit(rows, outcome, sample_weight=weight).coef_[0]
    ratings = elo.elo(wins, ["LightGBM", *"abcd"])
    assert ratings[0] == 1000
    np.testing.assert_allclose(ratings - ratings[0], expected - expected[0], atol=0.05)


def test_splits_are_parts_of_one_match_and_ties_half_a_win(elo):
    once = matches(elo, [[[3, 2, 2]], [[1, 2, 0]]])
    thrice = matches(elo, [[[3, 2, 2]] * 3, [[1, 2, 0]] * 3])
    np.testing.assert_allclose(once.ratings(), thrice.ratings())
    np.testing.assert_allclose(once.wins()[0], [[0, 1, 1], [0, 0, 0.5], [0, 0.5, 0]])
    np.testing.assert_allclose(once.mean_ranks(), [(1 + 2) / 2, (2.5 + 1) / 2, (2.5 + 3) / 2])


def test_who_has_no_metric_has_no_match_and_no_rank_there(elo):
    own = matches(elo, [[[3, np.nan, 2]], [[1, 2, 0]]])
    assert not own.wins()[0, 1].any()
    assert not own.wins()[0, :, 1].any()
    np.testing.assert_allclose(own.mean_ranks(), [(1 + 2) / 2, 1, (2 + 3) / 2])


def test_intervals_hold_the_ratings_and_have_no_width_where_all_tables_agree(elo):
    rng = np.random.default_rng(1)
    own = matches(elo, rng.normal(np.arange(3) / 2, size=(12, 2, 3)))
    for (low, high), values in zip(elo.intervals(own, 200), (own.ratings(), own.mean_ranks()), strict=True):
        assert (low <= values).all()
        assert (values <= high).all()
        assert (high - low > 0).all()
    for low, high in elo.intervals(matches(elo, [[[1, 2, 3]]] * 5), 20):
        np.testing.assert_allclose(low, high)


@pytest.mark.parametrize(
    ("task", "own", "best", "behind"),
    [
        ("regression", 0.900, 0.904, True),
        ("regression", 0.902, 0.904, False),
        ("classes", 0.106, 0.100, True),
        ("classes", 0.104, 0.100, False),
        ("classes", 0.050, 0.100, False),
    ],
)
def test_behind_is_who_has_more_than_the_allowed_difference(script, capsys, task, own, best, behind):
    contest, standings = script("contest"), script("standings")
    scores = {"lambdak-fast": own, "LightGBM": best, "CatBoost": best + (0.2 if task == "classes" else -0.2)}
    results = [contest.Result("table", 0, name, 9, 1, "1", task, score) for name, score in scores.items()]
    standings.print_behind(standings.Standings(results))
    assert ("| lambdak-fast |" in capsys.readouterr().out) == behind


# ---- a contest ----------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """Two tables: numbers to predict in Parquet, three classes by name in CSV; and a file that is none."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["u", "v"], 60)})
    X.assign(__y=X["a"] + rng.normal(size=60)).to_parquet(tmp_path / "amounts.parquet")
    X.assign(__y=rng.choice(["low", "mid", "top"], 60)).to_csv(tmp_path / "grades.csv", index=False)
    X.to_parquet(tmp_path / "no_target.parquet")
    return tmp_path


@pytest.fixture
def fits(script, monkeypatch):
    """What was fitted, in order, by two contestants that predict a constant and one that fails."""
    peers, done = script("peers"), []

    def constant(problem, rows, seed, threads):
        done.append((problem.name, seed))
        if problem.task == "classes":
            return lambda test: np.full((len(test), 3), 1 / 3)
        return lambda test: np.full(len(test), problem.y[rows].mean())

    def failing(problem, rows, seed, threads):
        raise ValueError("no such loss")

    for name, fit in {"lambdak-toy": constant, "LightGBM": constant, "failing": failing}.items():
        method = SimpleNamespace(fit=fit, version="1", optional=False, installed=True, module=name)
        monkeypatch.setitem(peers.METHODS, name, SimpleNamespace(**vars(method), prepare=lambda: None))
    return SimpleNamespace(done=done, methods=peers.METHODS)


def run(elo, folder, *words):
    file = folder / "results" / "elo.jsonl"
    methods = ("--methods", "lambdak-toy", "LightGBM", "failing", "--bootstrap", "5")
    elo.main(["--data", str(folder), "--results", str(file), "--splits", "2", *methods, *words])
    return file


def test_a_contest_that_was_ended_measures_only_what_is_missing(elo, folder, fits, capsys):
    file = run(elo, folder)
    assert len(fits.done) == 8  # two tables, two splits, two contestants that do not fail
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 12
    file.write_text("".join(lines[:-4]) + lines[-4][:30])  # killed while it wrote
    fits.done.clear()
    assert run(elo, folder) == file
    assert fits.done == [("grades", 1)] * 2
    assert [json.loads(line)["score"] for line in file.read_text().splitlines()] == [
        json.loads(line)["score"] for line in lines
    ]
    assert "failing has no metric on grades, split 1: ValueError: no such loss" in capsys.readouterr().out


def test_again_measures_those_of_another_version_once(elo, folder, fits, capsys):
    run(elo, folder)
    fits.methods["lambdak-toy"].version = "2"
    fits.done.clear()
    run(elo, folder)
    assert fits.done == []
    run(elo, folder, "--again", "lambdak")
    assert len(fits.done) == 4
    run(elo, folder, "--again", "lambdak")
    assert len(fits.done) == 4
    assert "several versions" not in capsys.readouterr().out


def test_mixed_versions_are_named(elo, folder, fits, capsys):
    run(elo, folder, "--only", "amounts")
    fits.methods["LightGBM"].version = "2"
    run(elo, folder)
    assert "LightGBM has results of several versions (1, 2): --again LightGBM" in capsys.readouterr().out


@pytest.mark.slow
def test_show_measures_nothing_and_draws_what_is_there(elo, folder, fits, capsys):
    run(elo, folder, "--show")
    assert "no results yet" in capsys.readouterr().out
    run(elo, folder)
    fits.done.clear()
    run(elo, folder, "--show", "--picture", str(folder / "elo.png"))
    assert fits.done == []
    assert (folder / "elo.png").stat().st_size > 1000
    assert "| LightGBM | 1000 [1000, 1000] | 1.50 [1.50, 1.50] | 2 |" in capsys.readouterr().out


def test_a_folder_without_tables_and_an_unknown_table_are_refused(elo, folder, fits, tmp_path_factory, capsys):
    with pytest.raises(SystemExit):
        run(elo, folder, "--only", "nothing")
    assert "--only must be some of amounts, grades; got nothing" in capsys.readouterr().err
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(SystemExit):
        run(elo, empty)
    assert "must have Parquet or CSV files with a column __y" in capsys.readouterr().err


def test_the_task_follows_from_the_target(script, folder):
    tables = script("tables")
    assert tables.names_in(folder) == ["amounts", "grades"]
    amounts, grades = (tables.load(name, folder) for name in ("amounts", "grades"))
    assert (amounts.task, grades.task) == ("regression", "classes")
    assert set(grades.y) == {0, 1, 2}
    frame = pd.DataFrame({"a": np.arange(4.0), "__exposure": 1.0, "__y": [0, 1, 0, 2]})
    frame.to_parquet(folder / "counts.parquet")
    counts = tables.load("counts", folder)
    assert (counts.task, list(counts.X)) == ("poisson", ["a"])
    frame[["a", "__y"]].to_parquet(folder / "winered.parquet")
    assert tables.load("winered", folder).task == "regression"
