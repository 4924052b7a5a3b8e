"""
Directions: one column against another
======================================

*Does it ever hurt to pay a thousand euros oneself, and borrow less?* ``RisingAlong({"own_funds": 1, "loan": -1})``
promises that it does not. ``Dominates`` compares two columns: a unit of one counts at least as much as one of the
other.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor
from lambdak import shapes as s

rng = np.random.default_rng(0)
rows = 120
offers = pd.DataFrame({"own_funds": rng.uniform(0, 100, rows), "loan": rng.uniform(50, 300, rows)})  # thousand euros
rating = 2 * np.sqrt(offers["own_funds"]) - 0.03 * offers["loan"] + rng.normal(0, 3, rows)

free = SpectralRegressor(effort="fast", random_state=0).fit(offers, rating)
along = [s.RisingAlong({"own_funds": 1, "loan": -1})]
known = SpectralRegressor(constraints=along, effort="fast", random_state=0).fit(offers, rating)
for claim in known.certify().claims:
    if claim.requested:
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
# Ten thousand customers who pay up to 20 thousand euros more themselves, and borrow so much less:
before = offers.sample(10_000, replace=True, random_state=0)
shift = rng.uniform(0, 20, 10_000)
after = before.assign(own_funds=before["own_funds"] + shift, loan=before["loan"] - shift)
for name, model in {"free": free, "RisingAlong": known}.items():
    print(f"{name:<12} {int((model.predict(after) < model.predict(before)).sum()):>4} of 10,000 are rated lower")

# %%
share = np.linspace(0, 100, 200)
offer = pd.DataFrame({"own_funds": share, "loan": 200 - share})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, model in {"free": free, "RisingAlong": known}.items():
    ax.plot(share, model.predict(offer), linewidth=2, label=name)
ax.plot(share, 2 * np.sqrt(share) - 0.03 * (200 - share), "--", color="black", label="truth")
ax.set(xlabel="own funds in thousand euros", ylabel="rating", title="A house of 200 thousand euros")
ax.legend(frameon=False)
plt.show()

# %%
# Unsecured debt is at least as bad as secured debt, euro by euro:
debts = pd.DataFrame({"unsecured": rng.gamma(2.0, 5.0, 250), "secured": rng.gamma(2.0, 10.0, 250)})
risk = 0.5 * debts["unsecured"] + 0.1 * debts["secured"] + rng.normal(0, 3, 250)
ordered = [s.Dominates("unsecured", "secured"), s.Rising("secured")]
dominant = SpectralRegressor(constraints=ordered, effort="fast", random_state=0).fit(debts, risk)
print([claim.statement for claim in dominant.certify().claims if claim.requested])

# %%
# **Caveat.** It is a promise about units: thousand euros against thousand euros. Columns with other units need other
# weights. All columns of a direction continue straight beyond the training range.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/scorecard`.
