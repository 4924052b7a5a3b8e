"""
Counts with an exposure: the Poisson loss
=========================================

*How many claims will a policy have in a year?* Policies were in force for different times. The logarithm of the time
is the ``offset``, so that the model predicts claims per year.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 12_000
policies = pd.DataFrame(
    {
        "age": rng.integers(18, 85, rows),
        "bonus": rng.choice([50, 60, 72, 85, 100, 125], rows, p=[0.5, 0.15, 0.12, 0.1, 0.08, 0.05]),
        "fuel": rng.choice(["diesel", "petrol"], rows),
    }
)
years = rng.uniform(0.1, 1, rows)
rate = 0.1 * np.exp(0.7 * np.exp((18 - policies["age"]) / 8) + 0.014 * (policies["bonus"] - 50))
claims = rng.poisson(rate * years)

model = SpectralRegressor("poisson", monotonic_cst={"bonus": 1}, effort="fast", random_state=0)
train, test = train_test_split(np.arange(rows), test_size=0.5, random_state=1)
model.fit(policies.iloc[train], claims[train], offset=np.log(years[train]))
predicted = model.predict(policies.iloc[test])  # claims per year
print(f"claims of the test rows: {claims[test].sum()}, expected: {(predicted * years[test]).sum():.1f}")

# %%
# The deviance is the usual measure; one rate for everybody is what it has to beat.
same = np.full(len(test), claims[train].sum() / years[train].sum())
observed, weight = claims[test] / years[test], years[test]
for name, values in {"one rate for all": same, "model": predicted, "the true rate": rate.iloc[test]}.items():
    print(f"{name:<16} {mean_poisson_deviance(observed, values, sample_weight=weight):.4f}")

# %%
# Bins of equal exposure, from the lowest to the highest prediction:
found = model.performance(policies.iloc[test], claims[test], exposure=years[test], n_resamples=100)
found.lift().plot()
plt.show()

# %%
# The model as one HTML file that runs in the browser:
reports = Path(os.environ.get("LAMBDAK_GALLERY_REPORTS", "."))
model.report(reports / "claims.html", policies.iloc[test], observed)

# %%
# Here it is. Move the sliders:
#
# .. raw:: html
#
#     <iframe class="lambdak-report" src="../../reports/claims.html" title="Live report of a model of claims"
#       loading="lazy"></iframe>

# %%
# **Caveat.** A prediction is for one year. For a policy of half a year, multiply by 0.5 or give ``predict`` the same
# kind of offset.
#
# **Read on:** :doc:`/guide/insurance` reads such a model on 678,013 French policies, :doc:`/guide/tariff` makes a
# tariff of it.
