"""
Valleys and peaks: a column that turns once
===========================================

*Young and old drivers cost more; between them there is an age at which they cost least.* ``Valley("age")`` promises one
turn, for every row: costs never rise before it and never fall after it. ``Peak`` is the mirror image.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s

rng = np.random.default_rng(0)
rows = 200
drivers = pd.DataFrame({"age": rng.uniform(18, 85, rows), "power": rng.uniform(40, 200, rows)})
truth = 250 + 0.35 * (drivers["age"] - 48) ** 2 + 1.5 * drivers["power"]
cost = truth + rng.normal(0, 120, rows)

free = SpectralRegressor(effort="fast", random_state=0).fit(drivers, cost)
known = SpectralRegressor(constraints=[s.Valley("age", at=48)], effort="fast", random_state=0).fit(drivers, cost)
chosen = SpectralRegressor(constraints=[s.Valley("age")], effort="fast", random_state=0).fit(drivers, cost)

# %%
# Without ``at`` training chooses the turn, and the certificate names it.
for model in (known, chosen):
    for claim in model.certify().claims:
        if claim.requested:
            print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
age = pd.DataFrame({"age": np.linspace(18, 85, 300), "power": 100.0})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
near = np.abs(drivers["power"] - 100) < 40
ax.scatter(drivers["age"][near], cost[near], s=12, color="0.7", label="drivers of cars with 60 to 140 hp")
for name, model in {"free": free, "Valley('age', at=48)": known, "Valley('age')": chosen}.items():
    ax.plot(age["age"], model.predict(age), linewidth=2, label=name)
ax.plot(age["age"], 250 + 0.35 * (age["age"] - 48) ** 2 + 150, "--", color="black", label="truth")
ax.set(xlabel="age", ylabel="cost in euros a year", title="A car of 100 hp")
ax.legend(frameon=False)
plt.show()

# %%
# Explanations mark what was promised, and the turn.
known.explain_global(drivers)["age"].plot()
plt.show()

# %%
# ``Peak``: ice cream sells best on warm days, not on the hottest ones.
days = pd.DataFrame({"temperature": rng.uniform(-5, 40, 150), "price": rng.uniform(1, 3, 150)})
sold = 400 - 0.9 * (days["temperature"] - 27) ** 2 - 40 * days["price"] + rng.normal(0, 60, 150)
peak = SpectralRegressor(constraints=[s.Peak("temperature")], effort="fast", random_state=0).fit(days, sold)
print([claim.statement for claim in peak.certify().claims if claim.requested])

# %%
# **Caveat.** The turn is the same for all rows: if the best age depends on the car, do not promise a valley. A turn
# outside of the training range means that the column only rises, or only falls.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/decide`.
