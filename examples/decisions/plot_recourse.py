"""
The cheapest change that turns a decision
=========================================

*What would get this loan approved?* ``counterfactual`` finds the cheapest change of the columns that a person can
change, checks it on ``predict``, and proves how much cheaper any other change could be.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from lambdak import SpectralClassifier

rng = np.random.default_rng(0)
rows = 2000
people = pd.DataFrame(
    {
        "income": rng.lognormal(8, 0.5, rows).round(),
        "debt": rng.lognormal(7, 1.0, rows).round(),
        "years": rng.integers(0, 30, rows),  # in the same job
        "contract": rng.choice(["permanent", "temporary"], rows, p=[0.7, 0.3]),
    }
)
score = (
    1.5 * np.log(people["income"] / people["debt"]) + 0.05 * people["years"] + (people["contract"] == "permanent") - 2
)
repaid = np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), "yes", "no")
loans = SpectralClassifier(monotonic_cst={"income": 1, "debt": -1, "years": 1}, effort="fast", random_state=0)
loans.fit(people, repaid)

person = pd.DataFrame([{"income": 2000, "debt": 1500, "years": 1, "contract": "temporary"}])
print(f"P(repaid) = {loans.predict_proba(person)[0, 1]:.2f}; 0.6 is needed")

# %%
# Income and debt can change, years can only grow; the contract stays. Two different ways, please, in whole numbers:
found = loans.counterfactual(
    person, target=(">=", 0.6), actionable=["income", "debt", "years"], directions={"years": "up"},
    whole=["income", "debt", "years"], n=2,
)  # fmt: skip
print(found)

# %%
# The map of this person's decision, with the first way as an arrow:
income, debt = np.meshgrid(np.linspace(1000, 6000, 90), np.linspace(100, 3000, 90))
grid = pd.DataFrame({"income": income.ravel(), "debt": debt.ravel(), "years": 1, "contract": "temporary"})
probability = loans.predict_proba(grid)[:, 1].reshape(income.shape)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
shade = ax.contourf(income, debt, probability, levels=np.arange(0, 1.01, 0.1), cmap="RdYlBu", alpha=0.8)
ax.contour(income, debt, probability, levels=[0.6], colors="black")
changed = found.to_frame().iloc[0]
ax.annotate("", (changed["income"], changed["debt"]), (2000, 1500), arrowprops={"arrowstyle": "->", "linewidth": 2})
ax.plot(2000, 1500, "ko", label="today")
ax.set(xlabel="income in euros a month", ylabel="debt in euros", title="The black line is the border of approval")
ax.legend(loc="upper right")
figure.colorbar(shade, label="P(repaid)")
plt.show()

# %%
# **Caveat.** It says what the model would decide, not what will happen to the person. A path that nobody can take is
# no help: name only the columns that can really change.
#
# **Read on:** :doc:`/guide/decide`, and :doc:`/guide/reasons` for the letter to the applicant.
