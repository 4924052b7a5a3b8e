"""
Fairness: what a protected column does, and can do
==================================================

*Would the decision be another one if only the sex were another?* ``fairness`` flips the protected column for every
row, proves what it can do to any row at most, and looks for columns that tell the same.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 1500
female = rng.integers(0, 2, rows)
title = np.where(rng.random(rows) < 0.9, female, 1 - female)  # nearly the same as sex
people = pd.DataFrame(
    {
        "sex": np.where(female, "f", "m"),
        "title": np.where(title, "Ms", "Mr"),
        "income": rng.normal(3000, 700, rows),
        "branch": rng.choice(list("abcd"), rows),
    }
)
granted = ((people["income"] - 3000) / 700 - 0.8 * female + rng.normal(0, 1, rows) > -0.4).astype(int)
free = SpectralClassifier(effort="fast", random_state=0).fit(people, granted)
found = free.fairness(people, "sex", granted, threshold=0.5)
print(found)

# %%
# One setting caps the column and its proxy together. Less can change, and that is proven for every possible
# applicant:
capped = SpectralClassifier(max_influence={("sex", "title"): 0.2}, effort="fast", random_state=0).fit(people, granted)
after = capped.fairness(people, "sex", granted, threshold=0.5)
for name, each in {"free": found, "capped": after}.items():
    print(f"{name:<7} proven, sex alone: {each.alone.prediction:.3f}; sex and title: {each.together.prediction:.3f}")

# %%
# How far flipping the sex moves each applicant, before and after. No applicant, in the table or not, can leave the
# dashed lines.
figure, axes = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
for ax, (name, each) in zip(axes, {"free": found, "sex and title capped": after}.items(), strict=True):
    as_woman, as_man = each.flips.predictions
    ax.hist(100 * (as_man - as_woman), bins=np.arange(-75, 76, 1.5), color="C0")
    for end in (-100 * each.alone.prediction, 100 * each.alone.prediction):
        ax.axvline(end, color="C3", linestyle="--", label="proven" if end > 0 else None)
    ax.set(ylabel="applicants", title=name)
    ax.legend(frameon=False, loc="upper left")
axes[1].set_xlabel("P(granted) as a man minus as a woman, in percentage points")
plt.show()

# %%
# **Caveat.** A cap does not make approval rates equal, and no setting makes all measures of fairness equal. Columns
# that are not named may carry the same information. Whether it is enough in law is for people to decide.
#
# **Read on:** :doc:`/guide/fairness`; ``found.group_metrics()`` has the measures of fairlearn.
