"""
The whole distribution: intervals that cover, for every group
=============================================================

*By when will the parcel be there, with 95 % certainty?* A model of quantiles answers at any level. Its intervals are
counted on the rows that its members left out, so that they cover what they say, and the promised directions hold for
both ends.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralQuantileRegressor

rng = np.random.default_rng(0)
rows = 4000
parcels = pd.DataFrame(
    {
        "km": rng.uniform(5, 800, rows),
        "kg": rng.gamma(2, 2, rows),
        "carrier": rng.choice(["road", "rail", "air"], rows, p=[0.6, 0.25, 0.15]),
    }
)
slow = parcels["carrier"].map({"road": 1.0, "rail": 1.6, "air": 0.4}).to_numpy()
hours = 6 + 0.03 * parcels["km"] * slow + slow * (1 + 0.004 * parcels["km"]) * rng.gamma(1.5, 3, rows)
old, new = parcels[:3000], parcels[3000:]

# %%
# More kilometres never make an arrival earlier: not the median, not the 99 % quantile, not the end of an interval.
# Carriers are calibrated apart.
model = SpectralQuantileRegressor(monotonic_cst={"km": 1}, calibrate_by="carrier", effort="fast", random_state=0)
model.fit(old, hours[:3000])
one = pd.DataFrame({"km": [420.0], "kg": [3.0], "carrier": ["rail"]})
print("95 % certain within", model.predict_interval(one, 0.95, side="upper")[0, 1].round(1), "hours")
print("chance to arrive within a day:", model.predict_cdf(one, 24.0)[0].round(2))
print(model.certify())

# %%
# Do intervals cover? On parcels that the fit did not see, all together and carrier by carrier:
found = model.coverage(new, hours[3000:])
print(found)
figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
found.plot("pit", axes[0])
found.plot("intervals", axes[1])
found.by("carrier").plot(axes[2])
plt.show()

# %%
# The distribution along the distance, at levels of which most were never fitted:
line = pd.DataFrame({"km": np.linspace(5, 800, 200), "kg": 3.0, "carrier": "rail"})
levels = np.linspace(0.02, 0.98, 25)
quantiles = model.predict_quantiles(line, levels)
print("pairs of neighbouring levels out of order:", int((np.diff(quantiles, axis=1) < 0).sum()))
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for i in range(len(levels) // 2):
    ax.fill_between(line["km"], quantiles[:, i], quantiles[:, -1 - i], color="C0", alpha=0.07, linewidth=0)
ax.plot(line["km"], quantiles[:, len(levels) // 2], color="C0", label="median")
low, high = model.predict_interval(line, 0.9).T
ax.plot(line["km"], low, color="black", linewidth=1, linestyle="--", label="calibrated 90 % interval")
ax.plot(line["km"], high, color="black", linewidth=1, linestyle="--")
ax.set(xlabel="distance in km", ylabel="hours until delivery", title="Parcels by rail")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# **Caveat.** Coverage is a share of all new parcels (of a carrier), if they come from where the old ones came from; it
# is not the chance of each single one. Levels beyond .99 rest on few rows.
#
# **Read on:** :doc:`/guide/distributions`.
