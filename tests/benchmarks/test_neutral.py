"""Pages quote what the file of results measured outside of development says."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
RESULTS = pd.read_csv(ROOT / "benchmarks" / "neutral.csv")


def lines(table):
    headers, rows = table
    return [f"| {' | '.join(cells)} |" for cells in [headers, *rows]]


@pytest.fixture(scope="module")
def neutral(script):
    return script("neutral")


def test_the_mean_rank_is_that_of_the_log_losses(neutral):
    ranks = []
    for _, own in RESULTS.groupby("table"):
        losses = dict(zip(own["method"], own["log_loss"], strict=True))
        mine = losses["lambdak balanced"]
        below, level = sum(v < mine for v in losses.values()), sum(v == mine for v in losses.values())
        ranks.append(below + (level + 1) / 2)
    assert len(ranks) == 28
    assert neutral.summary(RESULTS).loc["lambdak balanced", "mean rank by log-loss"] == pytest.approx(sum(ranks) / 28)


@pytest.mark.parametrize("page", ["README.md", "docs/guide/comparison.md"])
def test_pages_have_the_table_of_mean_ranks(neutral, page):
    text = (ROOT / page).read_text().splitlines()
    assert [line for line in lines(neutral.rows(RESULTS)) if line not in text] == []


def test_the_comparison_has_the_log_losses_of_all_tables(neutral):
    text = (ROOT / "docs/guide/comparison.md").read_text().splitlines()
    assert [line for line in lines(neutral.losses(RESULTS)) if line not in text] == []


def test_what_the_sentences_say_of_single_tables_is_in_the_file():
    loss = RESULTS.pivot(index="table", columns="method", values="log_loss")
    own, peers = loss["lambdak balanced"], loss.drop(columns=["lambdak balanced", "lambdak fast"])
    assert [int((own < peers[name]).sum()) for name in ("CatBoost", "LightGBM", "ChimeraBoost")] == [18, 20, 14]
    assert [int((own == peers[name]).sum()) for name in ("CatBoost", "LightGBM", "ChimeraBoost")] == [0, 1, 1]
    behind = loss.index[own > 1.05 * peers.min(axis=1)]
    assert list(behind) == ["T02", "T03", "T04", "T05", "T06", "T08", "T15", "T21", "T23", "T24"]
    small = RESULTS[RESULTS["rows"] < 1000]["table"].unique()
    assert len(small) == 16
    assert (own[small] > loss["lambdak fast"][small]).sum() == 8
