"""
As C: one file that compiles anywhere
=====================================

*How do I run the model on a device, or in a program without Python?* ``model.export("rent.c")`` writes one C99 file
and a header. They need the C library's ``exp`` and ``sqrt``, allocate nothing, and agree with Python to about fifteen
digits.

Needs a C compiler, called ``cc``.
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
model.export(folder / "rent.c", explain=True)  # and rent.h

# %%
# A program that uses it. Missing numbers are ``NAN``, missing text is ``NULL``.
PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include "rent.h"

int main(void) {
  for (int area = 20; area <= 200; area += 10) {
    rent_row row = {area, NAN, "Cologne"};
    double rent[RENT_RESULTS], influence[RENT_COLUMNS];
    if (rent_explain(&row, 0.0, -1, rent, influence)) return 1;
    printf("%d %.17g %.17g\n", area, rent[0], influence[RENT_COLUMN_area]);
  }
}
"""
(folder / "main.c").write_text(PROGRAM)
subprocess.run(["cc", "-O2", "-o", "rent", "main.c", "rent.c", "-lm"], cwd=folder, check=True)
printed = subprocess.run(["./rent"], cwd=folder, check=True, capture_output=True, text=True).stdout
area, from_c, slope = np.array([line.split() for line in printed.splitlines()], float).T

# %%
# The same flats in Python:
line = pd.DataFrame({"area": area, "built": np.nan, "town": "Cologne"})
from_python = model.predict(line)
print(f"largest difference: {np.abs(from_c - from_python).max():.1e} euros")
print(f"at 80 m², one more square metre costs {slope[area == 80][0]:.2f} euros")

figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(area, from_python, label="Python")
ax.plot(area, from_c, "o", label="the C program")
ax.set(xlabel="area in m²", ylabel="rent in euros a month", title="A flat in Cologne, year unknown")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** The proofs stay with the saved model, the header only quotes them: keep ``model.save(...)`` beside the
# export.
#
# **Read on:** :doc:`/guide/exports`; ``examples/c`` in the repository has a Makefile and a program that reads CSV.
