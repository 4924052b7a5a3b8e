"""
As R: functions that take a data frame
======================================

*My colleagues live in R.* ``model.export("rent.R")`` writes one file of base R, without a package: ``source`` it, and
the list ``rent`` has functions that take a data frame.

Needs R: ``Rscript``.
"""

import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 600
flats = pd.DataFrame(
    {
        "area": rng.uniform(20, 200, rows),
        "built": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(1900, 2025, rows)),
        "town": rng.choice(["Bonn", "Cologne", "Trier"], rows),
    }
)
rent = 9 * flats["area"] + 140 * (flats["town"] == "Cologne") + rng.normal(0, 60, rows)
model = SpectralRegressor(monotonic_cst={"area": 1}, effort="fast", random_state=0).fit(flats, rent)

folder = Path(tempfile.mkdtemp())
model.export(folder / "rent.R", explain=True)

# %%
# A program that uses it: text may be character or factor, and ``NA`` is missing.
PROGRAM = """
source("rent.R")
homes <- data.frame(area = seq(20, 200, 10), built = NA, town = "Cologne")
write.table(cbind(homes$area, rent$predict(homes), rent$explain(homes)[, "area"]), col.names = FALSE, row.names = FALSE)
"""
(folder / "main.R").write_text(PROGRAM)
command = ["Rscript", "--vanilla", "main.R"]
printed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
area, from_r, slope = np.array([line.split() for line in printed.splitlines()], float).T

# %%
# The same flats in Python (R prints fifteen digits):
line = pd.DataFrame({"area": area, "built": np.nan, "town": "Cologne"})
from_python = model.predict(line)
print(f"largest difference: {np.abs(from_r - from_python).max():.1e} euros")
print(f"at 80 m², one more square metre costs {slope[area == 80][0]:.2f} euros")

figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(area, from_python, label="Python")
ax.plot(area, from_r, "o", label="the functions in R")
ax.set(xlabel="area in m²", ylabel="rent in euros a month", title="A flat in Cologne, year unknown")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** The proofs stay with the saved model, the file only quotes them: keep ``model.save(...)`` beside the
# export.
#
# **Read on:** :doc:`/guide/exports`.
