"""
Amounts that are positive: the gamma loss
=========================================

*How much will a claim cost?* Amounts are positive and skewed, and large ones vary more. The gamma loss expects that:
what counts is how many *percent* a prediction is off. The log link keeps every prediction positive.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 1500
claims = pd.DataFrame(
    {
        "value": rng.lognormal(9.6, 0.5, rows).round(),  # of the car, in euros
        "speed": rng.uniform(10, 130, rows),  # km/h
        "garage": rng.choice(["partner", "other"], rows),
    }
)
mean = 300 + 0.06 * claims["value"] * (claims["speed"] / 60) ** 1.5 * np.where(claims["garage"] == "other", 1.25, 1)
cost = rng.gamma(2.0, mean / 2.0)

gamma = SpectralRegressor("gamma", monotonic_cst={"value": 1, "speed": 1}, effort="fast", random_state=0)
gamma.fit(claims, cost)
squared = SpectralRegressor(effort="fast", random_state=0).fit(claims, cost)

# %%
# How many percent are the predictions off the true mean, in the median? And does one ever say that a claim costs less
# than nothing?
anywhere = claims.assign(speed=10.0, value=claims["value"].min())
for name, model in {"squared error": squared, "gamma": gamma}.items():
    off = np.median(np.abs(model.predict(claims) / mean - 1))
    print(f"{name:<14} off by {off:.1%}, lowest prediction {model.predict(anywhere).min():.0f} euros")

# %%
# The dashed curve is the mean that the amounts were drawn from. On the scale of percents it is the small claims where
# the squared error is off.
speed = np.linspace(10, 130, 200)
car = pd.DataFrame({"value": 15_000.0, "speed": speed, "garage": "other"})
figure, ax = plt.subplots(figsize=(7, 4.3), layout="constrained")
other = claims["garage"] == "other"
ax.scatter(claims["speed"][other], cost[other], s=6, color="0.7", label="claims (cars of any value)")
ax.plot(speed, gamma.predict(car), label="gamma")
ax.plot(speed, squared.predict(car), label="squared error")
ax.plot(speed, 300 + 0.06 * 15_000 * (speed / 60) ** 1.5 * 1.25, "--", color="black", label="true mean")
ax.set(
    xlabel="speed in km/h",
    ylabel="cost in euros",
    yscale="log",
    ylim=(50, 20_000),
    title="A car of 15,000 euros, other garage",
)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# **Caveat.** An amount of zero is refused: the gamma distribution has none. For totals that may be zero, see the
# Tweedie loss.
#
# **Read on:** :doc:`/guide/estimators`.
