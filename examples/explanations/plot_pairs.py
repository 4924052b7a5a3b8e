"""
Which columns act together
==========================

*Does the effect of one column depend on another?* ``explain_global`` ranks all pairs of columns by how strongly they
act together, and observes the joint effect on your rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralRegressor

rng = np.random.default_rng(0)
rows = 1200
patients = pd.DataFrame(
    {
        "dose": rng.uniform(0, 10, rows),
        "weight": rng.uniform(45, 110, rows),
        "age": rng.uniform(20, 80, rows),
        "diet": rng.choice(["none", "low salt"], rows),
    }
)
relief = 300 * patients["dose"] / patients["weight"] + 4 * (patients["diet"] == "low salt")  # dose per kilogram
relief = relief - 0.1 * patients["age"] + rng.normal(0, 2, rows)
model = SpectralRegressor(monotonic_cst={"dose": 1, "weight": -1}, effort="fast", random_state=0).fit(patients, relief)

explanation = model.explain_global(patients)
explanation.interactions_to_frame()[["first", "second", "joint", "h_statistic"]].round(2)

# %%
# ``joint`` is what the pair adds to the sum of its two single effects, in units of the prediction; ``h_statistic`` is
# Friedman's H, the same as a share.
explanation.plot_interactions()
plt.show()

# %%
# What the strongest pair looks like: the same dose does less for a heavy patient.
dose = np.linspace(0, 10, 100)
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for weight in (50, 75, 100):
    line = pd.DataFrame({"dose": dose, "weight": float(weight), "age": 50.0, "diet": "none"})
    ax.plot(dose, model.predict(line), label=f"{weight} kg")
ax.set(xlabel="dose in mg", ylabel="predicted relief", title="Dose and weight act together")
ax.legend(frameon=False)
plt.show()

# %%
# **Caveat.** H is large for pairs of weak columns, too, where both parts are small: read ``joint`` first. Ranks come
# from your rows; a pair that never varies together cannot show.
#
# **Read on:** :doc:`/guide/constraints` forbids interactions that you do not want.
