"""
Limits of slopes: no cliff anywhere
===================================

*By how much may the price change if the flat is one square metre larger?* ``MaxSlope("area", 20)`` answers it for every
flat: by at most 20 euros for each square metre. A curve that few rows have drawn can have no cliffs then.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s

rng = np.random.default_rng(2)
rows = 90
flats = pd.DataFrame({"area": rng.uniform(20, 120, rows), "floor": rng.integers(0, 6, rows).astype(float)})
rent = 250 + 11 * flats["area"] + 15 * flats["floor"] + rng.normal(0, 150, rows)

models = {"free": SpectralRegressor(effort="fast", random_state=0).fit(flats, rent)}
for limit in (20, 12):
    model = SpectralRegressor(constraints=[s.MaxSlope("area", limit)], effort="fast", random_state=0)
    models[f"MaxSlope('area', {limit})"] = model.fit(flats, rent)

# %%
# The steepest step that was seen, over pairs of flats that differ by a tenth of a square metre, and what is proven:
near = flats.sample(20_000, replace=True, random_state=0)
far = near.assign(area=near["area"] + 0.1)
for name, model in models.items():
    steepest = np.abs(model.predict(far) - model.predict(near)).max() / 0.1
    proven = model.explain_global(flats)["area"].per_unit
    print(f"{name:<22} seen {steepest:6.2f}   proven {proven:6.2f} euros for each m²")

# %%
area = pd.DataFrame({"area": np.linspace(20, 120, 300), "floor": 2.0})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.scatter(flats["area"], rent, s=12, color="0.7")
for name, model in models.items():
    ax.plot(area["area"], model.predict(area), linewidth=2, label=name)
ax.set(xlabel="area in m²", ylabel="rent in euros a month", title="Flats on the second floor")
ax.legend(frameon=False)
plt.show()

# %%
# One limit for every column of numbers is ``MaxSlope(None, limit)``; a dict is a direction, such as an area that grows
# while the floor falls.
both = SpectralRegressor(constraints=[s.MaxSlope({"area": 10, "floor": -1}, 150)], effort="fast", random_state=0)
print([claim.statement for claim in both.fit(flats, rent).certify().claims if claim.requested])

# %%
# **Caveat.** A limit has a unit: that of the raw score for each unit of the column. Behind a log link it is a share:
# 0.01 is about one percent. A limit that is too small is a line that is too flat.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/guarantees`.
