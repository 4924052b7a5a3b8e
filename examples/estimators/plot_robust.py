"""
Outliers: absolute error and Huber
==================================

*What if some targets are simply wrong?* In this table of delivery times every fifteenth one is in seconds instead of
minutes. A mean follows them. The losses ``"absolute_error"`` and ``"huber"`` do not.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 600
trips = pd.DataFrame({"km": rng.uniform(1, 20, rows), "rain": rng.choice(["dry", "wet"], rows)})
truth = 8 + 2.2 * trips["km"] + 6 * (trips["rain"] == "wet")
minutes = truth + rng.normal(0, 3, rows)
wrong = np.arange(rows) % 15 == 0
minutes[wrong] *= 60

models = {}
for loss in ("squared_error", "huber", "absolute_error"):
    models[loss] = SpectralRegressor(loss, monotonic_cst={"km": 1}, effort="fast", random_state=0).fit(trips, minutes)
    off = np.abs(models[loss].predict(trips) - truth).mean()
    print(f"{loss:<15} off the truth by {off:6.1f} minutes in the mean")

# %%
# The squared error leaves the picture at once.
km = pd.DataFrame({"km": np.linspace(1, 20, 200), "rain": "dry"})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.scatter(trips["km"], minutes, s=6, color="0.7", label="deliveries (wrong ones are above)")
for loss, model in models.items():
    ax.plot(km["km"], model.predict(km), linewidth=2, label=loss)
ax.set(xlabel="distance in km", ylabel="minutes", ylim=(0, 180), title="One target in fifteen is 60 times too large")
ax.legend(frameon=False, loc="upper right")
plt.show()

# %%
# Huber squares small errors and takes the absolute value of large ones, so that it is nearly as precise as the mean
# where the noise is well-behaved.
#
# **Caveat.** Both estimate something like the median. Where large targets are rare but *right*, as the costs of
# claims, a median is too low: there you want the mean.
#
# **Read on:** :doc:`/guide/estimators`.
