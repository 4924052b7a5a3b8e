"""
As Java: one class for the scoring engine of a bank
===================================================

*How do I score in Java?* ``model.export("Rent.java")`` writes one class without dependencies, for Java 8 or later. Any
number of threads may call it, and it agrees with Python to about fifteen digits.

Needs a JDK: ``javac`` and ``java``.
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
model.export(folder / "Rent.java", explain=True)

# %%
# A program that uses it. A row is a map from names of columns to cells, or an array; null is missing.
PROGRAM = r"""
public class Main {
  public static void main(String[] args) {
    for (int area = 20; area <= 200; area += 10) {
      Object[] flat = {area, null, "Cologne"};
      System.out.println(area + " " + Rent.predict(flat)[0] + " " + Rent.explain(flat, -1)[0]);
    }
  }
}
"""
(folder / "Main.java").write_text(PROGRAM)
subprocess.run(["javac", "Main.java"], cwd=folder, check=True)
printed = subprocess.run(["java", "Main"], cwd=folder, check=True, capture_output=True, text=True).stdout
area, from_java, slope = np.array([line.split() for line in printed.splitlines()], float).T

# %%
# The same flats in Python:
line = pd.DataFrame({"area": area, "built": np.nan, "town": "Cologne"})
from_python = model.predict(line)
print(f"largest difference: {np.abs(from_java - from_python).max():.1e} euros")
print(f"at 80 m², one more square metre costs {slope[area == 80][0]:.2f} euros")

figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(area, from_python, label="Python")
ax.plot(area, from_java, "o", label="the Java class")
ax.set(xlabel="area in m²", ylabel="rent in euros a month", title="A flat in Cologne, year unknown")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** The proofs stay with the saved model, the class only quotes them: keep ``model.save(...)`` beside the
# export.
#
# **Read on:** :doc:`/guide/exports`.
