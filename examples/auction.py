"""What wins an auction, and what to bid: a network reads the auction, a spectral neuron draws its win curve.

usage: python examples/auction.py [--data DIR] [--value 100] [--members 8] [--seed 0] [--pictures DIR]

The network sees the categories of an auction (site, slot, hour, …) and predicts A and B of P(win | bid) =
sigmoid(λ_k(A + bid·B)) with B positive semidefinite: a curve that never falls, for every auction. Several networks,
trained from different starts, are averaged on the logit scale, which keeps that.

On top of the curve, :func:`best_bid` maximises (value − bid)·P(win | bid), what a first-price auction is expected to
earn, by a safeguarded Newton method on the exact derivative, for all auctions at once. As the curve is monotone,
:func:`regret` proves how much any other bid could earn on top.

DIR holds auction_win_train.parquet and auction_win_test.parquet: iPinYou's auctions with simulated bids. The market
price of an auction is never shown to the network. Needs pandas and pyarrow; --pictures matplotlib too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from torch.nn.functional import binary_cross_entropy_with_logits as log_loss

import torch
from lambdak.torch import HyperSpectralNeuron
from torch import Tensor, nn

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
COLUMNS = [
    "weekday", "hour", "IP", "city", "adexchange", "domain", "slotid", "slotwidth", "slotheight", "slotvisibility",
    "creative", "useragent", "slotprice_bucket",
]  # fmt: skip


Curves = Callable[[Tensor], tuple[Tensor, Tensor]]


# ---- auctions as tensors -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Auctions:
    """Ids of categories (rows, columns), bids and wins (rows,)."""

    context: Tensor
    bid: Tensor
    win: Tensor

    def take(self, rows: Tensor) -> Auctions:
        """Some of the rows."""
        return Auctions(self.context[rows], self.bid[rows], self.win[rows])

    def __len__(self) -> int:
        return len(self.bid)


class Vocabulary:
    """Ids of the categories that ``at_least`` training rows have, and how many have them; 0 is any other."""

    def __init__(self, table: pd.DataFrame, at_least: int = 2) -> None:
        known = {name: table[name].value_counts() for name in COLUMNS}
        known = {name: count[count >= at_least] for name, count in known.items()}
        self.ids = {name: {level: i + 1 for i, level in enumerate(count.index)} for name, count in known.items()}
        self.counts = [[0, *count] for count in known.values()]

    def __call__(self, table: pd.DataFrame) -> Auctions:
        """The table as tensors."""
        columns = [table[name].map(ids).fillna(0).to_numpy(np.int64) for name, ids in self.ids.items()]
        return Auctions(torch.from_numpy(np.stack(columns, 1)), _floats(table["bid"]), _floats(table["win"]))


def _floats(column: pd.Series) -> Tensor:
    return torch.tensor(column.to_numpy(np.float32))


def split(table: pd.DataFrame, seed: int, fraction: float = 0.2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows to train on, and rows that decide when to stop."""
    order = np.random.default_rng(seed).permutation(len(table))
    cut = int(fraction * len(table))
    return table.iloc[order[cut:]], table.iloc[order[:cut]]


# ---- the model -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Of the network and its training."""

    dim: int = 5
    embedding: int = 8
    doubt: float = 300.0  # a category that n rows have counts n / (n + doubt)
    forget: float = 0.2  # chance that a category is hidden in training
    hidden: int = 256
    dropout: float = 0.5
    rate: float = 3e-3
    batch: int = 128
    patience: int = 10  # epochs
    epochs: int = 100


class AuctionEncoder(nn.Module):
    """Categories to features: one embedding per column, then a network of one layer.

    A category's embedding is that of its column plus something of its own, which starts from zero and is shrunk
    if the category is rare: most are, and a network would learn them by heart. Unknown ones have nothing of their own.
    """

    first: Tensor
    trust: Tensor

    def __init__(self, counts: Sequence[Sequence[int]], settings: Settings) -> None:
        super().__init__()
        self.forget = settings.forget
        every = torch.tensor([count for column in counts for count in column])
        self.register_buffer("first", torch.tensor([0, *map(len, counts[:-1])]).cumsum(0))
        self.register_buffer("trust", (every / (every + settings.doubt))[:, None])
        self.column = nn.Parameter(0.1 * torch.randn(len(counts), settings.embedding))
        self.own = nn.Embedding(len(every), settings.embedding)
        nn.init.zeros_(self.own.weight)
        inputs = settings.embedding * len(counts)
        self.layers = nn.Sequential(nn.Linear(inputs, settings.hidden), nn.ReLU(), nn.Dropout(settings.dropout))

    def forward(self, context: Tensor) -> Tensor:
        """Features (rows, hidden)."""
        if self.training:
            context = torch.where(torch.rand(context.shape) < self.forget, 0, context)
        ids = context + self.first
        return self.layers((self.column + self.own(ids) * self.trust[ids]).flatten(1))


class WinCurve(nn.Module):
    """Logit of P(win | auction, bid), the mean of several spectral neurons that networks predict."""

    def __init__(self, members: Sequence[HyperSpectralNeuron], centre: float, scale: float) -> None:
        super().__init__()
        self.members, self.centre, self.scale = nn.ModuleList(members), centre, scale

    def forward(self, context: Tensor, bid: Tensor) -> Tensor:
        """For bids (rows,) or, many per auction, (rows, points)."""
        x = ((bid - self.centre) / self.scale).unsqueeze(-1)
        return torch.stack([member(context, x) for member in self.members]).mean(0)

    def at(self, context: Tensor) -> Curves:
        """The curves of these auctions: logits and their exact derivatives at bids (rows, points), in float64."""
        neurons = [member.at(context).double() for member in self.members]

        def curves(bid: Tensor) -> tuple[Tensor, Tensor]:
            x = ((bid - self.centre) / self.scale).unsqueeze(-1)
            values, slopes = zip(*(neuron.value_and_slopes(x) for neuron in neurons), strict=True)
            return torch.stack(values).mean(0), torch.stack(slopes).mean(0).squeeze(-1) / self.scale

        return curves


def train(
    fit: Auctions, validation: Auctions, counts: Sequence[Sequence[int]], settings: Settings, seed: int
) -> WinCurve:
    """One network, in the state with the lowest validation loss."""
    torch.manual_seed(seed)
    encoder = AuctionEncoder(counts, settings)
    neuron = HyperSpectralNeuron(encoder, 1, settings.dim, monotonic_cst=1, encoder_features=settings.hidden, bound=2.0)
    model = WinCurve([neuron], fit.bid.mean().item(), fit.bid.std().item())
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate)
    best, best_epoch, state = float("inf"), 0, deepcopy(model.state_dict())
    for epoch in range(settings.epochs):
        model.train()
        for rows in torch.randperm(len(fit)).split(settings.batch):
            part = fit.take(rows)
            optimiser.zero_grad()
            log_loss(model(part.context, part.bid), part.win).backward()
            optimiser.step()
        now = score(model, validation)
        if now < best:
            best, best_epoch, state = now, epoch, deepcopy(model.state_dict())
        if epoch - best_epoch >= settings.patience:
            break
    model.load_state_dict(state)
    return model.eval()


def ensemble(models: Sequence[WinCurve]) -> WinCurve:
    """The mean of the logits."""
    members = [member for model in models for member in model.members]
    return WinCurve(members, models[0].centre, models[0].scale).eval()


@torch.no_grad()
def score(model: WinCurve, auctions: Auctions) -> float:
    """Log-loss."""
    return log_loss(model.eval()(auctions.context, auctions.bid), auctions.win).item()


# ---- what to bid ---------------------------------------------------------------------------------------------------


def expected(curves: Curves, value: Tensor, bid: Tensor) -> Tensor:
    """(value − bid)·P(win | bid) for values (rows,) and bids (rows, points)."""
    return (value[:, None] - bid) * curves(bid)[0].sigmoid()


def best_bid(
    model: WinCurve, context: Tensor, value: Tensor, tolerance: float = 1e-6, cells: int = 128
) -> tuple[Tensor, Tensor]:
    """The bid in [0, value] that maximises (value − bid)·P(win | bid), and what it is expected to earn, per auction.

    With the logit f the derivative is P(win)·h for h = (value − bid)(1 − P(win)) f′ − 1. The best of ``cells`` + 1
    equally spaced bids and the sign of h there bracket a zero at which h falls. Newton's method closes the bracket to
    ``tolerance``: a step is lengthened by a third of it, so that the other end follows too; every third step, and
    every step that would leave the bracket, halves it instead.
    """
    with torch.no_grad():
        curves = model.at(context)
    grid = _bids(value, cells)
    start = expected(curves, value, grid).argmax(1, keepdim=True)
    bid = grid.gather(1, start)
    rising = _downhill(curves, value, bid)[0] > 0
    low = torch.where(rising, bid, grid.gather(1, (start - 1).clamp_min(0)))
    high = torch.where(rising, grid.gather(1, (start + 1).clamp_max(cells)), bid)
    at_grid, step = bid, 0
    while (high - low).max() > tolerance:
        h, slope = _downhill(curves, value, bid)
        low, high = torch.where(h > 0, bid, low), torch.where(h > 0, high, bid)
        newton = bid - h / slope + h.sign() * tolerance / 3
        bisect = (newton <= low) | (newton >= high) | (step % 3 == 2)
        bid, step = torch.where(bisect, (low + high) / 2, newton), step + 1
    both = torch.cat([at_grid, (low + high) / 2], 1)
    earned, which = expected(curves, value, both).max(1, keepdim=True)
    return both.gather(1, which).squeeze(1), earned.squeeze(1)


def _bids(value: Tensor, cells: int) -> Tensor:
    """Equally spaced bids from 0 to the value, (rows, cells + 1)."""
    return value[:, None] * torch.linspace(0, 1, cells + 1, dtype=torch.float64)


def _downhill(curves: Curves, value: Tensor, bid: Tensor) -> tuple[Tensor, Tensor]:
    """The sign-giving factor h and its derivative, which needs the second derivative of the eigenvalue."""
    with torch.enable_grad():
        bid = bid.detach().requires_grad_()
        logit, slope = curves(bid)
        h = (value[:, None] - bid) * torch.sigmoid(-logit) * slope - 1
        return h.detach(), torch.autograd.grad(h.sum(), bid)[0]


@torch.no_grad()
def regret(model: WinCurve, context: Tensor, value: Tensor, earned: Tensor, cells: int = 1000) -> Tensor:
    """What no bid in [0, value] can earn more than, over what is earned: a proof, not a search.

    In a cell [a, b] of bids nothing earns more than (value − a)·P(win | b), because P never falls.
    """
    grid = _bids(value, cells)
    win = model.at(context)(grid)[0].sigmoid()
    return ((value[:, None] - grid[:, :-1]) * win[:, 1:]).amax(1) - earned


# ---- the script ----------------------------------------------------------------------------------------------------


def draw(model: WinCurve, context: Tensor, value: Tensor, path: Path) -> None:
    """Win curves of a few auctions, and what bids are expected to earn on them."""
    from lambdak.explain import plots

    best, earned = (part.numpy() for part in best_bid(model, context, value))
    bids = _bids(value, 400)
    with torch.no_grad():
        curves = model.at(context)
        win, gain = curves(bids)[0].sigmoid().numpy(), expected(curves, value, bids).numpy()
    left, right = plots.side_by_side(2)
    for row, colour in zip(range(len(context)), ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8A8A8A"), strict=False):
        left.plot(bids[row], win[row], color=colour)
        left.plot(best[row], np.interp(best[row], bids[row], win[row]), "o", color=colour)
        right.plot(bids[row], gain[row], color=colour)
        right.plot(best[row], earned[row], "o", color=colour)
    left.set(xlabel="bid", ylabel="P(win | bid)", ylim=(0, 1), title="Every auction's curve never falls")
    right.set(xlabel="bid", ylabel="(value − bid)·P(win | bid)", title="The best bid of each")
    plots.save(left, path)


def report_bids(model: WinCurve, test: Auctions, market: np.ndarray, value: Tensor) -> None:
    """Best bids beside a grid search and a proof, and what they and simpler rules really earn."""
    bid, earned = best_bid(model, test.context, value)
    with torch.no_grad():
        finest = expected(model.at(test.context), value, _bids(value, 2000)).amax(1)
    print(f"best bids: from {bid.min():.1f} to {bid.max():.1f}, median {bid.median():.1f}, found within 1e-6")
    print(f"  a grid of 2001 bids earns at most {(finest - earned).max():.1e} more")
    print(f"  proven: no bid earns more than {regret(model, test.context, value, earned).max():.2f} more")
    rules = {"best bid": bid, "the same for all": bid.mean().expand(len(test)), "half the value": value / 2}
    for name, bids in rules.items():
        profit = np.where(market < bids.numpy(), (value - bids).numpy(), 0.0).mean()
        print(f"  {name:<16} earns {profit:.2f} per auction on the real market prices")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--value", type=float, default=100.0, help="what winning is worth")
    parser.add_argument("--members", type=int, default=8, help="networks to average")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, help="folder for the picture")
    options = parser.parse_args(arguments)
    tables = {part: pd.read_parquet(options.data / f"auction_win_{part}.parquet") for part in ("train", "test")}
    fit, validation = split(tables["train"], options.seed)
    vocabulary = Vocabulary(fit)
    sets = [vocabulary(table) for table in (fit, validation, tables["test"])]
    models = []
    for member in range(options.members):
        models.append(train(*sets[:2], vocabulary.counts, Settings(), seed=1000 * options.seed + member))
        print(f"network {member}: log-loss {score(models[-1], sets[1]):.4f} on validation rows", flush=True)
    model, test = ensemble(models), sets[2]
    print(
        f"mean of {len(models)}: {score(model, sets[1]):.4f} on validation rows, {score(model, test):.4f} on test rows"
    )
    value = torch.full((len(test),), options.value, dtype=torch.float64)
    report_bids(model, test, tables["test"]["market_price"].to_numpy(), value)
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
        draw(model, test.context[:5], value[:5], options.pictures / "auction.png")


if __name__ == "__main__":
    main()
