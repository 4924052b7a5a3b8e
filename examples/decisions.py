"""Decisions with a proof, as pictures: a price under a budget, a mixture, a loan's recourse, and how bounds close.

usage: python examples/decisions.py [--pictures docs/pictures]

The tables are simulated as on the guide's page "Decide with a model". Needs pandas and matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lambdak import SpectralClassifier, SpectralRegressor
from lambdak.explain.plots import BLUE, GREY, RED, save, side_by_side
from lambdak.optimize import Optimum, column, minimize, predicted

CLEAN = ["top", "right"]


def weeks(rng: np.random.Generator, rows: int = 3000) -> tuple[pd.DataFrame, np.ndarray]:
    """Prices, money spent on two channels, seasons, and what was sold."""
    table = pd.DataFrame({
        "price": rng.uniform(10, 60, rows),
        "tv": rng.uniform(0, 100, rows),
        "radio": rng.uniform(0, 50, rows),
        "season": rng.choice(["spring", "summer", "autumn", "winter"], rows),
    })  # fmt: skip
    pull = 3 + 0.25 * np.sqrt(table["tv"]) + 0.12 * np.sqrt(table["radio"]) + 0.3 * (table["season"] == "summer")
    return table, rng.poisson(np.exp(pull - table["price"] / 25))


def draw_price(folder: Path) -> Optimum:
    """Profit along the price, at the best and at other spendings, and the bounds over time."""
    X, sold = weeks(np.random.default_rng(0))
    demand = SpectralRegressor("poisson", monotonic_cst={"price": -1, "tv": 1, "radio": 1}, random_state=0)
    demand.fit(X, sold)
    profit = (column("price") - 8) * predicted(demand) - column("tv") - column("radio")
    best = minimize(
        profit, ["price", "tv", "radio"], fixed={"season": "summer"}, constraints="tv + radio <= 90", maximize=True,
        gap=1e-3,
    )  # fmt: skip
    left, right = side_by_side(2, (5.2, 4.0))
    prices = np.linspace(10, 60, 200)
    spendings = {
        "best split": (best.chosen["tv"], best.chosen["radio"]),
        "all radio": (40.0, 50.0),
        "nothing": (0.0, 0.0),
    }
    for (name, (tv, radio)), colour in zip(spendings.items(), (BLUE, RED, GREY), strict=True):
        rows = pd.DataFrame({"price": prices, "tv": tv, "radio": radio, "season": "summer"})
        left.plot(prices, (prices - 8) * demand.predict(rows) - tv - radio, color=colour, label=name)
    left.axhline(best.bound, color=RED, linestyle=":", linewidth=1)
    left.annotate("no row is above this: proven", (11, best.bound), (0, 4), textcoords="offset points", fontsize=9)
    left.plot(best.chosen["price"], best.value, "o", color=BLUE)
    left.set(xlabel="price", ylabel="profit", title="Profit under a budget of 90")
    left.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.55))
    left.spines[CLEAN].set_visible(False)
    best.plot(right)
    save(left, folder / "decide-price.png")
    return best


def mixtures(rng: np.random.Generator, rows: int = 2000) -> tuple[pd.DataFrame, np.ndarray]:
    """Shares of four ingredients, an age, and a strength."""
    mix = pd.DataFrame(rng.dirichlet([3, 1, 2, 4], rows), columns=["cement", "slag", "water", "sand"])
    mix["age"] = rng.integers(1, 91, rows)
    ratio = mix["water"] / (mix["cement"] + 0.6 * mix["slag"])
    grown = 65 * np.exp(-2 * (ratio - 0.5) ** 2) * (1 - np.exp(-mix["age"] / 20))
    return mix, (grown - 60 * (mix["sand"] - 0.45) ** 2 + rng.normal(0, 1, rows)).to_numpy()


def draw_mixture(folder: Path) -> None:
    """Strength over cement and slag, with the best mixture at several limits of the cost."""
    X, strength = mixtures(np.random.default_rng(0))
    model = SpectralRegressor(monotonic_cst={"age": 1}, random_state=0).fit(X, strength)
    names = ["cement", "slag", "water", "sand"]
    costs = np.array([18.0, 24.0, 30.0, 36.0, 42.0])
    found = [
        minimize(
            model, names, fixed={"age": 28}, maximize=True, gap=5e-3, time_limit=60,
            constraints=["cement + slag + water + sand == 1", f"90*cement + 30*slag + 8*sand <= {cost}"],
        )
        for cost in costs
    ]  # fmt: skip
    left, right = side_by_side(2, (5.2, 4.0))
    left.plot(costs, [own.value for own in found], "o-", color=BLUE, label="best mixture found")
    left.plot(costs, [own.bound for own in found], color=RED, linestyle=":", label="proven bound")
    left.set(xlabel="limit of the cost", ylabel="strength after 28 days", title="What money buys")
    left.legend(frameon=False)
    bottom = np.zeros(len(costs))
    for name, colour in zip(names, (BLUE, GREY, "#56B4E9", "#E8C88A"), strict=True):
        share = np.array([own.chosen[name] for own in found])
        right.bar(costs, share, 4.0, bottom, color=colour, label=name)
        bottom += share
    right.set(xlabel="limit of the cost", ylabel="share", title="The best mixtures")
    right.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.18), fontsize=8)
    for ax in (left, right):
        ax.spines[CLEAN].set_visible(False)
    save(left, folder / "decide-mixture.png")


def people(rng: np.random.Generator, rows: int = 4000) -> tuple[pd.DataFrame, np.ndarray]:
    """Applicants, and whether they repaid."""
    table = pd.DataFrame({
        "income": rng.lognormal(8, 0.5, rows).round(),
        "debt": rng.lognormal(7, 1.0, rows).round(),
        "years": rng.integers(0, 30, rows),
        "age": rng.integers(18, 75, rows),
        "contract": rng.choice(["permanent", "temporary"], rows, p=[0.7, 0.3]),
    })  # fmt: skip
    score = 1.5 * np.log(table["income"] / table["debt"]) + 0.05 * table["years"]
    score += (table["contract"] == "permanent") - 2.0
    return table, np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")


def draw_loan(folder: Path) -> None:
    """The probability over two columns, and the cheapest changes that reach the target."""
    X, repaid = people(np.random.default_rng(0))
    model = SpectralClassifier(monotonic_cst={"income": 1, "debt": -1, "years": 1}, random_state=0).fit(X, repaid)
    person = {"income": 2000, "debt": 1500, "years": 1, "age": 29, "contract": "temporary"}
    found = model.counterfactual(
        pd.DataFrame([person]), (">=", 0.6), ["income", "debt", "years"], directions={"years": "up"}, n=3,
    )  # fmt: skip
    (ax,) = side_by_side(1, (6.4, 4.4))
    incomes, debts = np.linspace(1000, 7000, 120), np.linspace(100, 3000, 120)
    rows = (
        pd.DataFrame([person])
        .loc[np.zeros(120 * 120, int)]
        .assign(income=np.repeat(incomes, 120), debt=np.tile(debts, 120))
    )
    chance = model.predict_proba(rows)[:, 1].reshape(120, 120)
    shades = ax.contourf(incomes, debts, chance.T, np.linspace(0, 1, 11), cmap="RdBu", alpha=0.75)
    ax.contour(incomes, debts, chance.T, [0.6], colors="black", linewidths=1.2)
    ax.figure.colorbar(shades, ax=ax, label="probability of repayment")
    ax.plot(person["income"], person["debt"], "ks")
    for i, change in enumerate(found, 1):
        end = (change.point["income"], change.point["debt"])
        ax.annotate("", end, (person["income"], person["debt"]), arrowprops={"arrowstyle": "->", "lw": 1.5})
        ax.annotate(f" {i}: cost {change.cost:.2f}", end, fontsize=9)
    ax.set(xlabel="income", ylabel="debt", title="The cheapest changes that reach 60 %")
    save(ax, folder / "decide-loan.png")


def draw_bounds(folder: Path) -> None:
    """A prediction along one column, and the concave functions below it on 2, 4 and 8 boxes."""
    from lambdak.model.readout import readouts
    from lambdak.optimize.axes import make_axis
    from lambdak.optimize.relaxation import Boxes, relax
    from lambdak.optimize.scores import restrict

    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.uniform(-3, 3, (3000, 2)), columns=["a", "b"])
    y = np.sin(2 * X["a"]) * np.cos(X["b"]) + 0.3 * X["a"] + rng.normal(0, 0.1, 3000)
    model = SpectralRegressor(random_state=0).fit(X, y).model_
    columns = {own.name: own for own in model.encoder.columns}
    axis = make_axis([columns["a"]], None, False)
    score = restrict(model, readouts(model)[0], [axis], {"b": 0.3})
    x = np.linspace(axis.low, axis.high, 600)
    for ax, count in zip(axes := side_by_side(3, (4.2, 3.6)), (2, 4, 8), strict=True):
        ends = np.linspace(axis.low, axis.high, count + 1)
        boxes = Boxes.between([axis], ends[:-1, None], ends[1:, None])
        found = relax(score, boxes)
        ax.plot(x, score.values(x[:, None]), color=BLUE, label="prediction")
        for vertices, base, part in zip(boxes.vertices[0], found.base, found.parts[0], strict=True):
            ax.plot(vertices, base + part, color=RED, marker=".", markersize=3, label="bound on a box")
        ax.axhline(found.lowest().min(), color=RED, linestyle=":", linewidth=1)
        ax.set(xlabel="a", title=f"{count} boxes")
        ax.spines[CLEAN].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(handles[:2], labels[:2], frameon=False, loc="upper left")
    save(axes[0], folder / "bounds.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default=Path("docs/pictures"))
    folder = parser.parse_args().pictures
    draws: list[Any] = [draw_price, draw_mixture, draw_loan, draw_bounds]
    for draw in draws:
        draw(folder)
        print(f"{draw.__name__}: done", flush=True)


if __name__ == "__main__":
    main()
