"""
Which comes first, and when: SpectralCompetingRisks
===================================================

*Will a customer leave, or first buy the larger plan?* Whoever upgrades can no longer lapse from the small plan, so the
two cannot be modelled apart. Each cause has its own hazard, and their incidences add up to everything that happens.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralCompetingRisks, SpectralSurvival

rng = np.random.default_rng(0)
customers = pd.DataFrame({"use": rng.uniform(0, 1, 500), "complaints": rng.integers(0, 4, 500)})
lapse = 30 * rng.weibull(1.2, 500) * np.exp(1.2 * customers["use"] - 0.4 * customers["complaints"])
upgrade = 40 * rng.weibull(1.8, 500) * np.exp(-1.5 * customers["use"])
watched = rng.uniform(1, 24, 500)
times = np.column_stack([watched, lapse, upgrade])
y = times.min(axis=1), times.argmin(axis=1)  # 0: still there, 1: lapsed, 2: upgraded

one = SpectralSurvival("cloglog", effort="fast", random_state=0)
model = SpectralCompetingRisks(one).fit(customers, y)

# %%
# What happens to a customer who uses the plan a lot, and to one who complains: the three parts fill every month.
some = pd.DataFrame({"use": [0.9, 0.2], "complaints": [0, 3]})
months = np.linspace(0, 24, 100)
incidence = model.predict_cumulative_incidence(some, months)
survival = model.predict_survival_function(some, months)
print("largest gap to 1:", f"{np.abs(incidence.sum(axis=1) + survival - 1).max():.0e}")

figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for ax, parts, alive, title in zip(axes, incidence, survival, ["much use", "complaints"], strict=True):
    ax.stackplot(months, parts[0], alive, parts[1], labels=["lapsed", "still there", "upgraded"])
    ax.set(xlabel="months", title=title, xlim=(0, 24), ylim=(0, 1))
axes[0].set_ylabel("probability")
axes[0].legend(loc="center left")
plt.show()

# %%
# Each cause is a model of its own, which says what its hazard depends on.
print(model.models_[1].explain_global(customers, horizon=12))

# %%
# **Caveat.** The hazard of one cause says nothing about a world without the other: that would need the two to be
# independent given the columns.
#
# **Read on:** :doc:`/guide/when` has the formulas.
