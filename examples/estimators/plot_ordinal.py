"""
Classes in an order: SpectralOrdinalClassifier
==============================================

*Which rating will a company get: C, B, A or AA?* Ratings have an order, and the model knows it: a larger debt never
makes a better rating more probable, at any cut between two ratings.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralOrdinalClassifier

rng = np.random.default_rng(0)
names = np.array(["C", "B", "A", "AA"])
firms = pd.DataFrame(
    {
        "debt_ratio": rng.uniform(0, 1, 700),
        "margin": rng.normal(8, 6, 700),
        "sector": rng.choice(["retail", "energy", "software"], 700),
    }
)
strength = -4 * firms["debt_ratio"] + 0.15 * firms["margin"] + 0.5 * (firms["sector"] == "software")
rating = np.digitize(strength + rng.logistic(0, 0.5, 700), [-2, -0.7, 0.6])  # 0 is C, 3 is AA

# %%
# The order is that of the sorted labels, so ratings are numbers here.
model = SpectralOrdinalClassifier(monotonic_cst={"debt_ratio": -1, "margin": 1}, effort="fast", random_state=0)
model.fit(firms, rating)
example = firms.iloc[:4].assign(rating=names[rating[:4]], predicted=names[model.predict(firms.iloc[:4])])
example.join(pd.DataFrame(model.predict_proba(firms.iloc[:4]).round(2), columns=names))

# %%
# The borders between the shades are P(rating is at least B, A, AA). Each of them falls with the debt, and they never
# cross.
debt = np.linspace(0, 1, 200)
firm = pd.DataFrame({"debt_ratio": debt, "margin": 8.0, "sector": "retail"})
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
shades = plt.get_cmap("Blues")(np.linspace(0.9, 0.15, 4))
ax.stackplot(debt, model.predict_proba(firm).T[::-1], labels=names[::-1], colors=shades)
ax.set(xlabel="debt ratio", ylabel="probability", xlim=(0, 1), ylim=(0, 1), title="A retailer with a margin of 8 %")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, title="rating")
plt.show()

# %%
# **Caveat.** The probability of a rating in the middle may rise and fall: only "at least this rating" is monotone.
# And ``predict`` gives the median class, which never gets better with more debt, not the most probable one.
#
# **Read on:** :doc:`/guide/estimators`.
