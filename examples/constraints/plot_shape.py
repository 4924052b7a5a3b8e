"""
Convex and concave: diminishing returns
=======================================

*Does each further euro of advertising bring less?* If that is known, ``shape="concave"`` makes it a fact of the
model, in all numeric columns together. The answer is smoother, and the best budget can be found exactly.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 120
weeks = pd.DataFrame({"tv": rng.uniform(0, 100, rows), "radio": rng.uniform(0, 60, rows)})
truth = 20 * np.sqrt(weeks["tv"]) + 12 * np.sqrt(weeks["radio"])
sales = truth + rng.normal(0, 40, rows)

free = SpectralRegressor(effort="fast", random_state=0).fit(weeks, sales)
concave = SpectralRegressor(shape="concave", monotonic_cst="increasing", effort="fast", random_state=0)
concave.fit(weeks, sales)
for name, model in {"free": free, "concave": concave}.items():
    error = np.sqrt(np.mean((model.predict(weeks) - truth) ** 2))
    print(f"{name:<8} root mean squared distance from the truth: {error:.1f}")

# %%
# Concave means that the middle of two budgets sells at least the mean of both, wherever they are:
here, there = (
    pd.DataFrame({"tv": rng.uniform(0, 300, 20_000), "radio": rng.uniform(0, 180, 20_000)}) for _ in range(2)
)
middle = concave.predict((here + there) / 2) - (concave.predict(here) + concave.predict(there)) / 2
print("pairs for which it does not:", int((middle < -1e-9).sum()), "of 20,000")

# %%
tv = np.linspace(0, 100, 200)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
near = np.abs(weeks["radio"] - 30) < 10
ax.scatter(weeks["tv"][near], sales[near], s=14, color="0.6", label="weeks with 20 to 40 of radio")
for name, model in {"free": free, "concave": concave}.items():
    ax.plot(tv, model.predict(pd.DataFrame({"tv": tv, "radio": 30.0})), linewidth=2, label=name)
ax.plot(tv, 20 * np.sqrt(tv) + 12 * np.sqrt(30), "--", color="black", label="truth")
ax.set(xlabel="thousand euros for television", ylabel="sales", title="Sales with 30 thousand euros for radio")
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# ``shape="convex"`` is the mirror image, for costs: here each further euro saves less. Both continue straight beyond
# the training range, where other models stay constant.
convex = SpectralRegressor(shape="convex", monotonic_cst="decreasing", effort="fast", random_state=0)
convex.fit(weeks, 400 - sales)
for claim in convex.certify().claims:
    if claim.requested and claim.kind == "convex":
        print("proven:" if claim.proven else "not proven:", claim.statement)

# %%
# **Caveat.** Concave in all numeric columns *together* is more than concave in each: ``tv * radio`` is neither. If it
# does not hold in your world, do not request it.
#
# **Read on:** :doc:`/guide/shapes`, :doc:`/guide/column-constraints`, and :doc:`/guide/decide` for the best budget.
