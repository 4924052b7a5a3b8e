"""
Why this prediction: one row in words
=====================================

*Why is the rent of this flat so high?* ``explain_local`` splits the distance from a baseline flat into parts, one for
each column, that add up exactly. ``why`` says it in words, with a bound that is proven.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 800
flats = pd.DataFrame(
    {
        "area": rng.uniform(20, 140, rows).round(),
        "built": rng.integers(1900, 2025, rows),
        "heating": rng.choice(["gas", "district", "heat pump"], rows),
        "town": rng.choice(["Bonn", "Cologne", "Trier"], rows),
        "balcony": rng.choice(["yes", "no"], rows),
    }
)
per_metre = 9 + 3 * (flats["town"] == "Cologne") + 0.02 * (flats["built"] - 1960) * (flats["built"] > 1960)
rent = 120 + per_metre * flats["area"] + 30 * (flats["balcony"] == "yes") + rng.normal(0, 60, rows)
model = SpectralRegressor(monotonic_cst={"area": 1}, effort="fast", random_state=0).fit(flats, rent)

explanation = model.explain_local(flats.head(20))
flat = int(explanation.prediction.argmax())
print(explanation.why(flat))

# %%
# The same as a picture, from the baseline at the top to this one:
explanation.plot(flat)
plt.show()

# %%
# The parts add up, for every row:
gap = explanation.baseline_score + explanation.attribution.sum(axis=1) - explanation.score
print(f"largest difference: {np.abs(gap).max():.1e} euros")

# %%
# Compare with a flat of your choice instead of the baseline, such as the one next door:
mine, next_door = flats.iloc[[flat]], flats.iloc[[3]]
print(model.explain_local(mine, baseline=next_door).why(0))

# %%
# **Caveat.** The parts depend on the flat that you compare with: another baseline is another question. They say how
# the model got there, not what would happen if you built a balcony.
#
# **Read on:** :doc:`/guide/insurance`.
