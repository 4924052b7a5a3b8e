"""
The certificate, an attack on it, and a checker that needs no lambdak
=====================================================================

*Why should anybody believe a guarantee?* Three answers: a certificate with the numbers that prove it, a search for
counterexamples, and a checker of some 440 lines that shares no code with the library.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import lambdak.certify
from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
X = pd.DataFrame({"income": rng.gamma(2, 2, 500), "age": rng.uniform(18, 80, 500), "sex": rng.choice(["f", "m"], 500)})
y = np.sqrt(X["income"]) + 0.01 * X["age"] + 0.3 * (X["sex"] == "m") + rng.normal(0, 0.1, 500)
model = SpectralRegressor(monotonic_cst={"income": 1}, max_influence={"sex": 0.1}, effort="fast", random_state=0).fit(
    X, y
)

# %%
# **The certificate.** What was requested comes first. ``within`` adds a question of your own: what if the income is
# off by 0.5 and the age by two years?
print(model.certify(within={"income": 0.5, "age": 2}))

# %%
# **The attack.** Random rows, and a search that climbs towards a violation:
search = model.verify(X, n=2000)
tried = sum(check.tried for check in search.checks)
print(f"{tried:,} comparisons, {search.violations} violations")

# %%
# **The checker.** One file, Python's standard library only, on a machine that need not have lambdak:
folder = Path(tempfile.mkdtemp())
model.save(folder / "model.safetensors")
checker = Path(lambdak.certify.__file__).with_name("lambdak_check.py")
command = [sys.executable, "-I", "-S", str(checker), str(folder / "model.safetensors")]
done = subprocess.run(command, capture_output=True, text=True)
print("\n".join(line for line in done.stdout.splitlines() if "requested" in line))
print("exit code", done.returncode, "- 0 means that all that was requested is proven")

# %%
# How near did the search come? All changes of sex that it tried, beside the cap:
swapped = np.abs(model.predict(X.assign(sex="f")) - model.predict(X.assign(sex="m")))
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.hist(swapped, bins=40, color="C0")
ax.axvline(0.1, color="C3", linestyle="--", label="the cap: no row can be to the right")
ax.set(xlabel="change of the prediction when only sex changes", ylabel="rows", title="A cap of 0.1, and 500 rows")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# **Caveat.** Proven is what the model does with a row, not that the data were right, or that the loss was the right
# one.
#
# **Read on:** :doc:`/guide/guarantees` names every link of the chain, and what was done to break it.
