"""
As factor tables: a tariff to read and to compute by hand
=========================================================

*What is the price of a policy, in a table?* ``relativities`` turns a model into a base rate and one table of factors
for each column, and proves how far the tables can be from the model, for every possible policy.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 3000
policies = pd.DataFrame(
    {
        "age": rng.integers(18, 90, rows),
        "bonus": rng.choice([50, 60, 72, 85, 100, 125], rows, p=[0.55, 0.15, 0.1, 0.1, 0.06, 0.04]),
        "fuel": rng.choice(["diesel", "petrol"], rows),
    }
)
years = rng.uniform(0.2, 1.0, rows)
rate = 0.1 * np.exp(
    0.6 * (policies["age"] < 26) + 0.012 * (policies["bonus"] - 50) + 0.2 * (policies["fuel"] == "diesel")
)
claims = rng.poisson(rate * years)
model = SpectralRegressor("poisson", monotonic_cst={"bonus": 1}, effort="fast", random_state=0)
model.fit(policies, claims, offset=np.log(years))

tables = model.relativities(policies, claims, exposure=years, whole=["age", "bonus"], bands=6)
print(tables)

# %%
# Bars are exposure, the line is the factor:
tables.plot()
plt.show()

# %%
# A policy by hand, and by the library:
policy = pd.DataFrame({"age": [20], "bonus": [100], "fuel": ["diesel"]})
print(f"tables: {tables.predict(policy)[0]:.4f} claims a year, model: {model.predict(policy)[0]:.4f}")

# %%
# ``tables.to_excel``, ``to_csv`` and ``to_json`` write them to files. ``model.export`` does both in one step:
file = Path(tempfile.mkdtemp()) / "tariff.csv"
model.export(file, X=policies, bands=3)
print(pd.read_csv(file).iloc[:4, :6])

# %%
# **Caveat.** Tables of single columns cannot hold interactions: the proven distance says what is lost, and
# ``two_way=1`` adds the table of two columns that helps most.
#
# **Read on:** :doc:`/guide/factor-tables`, :doc:`/guide/tariff`.
