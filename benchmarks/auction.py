"""Log-loss of win curves on real auctions: hyper-networks beside LightGBM and logistic regression, re-run here.

usage: python benchmarks/auction.py [--data DIR] [--seeds 5] [--members 8] [--pairs 1000000]

A seed keeps a fifth of the training rows as validation rows. They decide when to stop and, per seed, which settings
win: LightGBM (monotone in the bid) chooses leaves, rate and whether rare categories are one; logistic regression its
penalty, whether rare categories are one, and the logarithm of the bid as a second input. The networks have those of
examples/auction.py. No model sees the test rows otherwise, or the market price. The test rows, which are later
auctions, choose nothing. As the networks are averaged, so is LightGBM in a row of its own: on random parts of the
rows and columns, with the settings that won.

Then pairs of bids for auctions of the test rows: how often does a higher bid have a lower score? Counted in float32,
in which the networks were trained, and in float64; and in float32 beyond the rounding of an eigenvalue, ROUNDING
units in the last place of ‖A₀‖ + |x| ‖B‖. Needs lightgbm and pandas.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))  # before this folder: the names are the same
from auction import COLUMNS, DATA, Auctions, Settings, Vocabulary, WinCurve, ensemble, score, split, train
from lambdak.torch import spectral_norm

RARE = (1, 2, 10)  # a category with fewer rows than this is one of the rare ones
ROUNDING = 8
TOP = 300.0  # market prices end there
Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]  # training, validation and test rows
Row = tuple[str, float, float]  # name, log-loss on validation rows, and on test rows


# ---- the peers -----------------------------------------------------------------------------------------------------


def rows(auctions: Auctions) -> tuple[np.ndarray, np.ndarray]:
    """Categories and then the bid, and who won."""
    return np.column_stack([auctions.context.numpy(), auctions.bid.numpy()]), auctions.win.numpy()


def boosted(sets: list[Auctions], leaves: int, rate: float, **more: float) -> lightgbm.LGBMClassifier:
    """LightGBM that stops on the validation rows and cannot fall in the bid."""
    model = lightgbm.LGBMClassifier(
        n_estimators=3000, num_leaves=leaves, learning_rate=rate, verbose=-1, n_jobs=1,
        monotone_constraints=[0] * len(COLUMNS) + [1], monotone_constraints_method="advanced", **more,
    )  # fmt: skip
    (X, y), held = rows(sets[0]), rows(sets[1])
    stop = lightgbm.early_stopping(50, verbose=False)
    return model.fit(X, y, eval_set=[held], callbacks=[stop], categorical_feature=list(range(len(COLUMNS))))


def lightgbm_rows(tables: Tables, members: int) -> Iterator[Row]:
    """One LightGBM, tuned; and the mean of several on random parts of rows and columns."""
    found = []
    for rare, leaves, rate in product(RARE, (4, 8, 15, 31), (0.03, 0.1)):
        sets = encode(tables, rare)
        model = boosted(sets, leaves, rate)
        found.append((peer_loss([model], sets[1]), sets, leaves, rate, model))
    loss, sets, leaves, rate, model = min(found, key=lambda one: one[0])
    yield "LightGBM, monotone in the bid", loss, peer_loss([model], sets[2])
    parts = {"subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.8}
    models = [boosted(sets, leaves, rate, random_state=i, **parts) for i in range(members)]
    yield f"  mean of {members}, bagged", peer_loss(models, sets[1]), peer_loss(models, sets[2])


def peer_loss(models: list[lightgbm.LGBMClassifier], auctions: Auctions) -> float:
    """Log-loss of the mean of the logits."""
    X, y = rows(auctions)
    logits = np.mean([model.predict(X, raw_score=True) for model in models], 0)
    return float(log_loss(y, 1 / (1 + np.exp(-logits))))


def logistic_rows(tables: Tables) -> Iterator[Row]:
    """Logistic regression on indicators and the bid, tuned."""
    found = []
    for rare, curved in product(RARE, (False, True)):
        sets = encode(tables, rare)
        design = indicators(sets[0], curved)
        X, (_, y) = design(sets[0]), rows(sets[0])
        for C in (0.03, 0.1, 0.3, 1.0, 3.0):
            model = LogisticRegression(C=C, max_iter=5000).fit(X, y)
            losses = [log_loss(part.win.numpy(), model.predict_proba(design(part))[:, 1]) for part in sets[1:]]
            found.append(tuple(map(float, losses)))
    yield "logistic regression", *min(found)


def indicators(auctions: Auctions, curved: bool) -> Callable[[Auctions], csr_matrix]:
    """What turns auctions into one column per category, and the standardised bid (and its logarithm)."""

    def numbers(part: Auctions) -> np.ndarray:
        bid = part.bid.numpy()[:, None]
        return np.hstack([bid, np.log(bid)]) if curved else bid

    hot = OneHotEncoder(handle_unknown="ignore").fit(auctions.context.numpy())
    scale = StandardScaler().fit(numbers(auctions))
    return lambda part: csr_matrix(hstack([hot.transform(part.context.numpy()), scale.transform(numbers(part))]))


def encode(tables: Tables, rare: int) -> list[Auctions]:
    vocabulary = Vocabulary(tables[0], rare)
    return [vocabulary(table) for table in tables]


# ---- ours ----------------------------------------------------------------------------------------------------------


def networks(tables: Tables, members: int, seed: int) -> list[WinCurve]:
    vocabulary = Vocabulary(tables[0])
    fit, held = vocabulary(tables[0]), vocabulary(tables[1])
    return [train(fit, held, vocabulary.counts, Settings(), seed=1000 * seed + i) for i in range(members)]


def network_rows(models: list[WinCurve], tables: Tables) -> Iterator[Row]:
    vocabulary = Vocabulary(tables[0])
    held, test = vocabulary(tables[1]), vocabulary(tables[2])
    yield "hyper-network", score(models[0], held), score(models[0], test)
    both = ensemble(models)
    yield f"  mean of {len(models)}", score(both, held), score(both, test)


@torch.no_grad()
def violations(model: WinCurve, context: Tensor, pairs: int, seed: int) -> tuple[int, int, int, int]:
    """Pairs, and those whose higher bid has a lower score: in float32, in float64, in float32 beyond rounding."""
    each = -(-pairs // len(context))
    generator = torch.Generator().manual_seed(seed)
    bids = TOP * torch.rand(len(context), each, 2, generator=generator).sort(-1).values
    values = model(context, bids.flatten(1)).unflatten(1, (each, 2))
    exact = model.at(context)(bids.flatten(1).double())[0].unflatten(1, (each, 2))
    drop, below = values[..., 0] - values[..., 1], exact[..., 0] > exact[..., 1]
    margin = ROUNDING * torch.finfo(torch.float32).eps * largest_norm(model, context)
    return drop.numel(), int((drop > 0).sum()), int(below.sum()), int((drop > margin[:, None]).sum())


def largest_norm(model: WinCurve, context: Tensor) -> Tensor:
    """‖A₀‖ + |x| ‖B‖ for the bid whose |x| is largest, the mean over the members; (rows,)."""
    largest = max(model.centre, TOP - model.centre) / model.scale
    neurons = [member.at(context) for member in model.members]
    norms = [spectral_norm(n.constant, n.dim) + largest * spectral_norm(n.weight[:, 0], n.dim) for n in neurons]
    return torch.stack(norms).mean(0)


# ---- the script ----------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="lightgbm|sklearn")
    whole, test = (pd.read_parquet(options.data / f"auction_win_{part}.parquet") for part in ("train", "test"))
    results: dict[str, list[tuple[float, float]]] = {}
    for seed in range(options.seeds):
        started = time.perf_counter()
        tables = (*split(whole, seed), test)
        models = networks(tables, options.members, seed)
        found = [*network_rows(models, tables), *lightgbm_rows(tables, options.members), *logistic_rows(tables)]
        for name, *losses in found:
            results.setdefault(name, []).append(tuple(losses))
        told = ", ".join(f"{name.strip()} {loss:.4f}" for name, _, loss in found)
        print(f"seed {seed} ({time.perf_counter() - started:.0f} s): {told}", flush=True)
        counts = violations(ensemble(models), Vocabulary(tables[0])(test).context, options.pairs, seed)
        print(
            "  {:,} pairs; violations: float32 {}, float64 {}, float32 beyond rounding {}".format(*counts), flush=True
        )
    print_table(results)


def print_table(results: dict[str, list[tuple[float, float]]]) -> None:
    print(f"\n| log-loss, mean ± sd over {len(next(iter(results.values())))} seeds | validation rows | test rows |")
    print("|---|---|---|")
    for name, losses in results.items():
        held, test = np.array(losses).T
        print(f"| {name} | {held.mean():.4f} ± {held.std():.4f} | {test.mean():.4f} ± {test.std():.4f} |")


if __name__ == "__main__":
    main()
