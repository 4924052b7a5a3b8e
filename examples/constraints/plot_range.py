"""
Ranges of predictions: no customer pays less than nothing
=========================================================

*Can a demand be negative, or a filling level above 100 %?* ``OutputRange(0, 100)`` promises that no row, seen or
unseen, is predicted outside of the range, however far its cells are from those of training.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s
from lambdak.optimize import minimize

rng = np.random.default_rng(0)
rows = 200
tanks = pd.DataFrame({"rain": rng.gamma(2.0, 8.0, rows), "days": rng.uniform(0, 30, rows)})  # mm, since it was emptied
level = np.clip(2.2 * tanks["rain"] + 1.5 * tanks["days"] - 20 + rng.normal(0, 8, rows), 0, 100)  # percent

free = SpectralRegressor(effort="fast", random_state=0).fit(tanks, level)
known = [s.OutputRange(0, 100), s.Rising("rain"), s.Rising("days")]
ranged = SpectralRegressor(constraints=known, effort="fast", random_state=0).fit(tanks, level)
for claim in ranged.certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
# Rows that nobody has seen yet:
extreme = pd.DataFrame({"rain": rng.uniform(-50, 500, 20_000), "days": rng.uniform(-30, 300, 20_000)})
for name, model in {"free": free, "OutputRange(0, 100)": ranged}.items():
    predicted = model.predict(extreme)
    print(f"{name:<20} from {predicted.min():7.2f} to {predicted.max():7.2f}")

# %%
# The optimiser knows the range: it need not search on once an end of it is reached.
best = minimize(ranged, ["rain", "days"], maximize=True)
print(f"highest level {best.value:.1f}, proven: none above {best.bound:.1f}")

# %%
rain = pd.DataFrame({"rain": np.linspace(0, 70, 300), "days": 15.0})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
near = np.abs(tanks["days"] - 15) < 8
ax.scatter(tanks["rain"][near], level[near], s=12, color="0.7")
for name, model in {"free": free, "OutputRange(0, 100), rising": ranged}.items():
    ax.plot(rain["rain"], model.predict(rain), linewidth=2, label=name)
for end in (0, 100):
    ax.axhline(end, color="black", linewidth=0.8, linestyle=":")
ax.set(xlabel="rain in mm", ylabel="level in percent", title="15 days after the tank was emptied")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** Outside of the range a prediction becomes its end, and raw scores stay as they are: what is said of slopes
# and influence is about raw scores. A range from the data is no knowledge: the next flood may be higher.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/decide`.
