"""
A cap on one column
===================

*How much may the postcode change a price?* ``max_influence={"postcode": 30}`` caps it at 30 euros: by construction,
for every customer, in the fit itself. The other columns make the best of it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 1000
customers = pd.DataFrame(
    {
        "age": rng.integers(18, 80, rows),
        "mileage": rng.uniform(2, 40, rows),  # thousand km a year
        "postcode": rng.choice(["north", "south", "east", "west"], rows),
    }
)
level = customers["postcode"].map({"north": 0, "south": 60, "east": 140, "west": 20})
premium = 300 + 6 * customers["mileage"] + level * (customers["mileage"] / 20) + rng.normal(0, 40, rows)

caps = [150, 60, 30, 10]
models = {"none": SpectralRegressor(effort="fast", random_state=0).fit(customers, premium)}
for cap in caps:
    model = SpectralRegressor(max_influence={"postcode": cap}, effort="fast", random_state=0)
    models[str(cap)] = model.fit(customers, premium)

# %%
# What moving to another postcode does at most: as observed, over all customers and all moves, and as proven.
found = []
for cap, model in models.items():
    moved = [model.predict(customers.assign(postcode=name)) for name in ("north", "south", "east", "west")]
    found.append(
        {
            "cap": cap,
            "largest move": np.ptp(moved, axis=0).max().round(1),
            "proven bound": model.feature_strengths_[2].round(1),
            "R²": round(model.score(customers, premium), 3),
        }
    )
found = pd.DataFrame(found)
print(found.to_string(index=False))

# %%
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
place = np.arange(len(found))
ax.bar(place, found["proven bound"], 0.6, color="C0", alpha=0.35, label="proven: no move does more")
ax.plot(place, found["largest move"], "o", color="C3", label="largest move that was seen")
for x, bound, r2 in zip(place, found["proven bound"], found["R²"], strict=True):
    ax.annotate(f"R² {r2:.2f}", (x, bound), (0, 8), textcoords="offset points", ha="center")
ax.margins(y=0.12)
ax.set_xticks(place, found["cap"])
ax.set(xlabel="cap on the postcode in euros", ylabel="euros", title="What the postcode can do, and what the cap costs")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** Caps are in units of the raw score: euros here, but log-odds for a classifier, and logarithms for
# poisson, gamma and tweedie, where 0.1 is about 10 %. And a cap is about this column alone: what it may no longer
# say, others may say for it.
#
# **Read on:** :doc:`/guide/column-constraints`, and the next example for groups of columns.
