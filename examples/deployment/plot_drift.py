"""
Drift: are new rows still like the old ones?
============================================

*Half a year later: is the model still about the same people?* ``model.drift`` compares every column and the
prediction, and says which change matters: a column may drift far and move nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)


def month(rows, older, dearer):
    """Orders of one month; with the time customers get older and parcels dearer to send."""
    return pd.DataFrame(
        {
            "age": rng.normal(35 + older, 9, rows).clip(18, 90).round(),
            "value": rng.lognormal(4 + dearer, 0.5, rows).round(2),
            "device": rng.choice(["phone", "laptop", "tablet"], rows, p=[0.5, 0.4, 0.1]),
            "weekday": rng.integers(0, 7, rows),
        }
    )


then, now = month(3000, 0, 0.0), month(1500, 6, 0.25)
returns = 0.05 * then["value"] * np.where(then["device"] == "phone", 1.4, 1) + rng.normal(0, 1, 3000)
model = SpectralRegressor(monotonic_cst={"value": 1}, effort="fast", random_state=0).fit(then, returns)

drift = model.drift(then, now)
print(drift)

# %%
# Age drifted most, but it hardly moves the prediction. The value of the orders does both.
drift.plot()
plt.show()

# %%
# One column in detail:
drift["value"].plot()
plt.show()

# %%
# **Caveat.** Drift is about the columns, not about the truth: what a row means can change while all columns stay. For
# that, keep measuring ``model.performance`` on new outcomes.
#
# **Read on:** :doc:`/guide/portfolio`; ``lambdak drift old.csv new.csv`` does it on the command line.
