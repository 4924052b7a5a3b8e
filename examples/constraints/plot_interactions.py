"""
Which columns may interact
==========================

*Can each effect be drawn as one curve?* A sum of small functions is easier to read and to defend than a function of
everything. ``interaction_cst`` says which columns may act together, in the words of scikit-learn's boosted trees.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 1200
bikes = pd.DataFrame(
    {
        "hour": rng.uniform(0, 24, rows),
        "day": rng.choice(["working day", "weekend"], rows),
        "temperature": rng.uniform(-5, 35, rows),
        "wind": rng.uniform(0, 50, rows),
    }
)
rush = np.exp(-((bikes["hour"] - 8) ** 2) / 4) + np.exp(-((bikes["hour"] - 18) ** 2) / 6)
noon = np.exp(-((bikes["hour"] - 14) ** 2) / 18)
rides = 200 * np.where(bikes["day"] == "weekend", noon, rush) + 6 * bikes["temperature"] - 2 * bikes["wind"]
rides = rides + rng.normal(0, 15, rows)

settings = {
    "no interactions": "no_interactions",
    "hour with day only": [["hour", "day"], ["temperature"], ["wind"]],
    "everything with everything": None,
}
X_train, X_test, y_train, y_test = train_test_split(bikes, rides, random_state=0)
models = {}
for name, allowed in settings.items():
    models[name] = SpectralRegressor(interaction_cst=allowed, effort="fast", random_state=0).fit(X_train, y_train)
    print(f"{name:<27} R² on test rows {models[name].score(X_test, y_test):.3f}")

# %%
# What does the wind cost? Where it interacts with nothing, the answer is one number for every hour and temperature.
for name in ("hour with day only", "everything with everything"):
    model = models[name]
    change = model.predict(X_test.assign(wind=50.0)) - model.predict(X_test.assign(wind=0.0))
    print(f"{name:<27} from {change.min():.1f} to {change.max():.1f} rides")

# %%
# The one interaction that was allowed:
hour = np.linspace(0, 24, 200)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, layout="constrained")
for ax, name in zip(axes, ("no interactions", "hour with day only"), strict=True):
    for day in ("working day", "weekend"):
        rows = pd.DataFrame({"hour": hour, "day": day, "temperature": 15.0, "wind": 10.0})
        ax.plot(hour, models[name].predict(rows), label=day)
    ax.set(xlabel="hour of the day", title=name, xticks=range(0, 25, 6))
axes[0].set_ylabel("rides an hour")
axes[0].legend(frameon=False)
plt.show()

# %%
# **Caveat.** The sum is that of raw scores. Behind a link (probabilities, rates) effects multiply or bend.
#
# **Read on:** :doc:`/guide/column-constraints`; :doc:`/guide/constraints` says why it is exact, and what it costs.
