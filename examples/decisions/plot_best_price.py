"""
The best price, and a proof that none is better
===============================================

*Which price and which advertising earn most?* ``minimize`` searches a fitted model under constraints. Beside the best
row it returns a bound that no row can beat: you know how much is left on the table.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak.optimize import column, minimize, predicted

rng = np.random.default_rng(0)
rows = 2000
weeks = pd.DataFrame(
    {
        "price": rng.uniform(10, 60, rows),
        "tv": rng.uniform(0, 100, rows),
        "season": rng.choice(["summer", "winter"], rows),
    }
)
pull = 3 + 0.25 * np.sqrt(weeks["tv"]) + 0.3 * (weeks["season"] == "summer") - weeks["price"] / 25
sold = rng.poisson(np.exp(pull))
demand = SpectralRegressor("poisson", monotonic_cst={"price": -1, "tv": 1}, effort="fast", random_state=0)
demand.fit(weeks, sold)

# %%
# A unit costs 8 to make. Profit is an expression of columns and of what the model predicts:
profit = (column("price") - 8) * predicted(demand) - 2 * column("tv")
best = minimize(
    profit, free=["price", "tv"], fixed={"season": "summer"}, constraints="tv <= 80", maximize=True, gap=0.002
)
print(best)

# %%
# Profit along the price, at the best spending and at two others. No point of any such curve is above the dotted line.
price = np.linspace(10, 60, 200)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for tv in (best.chosen["tv"], 40.0, 0.0):
    line = pd.DataFrame({"price": price, "tv": tv, "season": "summer"})
    ax.plot(price, (price - 8) * demand.predict(line) - 2 * tv, label=f"{tv:.0f} for television")
ax.plot(best.chosen["price"], best.value, "o", color="C3", label="best row found")
ax.axhline(best.bound, color="C3", linestyle=":", label="proven: no row is above")
ax.set(xlabel="price in euros", ylabel="profit a week in euros", title="Profit in summer, at most 80 for television")
ax.set_ylim(0, 2000)
ax.legend(frameon=False, ncols=2, loc="upper right")
plt.show()

# %%
# **Caveat.** The proof is about the model. If prices were never varied at random, the demand it learnt may be that of
# other reasons, such as the weather: the best price of a wrong model is a wrong price.
#
# **Read on:** :doc:`/guide/decide` has mixtures, whole numbers, several models; :doc:`/guide/bounds` says how the
# proof works.
