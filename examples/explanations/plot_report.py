"""
The live report: one file in which the model runs
=================================================

*How do I show a model to somebody without Python?* ``model.report`` writes one HTML file with sliders, effects,
proven intervals and the certificate. It needs no server and no network: mail it.
"""

import os
from pathlib import Path

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
        "distance": rng.exponential(3, rows).round(1),  # to the centre, in km
        "town": rng.choice(["Bonn", "Cologne", "Trier"], rows),
    }
)
rent = 150 + flats["area"] * (9 + 3 * (flats["town"] == "Cologne") - 0.3 * flats["distance"]) + rng.normal(0, 60, rows)
model = SpectralRegressor(monotonic_cst={"area": 1, "distance": -1}, effort="fast", random_state=0)
model.fit(flats[:600], rent[:600])

# %%
# One line writes the file, from rows that the fit did not see.
print(f"R² on {len(flats[600:])} flats that the fit did not see: {model.score(flats[600:], rent[600:]):.3f}")
reports = Path(os.environ.get("LAMBDAK_GALLERY_REPORTS", "."))
model.report(reports / "rents.html", flats[600:], rent[600:])

# %%
# Here it is. Move the sliders, then scroll down in it:
#
# .. raw:: html
#
#     <iframe class="lambdak-report" src="../../reports/rents.html" title="Live report of a model of rents"
#       loading="lazy"></iframe>

# %%
# What the page shows under "Effects", as a picture for print:
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
explanation = model.explain_global(flats[:600])
explanation["area"].plot(axes[0])
explanation["distance"].plot(axes[1])
plt.show()

# %%
# **Caveat.** The file holds up to 200 rows of the table that you pass: leave it out if they are confidential. The
# measures of fit are those of these rows, so pass rows that the fit did not see, as here.
#
# **Read on:** :doc:`/guide/report`.
