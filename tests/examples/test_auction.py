"""The example that bids with a hyper-network."""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hyper_cases import scrambled
from scipy.optimize import minimize_scalar

import torch

EXAMPLE = Path(__file__).parents[2] / "examples" / "auction.py"
spec = importlib.util.spec_from_file_location("auction", EXAMPLE)
auction = importlib.util.module_from_spec(spec)
sys.modules["auction"] = auction
spec.loader.exec_module(auction)


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """For networks as small as these more threads only wait for one another, and for those of other processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def win_curve():
    torch.manual_seed(0)
    members = [scrambled(inputs=1, monotonic_cst=1) for _ in range(2)]
    return auction.WinCurve(members, 50.0, 25.0), torch.randn(30, 2).double()


@pytest.mark.slow
def test_the_best_bid_is_what_a_scalar_search_from_many_starts_finds():
    model, context = win_curve()
    value = torch.linspace(1, 200, 30, dtype=torch.float64)
    bid, earned = auction.best_bid(model, context, value)
    curves = model.at(context.detach())

    @torch.no_grad()
    def loss(bids):
        return -auction.expected(curves, value, bids).numpy()

    every = torch.linspace(0, 1, 301, dtype=torch.float64) * value[:, None]
    assert ((bid >= 0) & (bid <= value)).all()
    np.testing.assert_allclose(earned, -loss(bid[:, None])[:, 0])
    for row, grid in enumerate(every):
        best_point = int(loss(every)[row].argmin())
        bounds = float(grid[max(best_point - 1, 0)]), float(grid[min(best_point + 1, 300)])
        best = minimize_scalar(
            lambda b, row=row: loss(torch.full((30, 1), b, dtype=torch.float64))[row, 0],
            bounds=bounds,
            method="bounded",
        )
        assert earned[row] >= -best.fun - 1e-9


def test_regret_bounds_every_bid_and_shrinks_with_the_cells():
    model, context = win_curve()
    value = torch.full((30,), 100.0, dtype=torch.float64)
    earned = auction.best_bid(model, context, value)[1]
    few, many = (auction.regret(model, context, value, earned, cells) for cells in (10, 1000))
    with torch.no_grad():
        random = auction.expected(model.at(context), value, 100 * torch.rand(30, 500).double())
    assert (random.amax(1) <= earned + many).all()
    assert (many <= few + 1e-12).all()
    assert many.max() < few.max() / 20


@pytest.mark.slow
def test_the_example_learns_from_auctions(tmp_path, capsys, monkeypatch):
    small = partial(auction.Settings, hidden=64, dropout=0.1, doubt=30.0, rate=1e-2, epochs=12)
    monkeypatch.setattr(auction, "Settings", small)
    rng = np.random.default_rng(0)
    for part, rows in (("train", 1500), ("test", 500)):
        table = pd.DataFrame({name: rng.choice(["a", "b", "c"], rows) for name in auction.COLUMNS})
        table["market_price"] = np.where(table["slotid"] == "a", 20, 70) + rng.integers(-10, 10, rows)
        table["bid"] = rng.integers(1, 90, rows)
        table["win"] = (table["market_price"] < table["bid"]).astype(int)
        table.to_parquet(tmp_path / f"auction_win_{part}.parquet")
    auction.main(["--data", str(tmp_path), "--members", "1", "--pictures", str(tmp_path / "pictures")])
    printed = capsys.readouterr().out
    assert float(printed.split(" on test rows")[0].split()[-1]) < 0.4  # the logarithm of two is 0.69
    assert "proven: no bid earns more" in printed
    assert (tmp_path / "pictures" / "auction.png").stat().st_size > 0
