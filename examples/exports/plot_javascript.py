"""
As JavaScript: in the browser or in Node
========================================

*Can a web page answer without a server?* ``model.export("loan.mjs")`` writes one ES module with the model in it, and
types for TypeScript beside it. The visitor's numbers never leave the page.

Needs Node 18 or later, called ``node``, to run it here.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 1500
people = pd.DataFrame(
    {
        "income": rng.lognormal(8, 0.4, rows).round(),
        "debt": rng.lognormal(7, 0.8, rows).round(),
        "job": rng.choice(["employee", "freelancer", "civil servant"], rows),
    }
)
score = 2 * np.log(people["income"] / people["debt"]) + (people["job"] == "civil servant") - 1.5
repaid = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
model = SpectralClassifier(monotonic_cst={"income": 1, "debt": -1}, effort="fast", random_state=0).fit(people, repaid)

folder = Path(tempfile.mkdtemp())
model.export(folder / "loan.mjs")
print(sorted(file.name for file in folder.iterdir()))

# %%
# A row is an object; ``proba`` gives all probabilities, in the order of ``classes``:
PROGRAM = """
import { readFileSync } from "node:fs";
import { classes, proba } from "./loan.mjs";
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
console.log(JSON.stringify({ classes, answers: rows.map((row) => proba(row)) }));
"""
line = pd.DataFrame({"income": np.linspace(1500, 7000, 60), "debt": 2500.0, "job": "freelancer"})
(folder / "main.mjs").write_text(PROGRAM)
(folder / "rows.json").write_text(line.to_json(orient="records", double_precision=15))
printed = subprocess.run(["node", "main.mjs"], cwd=folder, check=True, capture_output=True, text=True).stdout
answer = json.loads(printed)

# %%
from_javascript = np.array(answer["answers"])[:, 1]
from_python = model.predict_proba(line)[:, 1]
print("classes:", answer["classes"])
print(f"largest difference from Python: {np.abs(from_javascript - from_python).max():.1e}")

figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
ax.plot(line["income"], from_python, label="Python")
ax.plot(line["income"][::4], from_javascript[::4], "o", label="JavaScript")
ax.set(
    xlabel="income in euros a month", ylabel="P(repaid)", ylim=(0, 1), title="A freelancer with a debt of 2,500 euros"
)
ax.legend(frameon=False)
plt.show()

# %%
# ``model.export("loan-model", to="js", name="@acme/loan")`` writes a package for npm instead.
#
# **Caveat.** Whoever opens the page can read the whole model. If that must not be, predict on a server.
#
# **Read on:** :doc:`/guide/exports`.
