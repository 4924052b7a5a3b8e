"""
One quantile: how much to keep in stock
=======================================

*How many loaves should a bakery bake?* One too few loses 3 euros, one too many 1 euro. The best number is the
quantile 3 / (3 + 1) = 0.75 of the demand, and ``loss="quantile"`` predicts it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import mean_pinball_loss

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 2000
days = pd.DataFrame(
    {
        "temperature": rng.uniform(-5, 32, rows),
        "weekday": rng.choice(["Mon-Fri", "Saturday", "Sunday"], rows, p=[5 / 7, 1 / 7, 1 / 7]),
    }
)
mean = (140 + 90 * (days["weekday"] == "Saturday")) * (1.2 - 0.02 * np.abs(days["temperature"] - 15))
demand = rng.negative_binomial(25, 25 / (25 + mean))

middle = SpectralRegressor("squared_error", effort="fast", random_state=0).fit(days, demand)
stock = SpectralRegressor("quantile", quantile=0.75, effort="fast", random_state=0).fit(days, demand)

# %%
# What each rule costs a day, and how often the shelf is empty before the evening:
for name, model in {"bake the mean": middle, "bake the quantile": stock}.items():
    baked = model.predict(days)
    cost = 3 * np.maximum(demand - baked, 0) + 1 * np.maximum(baked - demand, 0)
    print(f"{name:<18} {cost.mean():6.2f} euros a day, sold out on {(demand > baked).mean():.0%} of the days")
print(f"the quantile loss is this cost over 4: {mean_pinball_loss(demand, stock.predict(days), alpha=0.75):.2f}")

# %%
# On Saturdays more is sold, and the quantile is further above the mean.
warm = pd.DataFrame({"temperature": np.linspace(-5, 32, 200), "weekday": "Saturday"})
saturday = days["weekday"] == "Saturday"
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.scatter(days["temperature"][saturday], demand[saturday], s=12, color="0.6", label="demand on Saturdays")
ax.plot(warm["temperature"], middle.predict(warm), "--", label="mean")
ax.plot(warm["temperature"], stock.predict(warm), linewidth=2, label="quantile 0.75: bake this many")
ax.set(xlabel="temperature in °C", ylabel="loaves", title="What to bake on a Saturday")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** Two such models, one for 0.25 and one for 0.75, may cross. If you want several quantiles, let
# :class:`~lambdak.SpectralQuantileRegressor` fit them together.
#
# **Read on:** :doc:`/guide/estimators`.
