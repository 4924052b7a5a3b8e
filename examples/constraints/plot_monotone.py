"""
Monotone columns: more never means less
=======================================

*Can a flat be cheaper because it is nearer to the station?* Without a constraint, yes: the model follows noise. With
``monotonic_cst={"distance": -1}`` no, for any flat whatsoever, and the certificate proves it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(1)
rows = 250
flats = pd.DataFrame(
    {
        "area": rng.uniform(20, 120, rows),
        "distance": rng.uniform(0, 10, rows),  # to the station, in km
        "town": rng.choice(["Bonn", "Cologne", "Trier"], rows),
    }
)
rent = 280 + 9 * flats["area"] - 20 * flats["distance"] + 120 * (flats["town"] == "Cologne") + rng.normal(0, 130, rows)

free = SpectralRegressor(effort="fast", random_state=0).fit(flats, rent)
monotone = SpectralRegressor(monotonic_cst={"area": 1, "distance": -1}, effort="fast", random_state=0).fit(flats, rent)

# %%
# Five thousand pairs of flats that differ by at most two kilometres, and in nothing else:
near = flats.sample(5000, replace=True, random_state=0)
far = near.assign(distance=near["distance"] + rng.uniform(0, 2, 5000))
for name, model in {"free": free, "monotone": monotone}.items():
    cheaper = int((model.predict(near) < model.predict(far)).sum())
    print(f"{name:<9} the nearer flat is cheaper in {cheaper} of 5,000 pairs")

# %%
# Counting is not a proof. The certificate is one: it holds for all flats, also those that nobody has listed yet.
for claim in monotone.certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
distance = np.linspace(0, 10, 300)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, {"free": free, "monotone": monotone}.items(), strict=True):
    ax.scatter(flats["distance"], rent, s=8, color="0.75")
    for town in ("Bonn", "Cologne", "Trier"):
        rows = pd.DataFrame({"area": 70.0, "distance": distance, "town": town})
        ax.plot(distance, model.predict(rows), linewidth=2, label=town)
    ax.set(xlabel="distance to the station in km", title=name)
axes[0].set_ylabel("rent in euros a month")
axes[0].legend(frameon=False, title="70 m² in", loc="upper right")
plt.show()

# %%
# **Caveat.** A constraint that is wrong costs accuracy. Ask whether the world is monotone in this column *with all
# others unchanged*: next to the rails a flat may well be cheaper.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/column-constraints`, :doc:`/guide/guarantees`.
