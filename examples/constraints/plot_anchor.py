"""
A base level: where a column adds nothing
=========================================

*What does a customer without claims pay?* A tariff has a base, and every column says what it adds to that. With
``Anchored("claims", 0)`` the column adds nothing at all at zero, exactly, in every row.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s

rng = np.random.default_rng(0)
rows = 500
customers = pd.DataFrame(
    {
        "claims": rng.poisson(0.8, rows).astype(float),
        "mileage": rng.gamma(3.0, 5.0, rows),
        "region": rng.choice(["north", "south", "east"], rows),
    }
)
cost = 200 + 90 * customers["claims"] + 8 * customers["mileage"] + 50 * (customers["region"] == "south")
cost += rng.normal(0, 60, rows)

base = [s.Anchored("claims", 0), s.Anchored("region", "north")]
anchored = SpectralRegressor(constraints=base, effort="fast", random_state=0).fit(customers, cost)
for claim in anchored.certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
# The matrices of the anchored cells are zero, bit by bit: in the base region, without claims, the prediction is the
# start and what the mileage says.
effect = anchored.explain_global(customers)["claims"]
print(effect)

# %%
effect.plot()
plt.show()

# %%
claims = pd.DataFrame({"claims": np.arange(0.0, 6.0), "mileage": 15.0, "region": "north"})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for region in ("north", "south", "east"):
    ax.plot(claims["claims"], anchored.predict(claims.assign(region=region)), "o-", label=region)
ax.set(xlabel="claims in five years", ylabel="cost in euros a year", title="15,000 km a year; base: no claims, north")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** An anchor says where a column is counted from, not that the base is cheap: what all other columns say
# there is free. The cell must lie within the training range, or be a level that training has seen.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/factor-tables`.
