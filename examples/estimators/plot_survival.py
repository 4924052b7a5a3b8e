"""
When will it fail: SpectralSurvival
===================================

*Which machines will fail within a year?* Most of them have not failed yet. A model of times learns from these, too: its
curves never rise, and a column that may only do harm does so at every time.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralSurvival

rng = np.random.default_rng(0)
machines = pd.DataFrame({"load": rng.uniform(0.2, 1, 500), "heat": rng.uniform(20, 90, 500)})
months = 60 * rng.weibull(1.6, 500) * np.exp(-1.2 * machines["load"] - 0.02 * machines["heat"])
watched = rng.uniform(1, 36, 500)
y = np.minimum(months, watched), months <= watched  # the time, and whether it is that of a failure
print(f"{y[1].sum()} of {len(y[1])} machines have failed so far")

model = SpectralSurvival("cloglog", monotonic_cst={"load": 1, "heat": 1}, effort="fast", random_state=0)
model.fit(machines, y)
print(model.certify())

# %%
# Three machines, and how many of all were still watched at each time. After the last failure, curves are dotted:
# nothing was observed there.
some = pd.DataFrame({"load": [0.3, 0.6, 0.95], "heat": [30.0, 50.0, 85.0]})
ax = model.plot_survival(some, y, names=["idle and cool", "usual", "busy and hot"], until=30)
ax.set_xlabel("months")
plt.show()

# %%
# Medians, the next year of a machine that has lasted one, and the mean time without failure in two years:
print("median months:", model.predict_quantile(some).round(1))
print("another year, after one:", model.predict_survival_function(some, 24, conditional_after=12)[:, 0].round(2))
print("months without failure, of 24:", model.restricted_mean(some, horizon=24).round(1))

# %%
# At a horizon it is a classifier, with all that reads one.
year = model.at(12)
print(year.explain_local(some.iloc[[2]]))

# %%
# **Caveat.** Censoring must say nothing about failures beyond what the columns say: machines that are taken away
# because they rattle break that.
#
# **Read on:** :doc:`/guide/when` has intervals, late entry and competing causes.
