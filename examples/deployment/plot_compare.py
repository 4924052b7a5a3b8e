"""
Against the current tariff
==========================

*Is the new model better than what we charge now, and who pays more?* ``compare`` puts both on the same rows: paired
differences with intervals, the double lift, and the change of every rate.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 8000
policies = pd.DataFrame(
    {
        "age": rng.integers(18, 85, rows),
        "bonus": rng.choice([50, 60, 72, 85, 100, 125], rows, p=[0.5, 0.15, 0.12, 0.1, 0.08, 0.05]),
        "power": rng.integers(40, 200, rows),
    }
)
years = rng.uniform(0.2, 1, rows)
rate = 0.12 * np.exp(1.1 * np.exp((18 - policies["age"]) / 9) + 0.012 * (policies["bonus"] - 50))
claims = rng.poisson(rate * years)
fit, test = slice(0, 5000), slice(5000, rows)
model = SpectralRegressor("poisson", monotonic_cst={"bonus": 1}, effort="fast", random_state=0)
model.fit(policies[fit], claims[fit], offset=np.log(years[fit]))

# %%
# The current tariff knows the bonus only. Anything that gives a number for each row can be compared: an array, a
# column, or a fitted model of any library.
current = 0.14 * np.exp(0.012 * (policies["bonus"] - 50))
both = model.compare(
    current[test], policies[test], claims[test], exposure=years[test], names=("new", "current"), n_resamples=100
)
print(both)

# %%
# Policies in the order of new over current. Where the two disagree, what was observed follows the better one.
both.double_lift().plot()
plt.show()

# %%
# Who pays more, who less:
both.changes_by("age").plot()
plt.show()

# %%
# **Caveat.** ``rebase=True`` first makes both totals equal to what was observed, so that only the order and the
# spread are compared. These rows were not used by the fit; with those of the fit the new model would always win.
#
# **Read on:** :doc:`/guide/portfolio`, :doc:`/guide/tariff`.
