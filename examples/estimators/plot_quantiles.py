"""
Quantiles that never cross: SpectralQuantileRegressor
=====================================================

*Between which rents will most flats of this size be?* One model predicts several quantiles. They are in order for
every row, in the table or not, and a monotone constraint holds for all of them.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralQuantileRegressor

rng = np.random.default_rng(0)
flats = pd.DataFrame({"area": rng.uniform(20, 160, 600), "age": rng.uniform(0, 100, 600)})
rent = 200 + 9 * flats["area"] - 1.5 * flats["age"] + flats["area"] * rng.gamma(2, 1.2, 600)

levels = (0.05, 0.25, 0.5, 0.75, 0.95)
model = SpectralQuantileRegressor(levels, monotonic_cst={"area": 1}, effort="fast", random_state=0)
model.fit(flats, rent)

# %%
# Quantiles of 20,000 flats, half of them unlike any in the table. Not one pair is out of order:
anywhere = pd.DataFrame({"area": rng.uniform(-50, 300, 20_000), "age": rng.uniform(-50, 200, 20_000)})
print("pairs out of order:", int((np.diff(model.predict_quantiles(anywhere), axis=1) < 0).sum()))

# %%
# The spread grows with the area, which a model of the mean alone cannot say.
line = pd.DataFrame({"area": np.linspace(20, 160, 200), "age": 40.0})
quantiles = model.predict_quantiles(line)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.scatter(flats["area"], rent, s=8, color="0.6", label="flats of all ages")
ax.fill_between(line["area"], quantiles[:, 0], quantiles[:, 4], alpha=0.25, label="90 % of the flats")
ax.fill_between(line["area"], quantiles[:, 1], quantiles[:, 3], color="C0", alpha=0.4, label="50 % of the flats")
ax.plot(line["area"], quantiles[:, 2], color="C0", label="median")
ax.set(xlabel="area in m²", ylabel="rent in euros a month", title="Rents of flats that are 40 years old")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The model as one HTML file that runs in the browser:
reports = Path(os.environ.get("LAMBDAK_GALLERY_REPORTS", "."))
model.report(reports / "rent-quantiles.html", flats, rent)

# %%
# Here it is. The sliders move the whole fan:
#
# .. raw:: html
#
#     <iframe class="lambdak-report" src="../../reports/rent-quantiles.html" title="Live report of quantiles of rents"
#       loading="lazy"></iframe>

# %%
# **Caveat.** Order is proven, coverage is not: it is checked on validation rows during the fit. For intervals that
# cover a share of new rows, and for any other level, see the example of the whole distribution.
#
# **Read on:** :doc:`/guide/estimators`.
